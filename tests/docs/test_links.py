"""No link of the documentation is dead, and every page can be reached."""

from pathlib import Path

import pytest
import yaml
from fixtures.doc_pages import DOCS, PAGES, anchors, headings, links

ROOT = DOCS.parent
OUTSIDE = ("http://", "https://", "mailto:")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem) for page in (*PAGES, ROOT / "CHANGELOG.md")],
)
def test_every_link_inside_leads_to_something(page: Path) -> None:
    for link in links(page):
        if link.startswith(OUTSIDE):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_a_page_begins_with_its_one_title(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    titles = [line for line in text.splitlines() if line.startswith("# ")]
    assert titles[0].removeprefix("# ") == headings(page)[0]


def test_every_page_has_a_place_in_the_navigation() -> None:
    named = {name for section in navigation() for name in section}
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page.parent != ROOT}
    assert named == pages


def navigation() -> list[list[str]]:
    read = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return [
        [
            entry if isinstance(entry, str) else next(iter(entry.values()))
            for entry in each
        ]
        for section in read["nav"]
        for each in section.values()
    ]
