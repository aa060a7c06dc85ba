"""The live card: frames that add up to the snapshot, at every point."""

import json

import pytest
from a2ui.core import (
    Catalog,
    MessageProcessor,
    MessageProcessorOptions,
    ValidationConfig,
)
from a2ui.official import OURS, faults
from a2ui.page import Page
from a2ui.told import Told, every_type
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bread_nb import crumbs as c
from bread_nb.a2ui import checks, messages
from bread_nb.a2ui.card import CATALOG, Card, surface_id
from bread_nb.a2ui.picture import picture
from bread_nb.a2ui.questions import (
    Extras,
    changed_since,
    remember_choices,
    settled_elsewhere,
    shown_hash,
)
from bread_nb.a2ui.views import Facts

SHAPES = json.loads(OURS.read_text())


def card(**options) -> Card:
    return Card("run_1", clock=lambda: 60_000, **options)


def paged(crumbs: list[c.Crumb]) -> tuple[Card, Page]:
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for crumb in crumbs:
        shown.accept(crumb)
        page.take(shown.frame())
    return shown, page


def fresh(shown: Card) -> Page:
    page = Page()
    page.take(shown.snapshot())
    return page


def block(page: Page, kind: str, number: int = 0) -> dict:
    """The value of the n-th component of a kind."""
    found = [k for k in page.components.values() if k["component"] == kind]
    path = found[number]["value"]["path"]
    return page.data["b"][path.rpartition("/")[2]]


def shape_faults(page: Page) -> list[str]:
    """Where the data model is not as the catalogue says."""
    places = [("Head", page.data["head"]), ("Trail", page.data["trail"])]
    places += [("Note", page.data["note"]), ("Failure", page.data["error"])]
    places += [("TurnValue", value) for value in page.data["turns"].values()]
    for component in page.components.values():
        name = (
            component["value"]["path"].rpartition("/")[2]
            if "value" in component
            else ""
        )
        if name in page.data["b"]:
            bound = SHAPES["components"][component["component"]]["allOf"][1]
            words = bound["properties"]["value"]["description"]
            shape = words.rpartition("/")[2].removesuffix(".")
            places.append((shape, page.data["b"][name]))
    return [
        f"{shape}: {error.json_path}: {error.message}"[:300]
        for shape, value in places
        for error in Draft202012Validator(
            {**SHAPES, "$ref": f"#/$defs/{shape}"}
        ).iter_errors(value)
    ]


def test_frames_add_up_to_the_snapshot_for_every_crumb_type():
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for crumb in every_type():
        shown.accept(crumb)
        page.take(shown.frame())
        assert page.shown() == fresh(shown).shown(), crumb


def test_every_value_has_the_shape_that_the_catalogue_says():
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for crumb in every_type():
        shown.accept(crumb)
        page.take(shown.frame())
        assert shape_faults(page) == []


def test_all_messages_fit_the_official_schema_with_our_catalogue():
    shown = card()
    sent = [shown.snapshot()]
    for crumb in every_type():
        shown.accept(crumb)
        sent.append(shown.frame() or {"messages": []})
    sent.append(shown.snapshot())
    found = [f for s in sent for m in s["messages"] for f in faults(m, "v0.9", "ours")]
    assert found == []


def test_the_official_processor_knows_our_catalogue():
    catalog = Catalog.from_json(SHAPES, protocol_version="v0.9")
    config = ValidationConfig(allow_orphan_components=True)
    options = MessageProcessorOptions(validation_config=config)
    processor = MessageProcessor([catalog], options=options)
    shown = card()
    processor.process_messages(shown.snapshot()["messages"])
    for crumb in every_type():
        shown.accept(crumb)
        frame = shown.frame()
        if frame and frame["messages"]:
            processor.process_messages(frame["messages"])


def test_our_own_trees_pass_our_own_checks():
    _, page = paged(every_type())
    assert checks.check_components(list(page.components.values())) == []


