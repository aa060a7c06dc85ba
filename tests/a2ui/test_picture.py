"""The static picture, byte for byte as it is drawn in the design."""

from a2ui.told import Told

from bread_nb import crumbs as c
from bread_nb.a2ui.picture import picture

OPUS = "anthropic:claude-opus-4-8"


def finished() -> Told:
    told = Told("analyst", model=OPUS).start(steps=20)
    told.used(700, 0.0050).call("1", "describe", frame="sales")
    told.done("1", "describe", "mean 412.0")
    told.used(800, 0.0050).call("2", "plot", column="flower")
    told.failed("2", "plot", "no column 'flower'. Did you mean 'flour'?")
    told.call("3", "plot", column="flour")
    told.done("3", "plot", "saved plot.png, 640 x 480", 1100)
    told.say(c.FileGenerated, uri="blob:1", mime_type="image/png", name="plot.png")
    text = "Flour use rose in every month except **March**."
    return told.text(text[:9]).text(text[9:]).used(810, 0.0064).end(text)


def test_a_finished_run_as_html():
    assert picture(finished().crumbs).html == (
        "<p><strong>analyst</strong> finished · anthropic:claude-opus-4-8 · 3 turns · "
        "3 calls, 1 failed · 2,310 tokens · $0.0164</p>\n"
        '<details><summary><code>describe</code> frame="sales": done</summary>'
        "<pre>mean 412.0</pre></details>\n"
        '<details><summary><code>plot</code> column="flower": failed</summary>'
        "<pre>no column 'flower'. Did you mean 'flour'?</pre></details>\n"
        '<details><summary><code>plot</code> column="flour": done</summary>'
        "<pre>saved plot.png, 640 x 480</pre></details>\n"
        "<p>File: plot.png (image/png)</p>\n"
        "<p>Flour use rose in every month except <strong>March</strong>.</p>"
    )


def test_a_finished_run_as_markdown():
    assert picture(finished().crumbs).markdown == (
        "**analyst** finished · anthropic:claude-opus-4-8 · 3 turns · "
        "3 calls, 1 failed · 2,310 tokens · $0.0164\n"
        "\n"
        '- `describe` frame="sales": done\n'
        "- `plot` column=\"flower\": failed: no column 'flower'. "
        "Did you mean 'flour'?\n"
        '- `plot` column="flour": done\n'
        "\n"
        "File: plot.png (image/png)\n"
        "\n"
        "Flour use rose in every month except **March**."
    )


def test_a_finished_run_as_plain_text():
    assert picture(finished().crumbs).plain == (
        "analyst finished · anthropic:claude-opus-4-8 · 3 turns · "
        "3 calls, 1 failed · 2,310 tokens · $0.0164\n"
        '  describe frame="sales": done\n'
        "  plot column=\"flower\": failed: no column 'flower'. "
        "Did you mean 'flour'?\n"
        '  plot column="flour": done\n'
        "  file plot.png (image/png)\n"
        "Flour use rose in every month except **March**."
    )


def waiting() -> Told:
    body = "# Rye for beginners\n" + "\n".join(f"line {n}" for n in range(311))
    told = Told("publisher", model=OPUS).start()
    told.used(None, 0.0020).call("1", "draft", topic="rye").done("1", "draft")
    told.text("The post is ready. I will publish it to the blog now.")
    told.used(None, 0.0020)
    return told.ask("2", "publish", title="Rye for beginners", body=body)


def test_a_waiting_run_as_html_is_folded_to_one_line():
    assert picture(waiting().crumbs).html == (
        "<details><summary><strong>publisher</strong> waits for a person: "
        '<code>publish</code> title="Rye for beginners". '
        "Answer with <code>%bread pending</code></summary>\n"
        "<p>anthropic:claude-opus-4-8 · 2 turns · 1 call done · $0.0040</p>\n"
        "<p>The post is ready. I will publish it to the blog now.</p>\n"
        "<pre>publish\n"
        '  title: "Rye for beginners"\n'
        '  body:  "# Rye for beginners …" (312 lines)</pre></details>'
    )


