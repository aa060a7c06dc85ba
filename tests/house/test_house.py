"""The rules of the house that no linter knows, and the floors."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bread_nb"
# In a process of its own: it switches the loggers of this one off.
LINT = (
    "import sys; from importlinter.cli import lint_imports; "
    "sys.exit(lint_imports(sys.argv[1], no_cache=True))"
)
LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
SLOW_TO_IMPORT = {
    "IPython",
    "anthropic",
    "anywidget",
    "genai_prices",
    "httpcore2",
    "httpx2",
    "ipywidgets",
    "openai",
    "sqlite3",
}
# Spelled in two parts, so that this file does not name them either.
REGISTRY_HOSTS = [
    f"{host}.{domain}"
    for host, domain in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb.debian", "org"),
        ("proxy.golang", "org"),
        ("crates", "io"),
    ]
]


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_file_stems_are_unique_across_the_package():
    stems = Counter(path.stem for path in modules() if path.stem != "__init__")
    assert [stem for stem, count in stems.items() if count > 1] == []


def test_no_module_is_too_long_to_read_in_one_sitting():
    lengths = {name(path): len(path.read_text().splitlines()) for path in modules()}
    assert {n: lines for n, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_no_function_is_longer_than_a_screen():
    lengths = {
        f"{name(path)}:{node.name}": body_length(node)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {n: lines for n, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def test_nothing_imports_httpx():
    importers = [
        name(path)
        for path in tracked_files()
        if path.suffix == ".py" and "httpx" in imported(path)
    ]
    assert importers == []


def test_every_import_keeps_to_the_floors():
    done = subprocess.run(
        [sys.executable, "-c", LINT, str(ROOT / "pyproject.toml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_importing_the_package_loads_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import bread_nb"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.count("|") == 2]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "bread_nb" in loaded
    assert loaded & SLOW_TO_IMPORT == set()


def test_no_tracked_file_names_a_registry_host_or_a_path_of_this_machine():
    places = [ROOT, Path.home(), Path(sys.base_prefix)]
    paths = [re.escape(str(place)) for place in places if len(place.parts) > 2]
    hosts = [rf"\b{re.escape(host)}\b" for host in REGISTRY_HOSTS]
    banned = re.compile("|".join(hosts + [rf"(?<![\w.-]){path}\b" for path in paths]))
    found = {
        name(path): banned.findall(text)
        for path in tracked_files()
        if (text := path.read_text(errors="replace")) and banned.search(text)
    }
    assert found == {}


def tracked_files() -> Iterator[Path]:
    """What git tracks, as it is on disk; a source distribution has no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = (ROOT / path for path in listed.stdout.split("\0") if path)
    return (path for path in paths if path.is_file())


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the end."""
    body = function.body
    start = body[1] if len(body) > 1 and ast.get_docstring(function) else body[0]
    return (function.end_lineno or start.lineno) - start.lineno + 1


def imported(path: Path) -> set[str]:
    """The top-level packages a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