TOOLS = st.sampled_from(["plot", "search"])
IDS = st.sampled_from(["a", "b", "c"])
WORDS = st.text(max_size=12)
STEPS = st.one_of(
    st.tuples(st.just("text"), WORDS),
    st.tuples(st.just("thought"), WORDS),
    st.tuples(st.just("used"), st.integers(0, 99)),
    st.tuples(st.just("call"), IDS, TOOLS),
    st.tuples(st.just("done"), IDS, TOOLS, WORDS),
    st.tuples(st.just("failed"), IDS, TOOLS, WORDS),
    st.tuples(st.just("ask"), IDS, TOOLS, st.sampled_from(["approval", "outcome"])),
    st.tuples(
        st.just("answer"),
        IDS,
        st.sampled_from(
            [
                {"approved": True},
                {"approved": False, "reason": "no"},
                {"approved": True, "args": {"x": 1}},
                {"withdrawn": "the run was ended"},
                {"run": True},
                "yes",
                None,
            ]
        ),
    ),
    st.tuples(st.just("retry")),
    st.tuples(st.just("child"), IDS, WORDS),
    st.tuples(st.just("end"), WORDS),
    st.tuples(st.just("fail"), st.just("RUN_CANCELLED"), WORDS),
    st.tuples(st.just("unknown")),
)


def told_by(steps: list[tuple]) -> list[c.Crumb]:
    told = Told().start()
    for name, *rest in steps:
        if name == "retry":
            lost = c.ErrorInfo("LOST", "Lost it.")
            told.say(c.ModelRetry, attempt=1, attempts=2, delay_ms=9, error=lost)
        elif name == "child":
            told.say(c.TextDelta, run_id=rest[0], agent_id="clerk", delta=rest[1])
        elif name == "unknown":
            told.say(c.UnknownCrumb, name="oven:glow", extra={"heat": 3})
        else:
            getattr(told, name)(*rest)
    return told.crumbs


@given(steps=st.lists(STEPS, max_size=25), pauses=st.sets(st.integers(0, 25)))
def test_frames_add_up_whatever_happens_and_however_they_are_cut(steps, pauses):
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for at, crumb in enumerate(told_by(steps)):
        shown.accept(crumb)
        if at not in pauses:
            page.take(shown.frame())
    page.take(shown.frame())
    assert page.shown() == fresh(shown).shown()
    assert shape_faults(page) == []


@given(steps=st.lists(STEPS, max_size=25))
def test_equal_crumbs_give_equal_cards(steps):
    first, _ = paged(told_by(steps))
    second = card()
    for crumb in told_by(steps):
        second.accept(crumb)
    assert fresh(first).shown() == fresh(second).shown()


def test_100_000_deltas_of_one_character_lose_nothing_in_one_frame():
    text = "".join(chr(97 + n % 26) for n in range(100_000))
    told = Told().start()
    for letter in text:
        told.text(letter)
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for crumb in told.crumbs:
        shown.accept(crumb)
    page.take(shown.frame())
    assert page.text() == text


def test_a_long_stream_sends_its_text_about_once():
    shown, page = card(), Page()
    page.take(shown.snapshot())
    told = Told().start()
    for n in range(100_000):
        told.text(chr(97 + n % 26))
    for at, crumb in enumerate(told.crumbs):
        shown.accept(crumb)
        if at % 250 == 0:
            page.take(shown.frame())
    page.take(shown.frame())
    assert len(page.text()) == 100_000
    assert page.seq <= 500
    assert page.sent <= 5 * 100_000


