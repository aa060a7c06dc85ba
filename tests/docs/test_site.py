"""The site of the documentation: built without a warning, whole, and from one place."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from fixtures.doc_pages import DOCS

ROOT = DOCS.parent
SECONDS = 110

# mkdocs-material knows these for drawings, and for browsers of before 2020.
UNUSED = ("unpkg.com/mermaid@", "unpkg.com/resize-observer-polyfill")


class Links(HTMLParser):
    """What a page loads, where it leads to, and what can be led to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.followed: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        address = given.get("src") or given.get("href")
        if not address:
            return
        loads = tag != "a" and given.get("rel") not in ("canonical", "prev", "next")
        (self.loaded if loads else self.followed).append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as it is built, with every warning an error."""
    place = tmp_path_factory.mktemp("site")
    # An address that nobody answers at: a build that asks the network fails.
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(place)],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return place


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    read: dict[Path, Links] = {}
    for path in site.rglob("*.html"):
        read[path] = Links()
        read[path].feed(path.read_text(encoding="utf-8"))
    return read


@pytest.mark.slow
def test_the_site_loads_nothing_from_anywhere_else(
    site: Path, pages: dict[Path, Links]
) -> None:
    foreign = {
        address
        for links in pages.values()
        for address in links.loaded
        if urlsplit(address).netloc
    }
    assert foreign == set()
    for script in (*site.rglob("*.js"), *pages):
        text = script.read_text(encoding="utf-8")
        for address in UNUSED:
            text = text.replace(address, "")
        assert "unpkg.com" not in text
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_link_of_the_built_site_leads_to_something(
    site: Path, pages: dict[Path, Links]
) -> None:
    dead: list[str] = []
    for page, links in pages.items():
        if page.name == "404.html":
            continue
        for address in (*links.loaded, *links.followed):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (page.parent / unquote(parts.path)).resolve() if parts.path else page
            )
            target = target / "index.html" if target.is_dir() else target
            known = pages.get(target)
            there = target.exists() and (
                not parts.fragment or known is None or parts.fragment in known.ids
            )
            if not there:
                dead.append(f"{page.relative_to(site)}: {address}")
    assert dead == []


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(pages: dict[Path, Links]) -> None:
    import bread_nb
    import bread_nb.evals

    anchors = {anchor for links in pages.values() for anchor in links.ids}
    explained = {
        anchor.rpartition(".")[2] for anchor in anchors if "bread_nb." in anchor
    }
    assert {*bread_nb.__all__, *bread_nb.evals.__all__} - explained == set()
