"""`pytest --bread`: suites and notebooks as tests, one item a case and a cell.

Models are replayed from recordings unless `BREAD_MODE` says otherwise. The fixtures
`bread`, `script` and `crumbs` are there with or without the option.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from bread_nb.bread import Bread
    from bread_nb.crumbs import Crumb
    from bread_nb.evals.case import Suite
    from bread_nb.evals.notebooks import NotebookRun
    from bread_nb.providers.scripted import Scripted

__all__: list[str] = []

T = TypeVar("T")
N = TypeVar("N", bound=pytest.Item | pytest.Collector)

_EVALS = "evals"
_OVEN = pytest.StashKey["Oven"]()


class Oven:
    """One loop and one Bread for all suites of a session, on a store in memory."""

    def __init__(self, root: Path) -> None:
        self._runner = asyncio.Runner()
        self._root = root
        self._bread: Bread | None = None

    @property
    def bread(self) -> Bread:
        """The project around the root of the tests."""
        if self._bread is None:
            module = import_module("bread_nb.bread")
            self._bread = _in_memory(module, self._root)
        return self._bread

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop."""
        return self._runner.run(work)

    def close(self) -> None:
        """Close what was opened."""
        if self._bread is not None:
            self.run(self._bread.close())
        self._runner.close()


def _in_memory(module: Any, root: Path) -> Bread:  # noqa: ANN401
    config = import_module("bread_nb.project.config")
    found = config.find_project(root) or root
    return cast(
        "Bread",
        module.Bread(config=config.load_config(found), root=found, store="memory:"),
    )


# -- collecting ------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--bread`."""
    parser.getgroup("bread").addoption(
        "--bread",
        action="store_true",
        help="collect suites in evals/ folders and notebooks as tests",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make room for what suites need."""
    config.stash[_OVEN] = Oven(config.rootpath)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what suites needed."""
    oven = config.stash.get(_OVEN, None)
    if oven is not None:
        oven.close()


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Take eval files and notebooks, with `--bread`."""
    if not parent.config.getoption("--bread"):
        return None
    if file_path.suffix == ".ipynb" and ".ipynb_checkpoints" not in file_path.parts:
        return _made(NotebookFile, parent, path=file_path)
    is_eval = file_path.suffix in (".py", ".yaml", ".yml")
    if file_path.parent.name == _EVALS and is_eval and file_path.name[0] not in "._":
        return _made(SuiteFile, parent, path=file_path)
    return None


def _made(kind: type[N], parent: pytest.Collector, **fields: object) -> N:
    return cast("N", cast("Any", kind).from_parent(parent, **fields))


class SuiteFile(pytest.File):
    """An eval file: an item for each of its cases."""

    def collect(self) -> Iterable[pytest.Item]:
        """The cases of all its suites."""
        finding = import_module("bread_nb.evals.finding")
        bread = self.config.stash[_OVEN].bread
        suites = cast("list[Suite]", finding.find_suites(bread, [self.path]))
        for suite in suites:
            for case in suite.cases:
                name = f"{suite.name}: {case.name}" if len(suites) > 1 else case.name
                name = name.replace("::", ":")  # what parts of an id are parted by
                one = suite.select(names=[case.name])
                yield _made(CaseItem, self, name=name, suite=one)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str | Any:  # noqa: ANN401
        """A broken file in its three lines."""
        return _short(excinfo) or super().repr_failure(excinfo)


class _Item(pytest.Item):
    """A test whose failure is told in the three lines of its error."""

    def __init__(self, *, of: str, **rest: Any) -> None:  # noqa: ANN401
        cast("Any", super()).__init__(**rest)
        self._of = of

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401
    ) -> str | Any:  # noqa: ANN401
        """What its scorers said, what a cell raised, or the diff."""
        return _short(excinfo) or super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands."""
        return self.path, None, f"{self._of}: {self.name}"


class CaseItem(_Item):
    """One case; every repeat of it must pass."""

    def __init__(self, *, suite: Suite, **rest: Any) -> None:  # noqa: ANN401
        super().__init__(of=suite.name, **rest)
        self.suite = suite

    def runtest(self) -> None:
        """Run the case and hold it against its scorers."""
        oven = self.config.stash[_OVEN]
        report = oven.run(oven.bread.eval(self.suite))
        for row in report.rows:
            self.add_report_section("call", "answer", row.answer)
        report.check()


class NotebookFile(pytest.File):
    """A notebook: an item for each of its code cells, all in one kernel."""

    run: NotebookRun

    def collect(self) -> Iterable[pytest.Item]:
        """The code cells."""
        module = import_module("bread_nb.evals.extras").for_notebooks(
            "bread_nb.evals.notebooks"
        )
        self.run = module.NotebookRun(self.path)
        for index, _ in self.run.cells():
            yield _made(CellItem, self, name=f"cell {index}", index=index)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str | Any:  # noqa: ANN401
        """What it lacks, in three lines."""
        return _short(excinfo) or super().repr_failure(excinfo)

    def setup(self) -> None:
        """Start the kernel."""
        self.run.begin()

    def teardown(self) -> None:
        """Shut the kernel down."""
        self.run.end()


class CellItem(_Item):
    """One cell: it runs, and shows what the file says."""

    def __init__(self, *, index: int, **rest: Any) -> None:  # noqa: ANN401
        super().__init__(of=rest["parent"].path.name, **rest)
        self.index = index

    def runtest(self) -> None:
        """Run the cell and compare."""
        parent = cast("NotebookFile", self.parent)
        difference = parent.run.run(self.index)
        if difference is not None:
            pytest.fail(f"it shows something else now:\n{difference}", pytrace=False)


def _short(excinfo: pytest.ExceptionInfo[BaseException]) -> str | None:
    error = excinfo.value
    lines = getattr(error, "lines", None)
    return "\n".join(cast("list[str]", lines())) if callable(lines) else None


# -- fixtures --------------------------------------------------------------------------


@pytest.fixture
def bread(pytestconfig: pytest.Config) -> Iterator[Bread]:
    """The project around the root of the tests, on a store in memory."""
    module = import_module("bread_nb.bread")
    made = _in_memory(module, pytestconfig.rootpath)
    yield made
    asyncio.run(made.close())


@pytest.fixture
def script() -> Callable[..., Scripted]:
    """Makes a scripted model: `script("done")`, `script({"calls": […]}, "done")`."""

    def make(*turns: object, **options: Any) -> Scripted:  # noqa: ANN401
        module = import_module("bread_nb.providers.scripted")
        return cast("Scripted", module.Scripted(list(turns), **options))

    return make


@pytest.fixture
def crumbs(bread: Bread) -> Iterator[list[Crumb]]:
    """Every crumb that the runs of `bread` drop, in order."""
    told: list[Crumb] = []
    remove = bread.on("crumb", told.append)
    yield told
    remove()