def test_the_head_says_what_happens_now():
    said = []
    told = Told().start().thought("a").text("b").used(5).call("1", "plot")
    told.call("2", "plot").done("1", "plot").done("2", "plot").ask("3", "rm")
    told.ask("4", "rm").answer("3", {"approved": False})
    told.answer("4", {"approved": False}).text("c").end("c")
    shown = card()
    for crumb in told.crumbs:
        shown.accept(crumb)
        head = fresh(shown).data["head"]
        said.append((head["state"], head["word"], head["button"]))
    assert said == [
        ("asking", "Asking the model", "stop"),
        ("thinking", "Thinking", "stop"),
        ("writing", "Writing", "stop"),
        ("writing", "Writing", "stop"),
        ("tools", "Running plot", "stop"),
        ("tools", "Running 2 tools", "stop"),
        ("tools", "Running plot", "stop"),
        ("asking", "Asking the model", "stop"),
        ("waiting", "Waiting for you", "end"),
        ("waiting", "Waiting for you (2 questions)", "end"),
        ("waiting", "Waiting for you", "end"),
        ("resuming", "Going on", "stop"),
        ("writing", "Writing", "stop"),
        ("finished", "Finished", None),
    ]


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("halt:budget", "Stopped: budget reached"),
        ("denied:tool_publish", "Stopped: publish refused 3 times"),
        ("stuck:tool_plot", "Stopped: plot failed 3 times alike"),
        ("truncated:max_tokens", "Stopped: answer cut off"),
        ("refusal", "Stopped: the model refused"),
        ("context_exceeded", "Stopped: too long for the model"),
        ("max_steps", "Stopped: 20 steps used"),
        ("stopped", "Stopped by you"),
    ],
)
def test_a_bound_has_its_word_and_a_note(reason, word):
    told = Told().start(steps=20)
    for n in range(3):
        told.call(f"p{n}", "plot").failed(f"p{n}", "plot", "no")
    for n in range(3):
        if reason.startswith("denied"):
            told.failed(f"q{n}", "publish", "no", "DENIED")
    _, page = paged(told.end("", stop_reason=reason).crumbs)
    assert page.data["head"]["word"] == word
    assert page.data["head"]["role"] == "still"
    assert page.data["note"]["text"]


def test_the_end_of_a_session_tells_what_its_turns_cost():
    told = Told(model="clipipe:claude").start()
    for _ in range(2):
        told.used(10, None)

    def head():
        return paged(told.crumbs)[1].data["head"]

    assert head()["cost"] == "cost unknown"
    told.used(5, 0.25, kind="session", turns=2, cost_source="provider")
    assert head()["cost"] == "$0.250"


def test_money_is_never_invented():
    def cost(*costs, model="openai:gpt-5", **more):
        told = Told(model=model).start()
        for one in costs:
            told.used(10, one, **more)
        return paged(told.crumbs)[1].data["head"]["cost"]

    assert cost() == "cost —"
    assert cost(None) == "cost unknown"
    assert cost(0.0, model="openai:bun:free", cost_source="provider") == "$0.0000"
    assert cost(0.0, model="mine:bun", cost_source="free") == "no charge (local)"
    assert cost(0.0, model="local:smollm2", cost_source="free") == "no charge (local)"
    assert cost(0.0121) == "$0.0121"
    assert cost(0.0121, None) == "at least $0.0121"
    assert cost(0.0121, partial=True, kind="cut") == "at least $0.0121"
    assert cost(0.0, None, cost_source="free") == "cost unknown"
    assert cost(0.412) == "$0.412"
    assert cost(1.0, 0.02) == "$1.02"


def test_waiting_for_a_person_is_not_working():
    told = Told().start().used(5).ask("1", "publish")
    asked = told.crumbs[-1].timestamp
    shown = Card("run_1", clock=lambda: asked + 3_600_000)
    for crumb in told.crumbs:
        shown.accept(crumb)
    head = fresh(shown).data["head"]
    assert (head["elapsed_ms"], head["ticking"]) == (200, False)
    assert head["since_ms"] == 3_600_000