def test_a_waiting_run_as_plain_text_and_markdown_is_the_same_unfolded():
    pictured = picture(waiting().crumbs)
    assert pictured.plain == (
        'publisher waits for a person: publish title="Rye for beginners". '
        "Answer with %bread pending\n"
        "anthropic:claude-opus-4-8 · 2 turns · 1 call done · $0.0040\n"
        "The post is ready. I will publish it to the blog now."
    )
    assert pictured.markdown == (
        '**publisher** waits for a person: `publish` title="Rye for beginners". '
        "Answer with `%bread pending`\n"
        "\n"
        "anthropic:claude-opus-4-8 · 2 turns · 1 call done · $0.0040\n"
        "\n"
        "The post is ready. I will publish it to the blog now.\n"
        "\n"
        "```text\n"
        "publish\n"
        '  title: "Rye for beginners"\n'
        '  body:  "# Rye for beginners …" (312 lines)\n'
        "```"
    )


def head_and_note(told: Told) -> list[str]:
    return picture(told.crumbs).plain.split("\n")[:2]


def calls(told: Told, number: int) -> Told:
    for n in range(number):
        told.call(f"c{n}", "work", n=n).done(f"c{n}", "work")
    return told


def test_a_run_stopped_at_its_budget():
    told = Told("triage", model="openai:gpt-5").start()
    for _ in range(3):
        calls(told.used(None, 0.25), 8)
    calls(told.used(None, 0.27), 10)
    told.say(c.GateHalted, rule="budget", spent=1.02, cap=1.0)
    note = (
        "Not done: 16 of 50 tickets. Go on with a larger budget, "
        "or start again with fewer tickets."
    )
    told.end("", stop_reason="halt:budget", note=note)
    assert head_and_note(told) == [
        "triage stopped: budget of $1.00 reached · openai:gpt-5 · 4 turns · "
        "34 calls · $1.0200",
        note,
    ]


def test_a_run_stopped_by_a_person():
    told = Told("triage", model="openai:gpt-5").start()
    calls(told.used(None, 0.1), 2)
    calls(told.used(None, 0.11), 2).call("last", "work", n=9)
    told.fail("RUN_CANCELLED", "run cancelled")
    assert head_and_note(told) == [
        "triage stopped by you · openai:gpt-5 · 2 turns · 5 calls, 1 cut short · "
        "$0.2100",
        "The history is whole; the next message goes on from here.",
    ]


def test_a_run_that_failed_says_how_often_it_tried():
    told = Told("writer", model=OPUS).start()
    lost = c.ErrorInfo("MODEL_UNREACHABLE", "api.anthropic.com did not answer.")
    for attempt in (1, 2):
        told.say(c.ModelRetry, attempt=attempt, attempts=2, delay_ms=4000, error=lost)
    told.fail(
        "MODEL_UNREACHABLE",
        "api.anthropic.com did not answer.",
        "check the network, or BREAD_MODE=replay.",
    )
    assert head_and_note(told) == [
        "writer failed: MODEL_UNREACHABLE · anthropic:claude-opus-4-8 · 1 turn · "
        "0 calls",
        "api.anthropic.com did not answer (3 tries). "
        "Check the network, or BREAD_MODE=replay.",
    ]


def interrupted() -> Told:
    told = Told("baker", model="openai:gpt-5").start()
    calls(told.used(None, 0.05), 2)
    told.used(None, 0.03).call("b", "weigh", kg=40).done("b", "weigh")
    told.used(None, 0.03).call("x", "order", kg=40)
    return told.ask("x", "order", "outcome", kg=40)


def test_an_interrupted_run_names_the_call_nobody_knows_about():
    assert head_and_note(interrupted()) == [
        "baker was interrupted · openai:gpt-5 · 3 turns · "
        "4 calls, 1 of unknown outcome · $0.1100",
        "The kernel ended during order kg=40. Answer with %bread pending",
    ]


def test_the_markdown_of_an_end_is_the_text_with_the_name_in_bold():
    pictured = picture(interrupted().crumbs)
    head, note = pictured.plain.split("\n")[:2]
    bold = head.replace("baker", "**baker**", 1)
    assert pictured.markdown.startswith(f"{bold}\n\n{note}\n\n- `work` n=0: done\n")
    strong = head.replace("baker", "<strong>baker</strong>", 1)
    assert pictured.html.startswith(f"<p>{strong}</p>\n<p>{note}</p>\n<details>")
