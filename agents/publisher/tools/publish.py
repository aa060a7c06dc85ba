"""The blog: a folder of markdown files."""

import re
from pathlib import Path

from bread_nb import tool
from bread_nb.base.effects import Write


@tool(effect=Write(path="title"))
def publish(title: str, body: str) -> str:
    """Publish a post with a title and a body on the bakery's blog."""
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "post"
    posts = Path("posts")
    posts.mkdir(exist_ok=True)
    (posts / f"{name}.md").write_text(f"# {title}\n\n{body}\n", encoding="utf-8")
    return f'published "{title}" as posts/{name}.md'
