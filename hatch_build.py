"""The build hook that puts the widget's bundle into the distributions."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WidgetHook(BuildHookInterface):
    """Builds the bundle first, and asks for Node only when that needs it."""

    def dependencies(self) -> list[str]:
        """What the build environment lacks: a wheel with Node, or nothing."""
        widget = self._widget()
        if widget["fresh"]() or widget["node_on_path"]():
            return []
        return [widget["NODE_WHEEL"]]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle; an editable install goes on without sources."""
        widget = self._widget()
        if version == "editable" and not widget["ENTRY"].exists():
            self.app.display_warning(f"No widget: {widget['ENTRY']} is missing.")
            return
        widget["build"]()

    def _widget(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root, "widgets", "build.py")))
