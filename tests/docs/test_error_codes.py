"""The page of error codes is whole: every code, what it means and what to do."""

import importlib.util
import re
import sys
from types import ModuleType

import pytest
from fixtures.doc_pages import DOCS, headings

ROOT = DOCS.parent


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = ROOT / "scripts" / "error_codes.py"
    spec = importlib.util.spec_from_file_location("docs_error_codes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def explained(maker: ModuleType) -> dict[str, object]:
    return {
        code: said
        for group in maker.meanings().values()
        for code, said in group.items()
    }


def named_in_the_source() -> set[str]:
    """Every code that a call, a class or a `Raises:` section names."""
    found: set[str] = set()
    for path in (ROOT / "bread_nb").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'\bcode(?:: str)? ?= ?"([A-Z][A-Za-z_]+)"', text))
        for raises in re.findall(r"BreadError: ((?:[^\n]|\n {8,})+)", text):
            found |= set(re.findall(r"`([A-Z]+_?[A-Z_]+)`", raises))
    return {code for code in found if not code.startswith("BREAD_")}


def test_every_code_in_the_source_is_explained(maker: ModuleType) -> None:
    known = explained(maker)
    assert (named_in_the_source() | set(maker.codes())) - set(known) == set(), (
        "say what they mean in scripts/error_codes.yaml"
    )


def test_no_code_is_explained_that_the_source_does_not_have(maker: ModuleType) -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "bread_nb").rglob("*.py")
    )
    assert [code for code in explained(maker) if f'"{code}"' not in source] == []


def test_every_code_says_what_to_do(maker: ModuleType) -> None:
    places = maker.codes()
    silent = [
        code
        for code, said in explained(maker).items()
        if not isinstance(said, dict) and not any(place.do for place in places[code])
    ]
    assert silent == []


def test_every_code_is_on_the_page(maker: ModuleType) -> None:
    page = DOCS / "error-codes.md"
    assert set(explained(maker)) <= set(headings(page)), (
        "run: python scripts/error_codes.py"
    )


def test_the_page_in_the_repository_is_the_one_that_is_made(maker: ModuleType) -> None:
    kept = maker.PAGE.read_text(encoding="utf-8")
    assert kept == maker.whole_page(), "run python scripts/error_codes.py"