def test_a_form_says_why_it_asks_and_shows_every_argument():
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "notify": {"type": "boolean", "default": False},
        },
        "required": ["title"],
    }
    told = Told("publisher").start()
    told.say(
        c.HumanRequired,
        checkpoint_id="k",
        tool_name="tool_publish",
        schema=schema,
        kind="approval",
        args={"odd": 1, "title": "Rye"},
        tool_call_id="1",
        rule="ask tool:publish",
        effect="Sends to the network (blog.example).",
        handle="publisher-2.a",
    )
    shown, page = paged(told.crumbs)
    form = block(page, "Approval")
    assert form["title"] == "Let publisher run publish?"
    assert form["why"] == "Sends to the network (blog.example)."
    assert form["rule"] == "ask tool:publish"
    assert [(a["key"], a["flag"]) for a in form["args"]] == [
        ("title", None),
        ("notify", "default"),
        ("odd", "unknown"),
    ]
    assert form["shown"] == shown_hash("k", "tool_publish", {"odd": 1, "title": "Rye"})
    assert form["nonce"] == ""
    assert block(page, "ToolCall")["state"] == "waiting"
    offers = remember_choices("tool:publish", "publisher", "blog")
    shown.add_extras("k", Extras(nonce="once", remember=offers))
    page.take(shown.frame())
    form = block(page, "Approval")
    assert form["nonce"] == "once"
    assert form["remember"][0]["text"] == (
        "in this run. Adds `allow tool:publish`, any arguments, until the run ends"
    )


def test_a_settled_form_keeps_its_line_and_loses_its_nonce():
    told = Told().start().ask("1", "publish", title="Rye")
    shown, page = paged(told.crumbs)
    shown.add_extras("check-1", Extras(nonce="once"))
    page.take(shown.frame())
    told.answer("1", {"approved": False, "reason": "too long"})
    shown.accept(told.crumbs[-1])
    page.take(shown.frame())
    form = block(page, "Approval")
    assert (form["state"], form["end"], form["nonce"]) == (
        "settled",
        "Denied: too long",
        "",
    )
    call = block(page, "ToolCall")
    assert (call["state"], call["decision"]) == ("denied", "denied by you: too long")


def test_an_approval_with_changes_shows_both_versions():
    told = Told().start().ask("1", "publish", title="Rye", size=1)
    told.answer("1", {"approved": True, "args": {"title": "Wheat", "size": 1}})
    told.call("1", "publish", title="Wheat", size=1).done("1", "publish")
    _, page = paged(told.crumbs)
    call = block(page, "ToolCall")
    assert call["decision"] == "approved with changes"
    assert call["changes"] == [
        {"op": "-", "text": "title: Rye"},
        {"op": "+", "text": "title: Wheat"},
    ]
    assert block(page, "Approval")["end"] == "Approved with changes"


def test_several_questions_may_be_approved_at_once_only_when_all_is_in_sight():
    def bulk(*bodies, effect=None, tool="publish"):
        told = Told().start()
        for n, body in enumerate(bodies):
            told.ask(str(n), tool if n else "publish", body=body)
            told.crumbs[-1] = c.from_wire(
                {**c.to_wire(told.crumbs[-1]), **({"effect": effect} if effect else {})}
            )
        _, page = paged(told.crumbs)
        forms = [v for v in page.data["b"].values() if "bulk" in v]
        assert [f["index"] for f in forms] == list(range(len(bodies)))
        assert {f["of"] for f in forms} == {len(bodies)}
        return {f["bulk"] for f in forms}

    assert bulk("a", "b", "c") == {True}
    assert bulk("a") == {False}
    assert bulk("a", "b", tool="delete") == {False}
    assert bulk("a", "x\n" * 30) == {False}
    assert bulk("a", "b\u202e") == {False}
    assert bulk("a", "b", effect="Runs a command (ls).") == {False}
    assert bulk("a", "b", effect="Writes a file (a.md).") == {True}


def test_what_changed_since_an_agent_asked_is_a_sentence_and_a_diff():
    before = {"agent.py": "a = 1\n", "prompt.md": "Be kind.\n"}
    changed = changed_since("publisher", before, {**before, "prompt.md": "Be short.\n"})
    assert changed == {
        "text": "publisher was edited since it asked. It goes on with today's version.",
        "diff": [
            {"op": " ", "text": "prompt.md"},
            {"op": "-", "text": "Be kind."},
            {"op": "+", "text": "Be short."},
        ],
    }
    assert changed_since("publisher", before, before) is None


