"""The blog: a folder of markdown files."""

import re
from collections.abc import Mapping
from pathlib import Path

from bread_nb import tool
from bread_nb.base.effects import Write

POSTS = Path("posts")


def post_file(args: Mapping[str, object]) -> str:
    """The file of a post with this title."""
    name = re.sub(r"[^a-z0-9]+", "-", str(args["title"]).lower()).strip("-")
    return (POSTS / f"{name or 'post'}.md").as_posix()


@tool(effect=Write(path=post_file))
def publish(title: str, body: str) -> str:
    """Publish a post with a title and a body on the bakery's blog."""
    file = Path(post_file({"title": title}))
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"# {title}\n\n{body}\n", encoding="utf-8")
    return f'published "{title}" as {file.as_posix()}'
