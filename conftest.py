"""Settings of pytest plugins that only our own tests need: known without the plugins.

Whoever has no `dev` extra can run the notebooks all the same.
"""

import pytest

OPTIONS = {
    "asyncio": ("asyncio_mode", "asyncio_default_fixture_loop_scope"),
    "timeout": ("timeout",),
}


def pytest_addoption(
    parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager
) -> None:
    """Take the settings in pyproject.toml of plugins that are not there."""
    for plugin, names in OPTIONS.items():
        if not pluginmanager.hasplugin(plugin):
            for name in names:
                parser.addini(name, f"read by pytest-{plugin}")
