"""The options every test shares, and what is skipped where it cannot run."""

import os
import shutil

import pytest
from hypothesis import settings

settings.register_profile("sampled", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("full", max_examples=1000, deadline=None)

# Where things are on this machine; all else it says of itself is not for the tests.
PLACES = ("BREAD_CHROMIUM", "BREAD_LOCAL_MODEL", "BREAD_NO_LOCAL")
MOODS = ("CI", "DASK_SCHEDULER_ADDRESS", "FORCE_COLOR", "NO_COLOR", "PYTEST_ADDOPTS")

for name in list(os.environ):
    ours = name.startswith("BREAD_") and name not in PLACES
    if ours or name in MOODS or name.endswith("_API_KEY"):
        del os.environ[name]
# Under pytest models are replayed; the tests call them unless they test the modes.
os.environ["BREAD_MODE"] = "live"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        dest="full_counts",
        help="run the full counts where the default run takes seeded samples",
    )


def pytest_configure(config: pytest.Config) -> None:
    full = config.getoption("full_counts")
    settings.load_profile("full" if full else "sampled")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lacks = {
        "browser": "" if chromium_path() else "no Chromium on this machine",
        "local_model": os.environ.get("BREAD_NO_LOCAL", ""),
    }
    for item in items:
        for marker, reason in lacks.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def chromium_path() -> str | None:
    """BREAD_CHROMIUM, none when that is empty; else the first browser on PATH."""
    named = os.environ.get("BREAD_CHROMIUM")
    if named is not None:
        return named or None
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def full_counts(request: pytest.FixtureRequest) -> bool:
    """Whether this run was asked for the full counts, by `--all`."""
    return bool(request.config.getoption("full_counts"))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the Chromium that browser tests drive."""
    path = chromium_path()
    assert path, "mark the test with `browser`, so that it skips without Chromium"
    return path