def test_who_comes_late_reads_what_became_of_the_question():
    assert settled_elsewhere("Approved", 120_000, "review.ipynb") == (
        "Approved 2 min ago in review.ipynb. It ran once."
    )
    assert settled_elsewhere("Denied", 10, "a terminal", ran=False) == (
        "Denied just now in a terminal."
    )


def test_a_secret_is_not_in_anything_that_is_sent():
    told = Told().start().call("1", "login", user="ann", api_key="CANARY-1")
    told.done("1", "login", {"session_token": "CANARY-2"}).ask(
        "2", "login", password="CANARY-3"
    )
    shown, _ = paged(told.crumbs)
    assert "CANARY" not in json.dumps(shown.snapshot())


def test_text_that_was_withdrawn_leaves_the_text_and_stays_in_the_retry():
    told = Told().start().text("Flour is")
    lost = c.ErrorInfo("ETIMEDOUT", "Lost the connection.")
    told.say(c.ModelRetry, attempt=1, attempts=2, delay_ms=4000, error=lost)
    told.text("Flour rose.")
    _, page = paged(told.crumbs)
    assert page.text() == "Flour rose."
    retry = block(page, "Retry")
    assert retry["words"] == "Lost the connection. Trying again in 4 s (1 of 2)"
    assert retry["withdrawn"] == "Flour is"


def test_a_model_that_is_asked_in_place_of_another_is_named_at_once():
    told = Told(model="anthropic:opus").start().text("Flour is")
    full = c.ErrorInfo("MODEL_OVERLOADED", "anthropic is overloaded.")
    told.say(
        c.ModelRetry,
        attempt=1,
        attempts=2,
        delay_ms=0,
        error=full,
        model="ollama:qwen3",
    )
    told.text("Flour rose.")
    _, page = paged(told.crumbs)
    words = block(page, "Retry")["words"]
    assert words == "anthropic is overloaded. Asking ollama:qwen3 instead"
    shown = page.data["head"]["model"]
    assert shown == "ollama:qwen3, in place of anthropic:opus"


def test_half_a_character_waits_for_its_other_half():
    shown, page = card(), Page()
    page.take(shown.snapshot())
    for piece in ["a", "\ud83c", "\udf5e", "b", "\ud83c"]:
        shown.accept(Told().text(piece).crumbs[0])
        page.take(shown.frame())
    assert page.text() == "a🍞b"
    shown.accept(Told().used(1).crumbs[0])
    page.take(shown.frame())
    assert page.text() == "a🍞b\ufffd"


def test_a_crumb_of_an_unknown_type_is_shown_and_the_rest_goes_on():
    told = Told().start().say(c.UnknownCrumb, name="oven:glow", extra={"heat": 230})
    _, page = paged(told.text("Done.").crumbs)
    strange = block(page, "Unsupported")
    assert strange["kind"] == "oven:glow"
    assert strange["raw"]["segments"] == ['{"heat": 230}']
    assert page.text() == "Done."


def test_sub_agents_are_rows_and_their_questions_come_up():
    told = Told("planner").start().used(5)
    told.say(c.ToolCalled, tool_call_id="1", tool_name="core_delegate", args={})
    child = {"run_id": "run-2", "agent_id": "clerk"}
    told.say(
        c.SubagentStart,
        **child,
        parent_agent_id="planner",
        subagent_id="clerk",
        input="count",
    )
    _, page = paged(told.crumbs)
    assert page.data["head"]["word"] == "Waiting for 1 sub-agent"
    told.say(
        c.HumanRequired,
        **child,
        checkpoint_id="k",
        tool_name="tool_publish",
        schema=None,
        kind="approval",
        args={"a": 1},
        tool_call_id="c1",
    )
    _, page = paged(told.crumbs)
    assert page.data["head"]["state"] == "waiting"
    row = block(page, "ToolCall", 1)
    assert (row["what"], row["tool"], row["word"]) == (
        "agent",
        "clerk",
        "waiting for you",
    )
    assert block(page, "Approval")["title"] == "Let clerk run publish?"


