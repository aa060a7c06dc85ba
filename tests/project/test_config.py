"""Where a project is found, and what its configuration may say."""

import sys
from pathlib import Path

import pytest
from fixtures.projects import Project

from bread_nb import Bread, BreadConfig, BreadError
from bread_nb.project.config import find_project, load_config, store_url
from bread_nb.stores.in_memory import InMemoryStore


def refused(**fields: object) -> BreadError:
    with pytest.raises(BreadError) as caught:
        BreadConfig(**fields)
    return caught.value


def broken(project: Project, text: str) -> BreadError:
    project.write({"bread_config.py": text})
    with pytest.raises(BreadError) as caught:
        load_config(project.root)
    return caught.value


def test_a_project_is_the_first_folder_upwards_with_agents_or_settings(
    project: Project,
):
    project.write({"agents/writer/agent.py": "", "notebooks/deep/a.ipynb": ""})
    assert find_project(project.root / "notebooks/deep") == project.root
    project.write({"notebooks/bread_config.py": ""})
    inner = project.root / "notebooks"
    assert find_project(inner / "deep") == inner


def test_where_nothing_is_there_is_no_project(project: Project):
    assert find_project(project.root) is None


def test_the_variable_overrides_the_search(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.write({"agents/writer/agent.py": ""})
    monkeypatch.setenv("BREAD_PROJECT", str(project.root))
    assert find_project(Path("/")) == project.root


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_variable_that_names_no_project_is_one_clear_error(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
):
    (project.root / "empty").mkdir()
    monkeypatch.setenv("BREAD_PROJECT", str(project.root / name))
    with pytest.raises(BreadError) as caught:
        find_project(project.root)
    assert caught.value.code == "PROJECT_NOT_FOUND"
    assert "unset BREAD_PROJECT" in caught.value.do


def test_the_configuration_is_the_export_of_its_file(project: Project):
    project.write(
        {
            "limits.py": "MOST = 3",
            "bread_config.py": """
                from __future__ import annotations
                from dataclasses import dataclass
                from bread_nb import BreadConfig
                from limits import MOST

                @dataclass
                class Own:
                    most: int = MOST

                config = BreadConfig(concurrency=Own().most, store="memory:")
            """,
        }
    )
    config = load_config(project.root)
    assert (config.concurrency, config.store) == (3, "memory:")


def test_without_a_file_the_defaults_hold(project: Project):
    assert load_config(project.root) == BreadConfig()


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (
            "config = (",
            "bread_config.py line 1 does not parse.",
            "'(' was never closed.",
        ),
        (
            "\nx = y",
            "bread_config.py line 1 raises NameError.",
            "name 'y' is not defined.",
        ),
        (
            "x = 1",
            "bread_config.py has no configuration.",
            "there is no `config` in it.",
        ),
        (
            "config = {}",
            "bread_config.py has no configuration.",
            "config is a dict, not a BreadConfig.",
        ),
        (
            "from bread_nb import BreadConfig\nconfig = BreadConfig(concurrency=0)",
            "bread_config.py line 2 cannot be used.",
            "This configuration cannot be used: concurrency is 0.",
        ),
    ],
)
def test_a_broken_configuration_is_named_with_line_and_reason(
    project: Project, text: str, what: str, why: str
):
    error = broken(project, text)
    assert (error.code, error.what, error.why) == ("CONFIG_BROKEN", what, why)


def test_an_error_in_an_environment_inside_the_project_is_not_named_as_its_own(
    project: Project,
):
    place = project.root / ".venv" / "lib" / "site-packages"
    place.mkdir(parents=True)
    (place / "flour_broken.py").write_text("1 / 0")
    sys.path.append(str(place))
    error = broken(project, "import flour_broken")
    assert error.what == "bread_config.py line 1 raises ZeroDivisionError."


@pytest.mark.parametrize("name", ["pipelines", "plugins", "gate", "remote_agents"])
def test_what_has_not_come_yet_is_refused(name: str):
    error = refused(**{name: {"a": 1}})
    assert (error.code, error.do) == ("NOT_AVAILABLE", f"leave {name} out")


@pytest.mark.parametrize(
    "fields",
    [
        {"entrypoints": "writer"},
        {"store": 3},
        {"providers": ["anthropic"]},
        {"providers": {"mine": "anthropic"}},
        {"hooks": {}},
        {"credentials": "KEY"},
        {"concurrency": -1},
        {"concurrency": True},
        {"error_handling": 3},
        {"crumb_filter": "text"},
        {"ask_timeout": -1},
        {"ask_timeout": "soon"},
        {"ask_timeout": float("nan")},
    ],
)
def test_a_field_that_makes_no_sense_is_refused(fields: dict[str, object]):
    error = refused(**fields)
    assert error.code == "INVALID_CONFIG"
    assert next(iter(fields)) in error.why


@pytest.mark.parametrize("given", ["made-up-key", {"oven": "made-up-key"}])
def test_credentials_that_are_no_function_are_refused_and_not_shown(given: object):
    error = refused(credentials=given)
    assert error.why == f"credentials is a {type(given).__name__}."
    assert "made-up-key" not in f"{error}{error.args}{error.context}"


@pytest.mark.parametrize("never", [0, float("inf"), None])
def test_a_question_waits_for_ever_when_its_time_is_off(never: float | None):
    assert BreadConfig(ask_timeout=never).ask_timeout is None


def test_the_store_is_the_variable_then_the_configured_then_the_projects_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    own = f"sqlite:///{project.root}/.bread/bread.db"
    store = InMemoryStore()
    assert store_url(project.root) == own
    assert store_url(project.root, "memory:") == "memory:"
    assert store_url(project.root, store) is store
    monkeypatch.setenv("BREAD_STORE", "sqlite:///other.db")
    assert store_url(project.root, store) == "sqlite:///other.db"


def test_a_strict_load_fails_on_the_first_broken_agent(project: Project):
    project.agent("writer")
    project.agent("triage", "agent = (")
    assert Bread.load(project.root).agent_ids() == ["triage", "writer"]
    with pytest.raises(BreadError) as caught:
        Bread.load(project.root, strict=True)
    assert caught.value.code == "AGENT_BROKEN"