def test_an_interrupted_run_says_so_until_it_goes_on():
    told = Told().start().used(5).call("1", "order", kg=40)
    shown, page = paged(told.crumbs)
    shown.story.interrupted()
    page.take(shown.frame())
    assert (page.data["head"]["word"], page.data["head"]["mark"]) == (
        "Interrupted",
        "bars",
    )
    assert page.data["note"]["role"] == "wait"
    told.ask("1", "order", "outcome", kg=40)
    shown.accept(told.crumbs[-1])
    page.take(shown.frame())
    assert page.data["head"]["state"] == "waiting"
    assert block(page, "Outcome")["title"] == "Did order happen?"
    assert page.data["note"] is None


def test_a_card_of_an_earlier_crumb_cannot_be_pressed():
    told = Told().start().ask("1", "publish")
    shown = card(live=False)
    for crumb in told.crumbs:
        shown.accept(crumb)
    shown.add_extras("check-1", Extras(nonce="once"))
    page = fresh(shown)
    assert page.data["head"]["button"] is None
    assert block(page, "Approval")["nonce"] == ""


def test_what_only_the_kernel_knows_is_in_the_head():
    shown, page = paged(Told().start().crumbs)
    shown.facts = Facts(foreground=True, replayed=True, session="blog")
    shown.notice("still", "Still waiting.", "Answer it.", button="discard")
    page.take(shown.frame())
    head = page.data["head"]
    assert (head["foreground"], head["replayed"], head["session"]) == (
        True,
        True,
        "blog",
    )
    assert page.data["note"]["button"] == "discard"


def test_a_page_that_comes_late_sees_how_long_a_tool_has_run():
    shown, page = paged(Told().start().call("1", "plot").crumbs)
    assert block(page, "ToolCall")["ms"] is None
    assert block(fresh(shown), "ToolCall")["ms"] == 60_000 - 1_100


@pytest.mark.parametrize(
    ("news", "words", "meter"),
    [
        ("Baking\u202e", "Baking⟦U+202E⟧", None),
        ({"done": 3, "of": 8}, "3 of 8", {"done": 3, "of": 8}),
        ({"done": 3, "of": 8, "text": "Baking"}, "Baking", {"done": 3, "of": 8}),
        ({"loaf": 2}, "loaf=2", None),
    ],
)
def test_a_tool_tells_how_far_it_is(news, words, meter):
    told = Told().start().call("1", "bake")
    told.say(c.ToolPartial, tool_call_id="1", tool_name="tool_bake", result=news)
    call = block(paged(told.crumbs)[1], "ToolCall")
    assert (call["progress"], call["meter"]) == (words, meter)


def test_nothing_new_is_no_frame():
    shown, _ = paged(Told().start().crumbs)
    before = shown.seq
    assert shown.frame() is None
    assert shown.snapshot()["seq"] == before


def test_a_surface_id_is_an_identifier():
    assert surface_id("0190-ab") == "run_0190_ab"
    assert SHAPES["catalogId"] == CATALOG


def test_a_thousand_calls_come_in_messages_of_a_thousand_components():
    told = Told().start()
    for n in range(1200):
        told.call(f"c{n}", "work", n=n).done(f"c{n}", "work")
    shown, _ = paged(told.crumbs)
    sizes = [
        len(m["updateComponents"]["components"])
        for m in shown.snapshot()["messages"]
        if "updateComponents" in m
    ]
    assert sizes == [1000, 202]


EVERY = every_type()


@given(st.lists(st.integers(0, len(EVERY) - 1), max_size=40))
def test_crumbs_in_any_order_break_nothing(order):
    crumbs = [EVERY[at] for at in order]
    shown, page = paged(crumbs)
    assert page.shown() == fresh(shown).shown()
    assert shape_faults(page) == []
    assert picture(crumbs) == picture(crumbs)
    known = {}
    for message in messages(crumbs):
        update = message.get("updateComponents", {})
        known |= {part["id"]: part for part in update.get("components", [])}
    assert not crumbs or checks.check_components(list(known.values())) == []
