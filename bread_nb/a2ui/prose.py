"""The markdown of a model as safe html, and as markdown that loads and runs nothing.

The html is written from the tokens of the parser with a closed set of tags, so nothing
a model wrote can be markup. Images become the text of their address. Links lead to
http, https and mailto only.
"""

from __future__ import annotations

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

__all__ = [
    "fence",
    "markdown_html",
    "markdown_text",
    "safe_markdown",
    "text_html",
    "unmath",
]

_GOOD_LINK = re.compile(r"(?i)(?:https?://|mailto:)[^\s]")
_TAGS = re.compile(r"(<[^>]*>)")
_HEADINGS = {"h1": "h4", "h2": "h5"}
_PLAIN_TAGS = {
    "strong": "strong",
    "em": "em",
    "s": "del",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
}
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["table", "strikethrough"])


_PARSER = _parser()
_PARSER.validateLink = lambda url: bool(_GOOD_LINK.match(url.strip()))  # pyright: ignore[reportAttributeAccessIssue]
_EAGER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_EAGER.validateLink = lambda _: True  # pyright: ignore[reportAttributeAccessIssue]


def text_html(text: str) -> str:
    """Plain text as html."""
    return escape(_CONTROLS.sub("\ufffd", text), quote=False)


def markdown_html(text: str) -> list[str]:
    """Markdown as html, one string a block; only `pre` holds line breaks."""
    clean = _CONTROLS.sub("\ufffd", text)
    tree = SyntaxTreeNode(_PARSER.parse(clean))
    return [unmath(line) for node in tree.children for line in _block(node)]


def _block(node: SyntaxTreeNode) -> list[str]:
    match node.type:
        case "paragraph":
            return [f"<p>{_inline(node)}</p>"]
        case "heading":
            tag = _HEADINGS.get(node.tag, "h6")
            return [f"<{tag}>{_inline(node)}</{tag}>"]
        case "fence" | "code_block":
            code = node.content.removesuffix("\n")
            return [f"<pre><code>{text_html(code)}</code></pre>"]
        case "hr":
            return ["<hr>"]
        case "list_item":
            return _item(node)
        case "tr":
            cells = "".join(_cell(cell) for cell in node.children)
            return [f"<tr>{cells}</tr>"]
        case kind if kind in _PLAIN_TAGS:
            tag = _PLAIN_TAGS[kind]
            inside = [line for child in node.children for line in _block(child)]
            return [f"<{tag}>", *inside, f"</{tag}>"]
        case _:
            return [f"<p>{text_html(node.content)}</p>"] if node.content else []


def _item(node: SyntaxTreeNode) -> list[str]:
    lines: list[str] = []
    for child in node.children:
        if child.type == "paragraph" and child.hidden:
            lines.append(_inline(child))
        else:
            lines += _block(child)
    if not lines:
        return ["<li></li>"]
    lines[0] = f"<li>{lines[0]}"
    lines[-1] = f"{lines[-1]}</li>"
    return lines


def _cell(node: SyntaxTreeNode) -> str:
    tag = "th" if node.type == "th" else "td"
    return f"<{tag}>{_inline(node)}</{tag}>"


def _inline(node: SyntaxTreeNode) -> str:
    parts: list[str] = []
    for child in node.children:
        match child.type:
            case "inline":
                parts.append(_inline(child))
            case "text":
                parts.append(text_html(child.content))
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("<br>")
            case "code_inline":
                parts.append(f"<code>{text_html(child.content)}</code>")
            case "image":
                parts.append(text_html(_image(child)))
            case "link":
                parts.append(_link(child))
            case kind if kind in _PLAIN_TAGS:
                tag = _PLAIN_TAGS[kind]
                parts.append(f"<{tag}>{_inline(child)}</{tag}>")
            case _:
                parts.append(text_html(child.content))
    return "".join(parts)


def _image(node: SyntaxTreeNode) -> str:
    url = str(node.attrs.get("src", ""))
    return f"{node.content} ({url})" if node.content else url


def _link(node: SyntaxTreeNode) -> str:
    url = str(node.attrs.get("href", ""))
    if not _GOOD_LINK.match(url):
        return _inline(node)
    return f'<a href="{escape(url)}">{_inline(node)}</a>'


# -- what a notebook would take for mathematics ------------------------------------


def unmath(line: str) -> str:
    """A line of html in which amounts of money are not taken for mathematics.

    A notebook sets what stands between two `$` as a formula. An empty element between
    them keeps apart what cannot be one.
    """
    if line.count("$") < 2 or line.startswith("<pre"):
        return line
    return "".join(
        part if part.startswith("<") else _apart(part) for part in _TAGS.split(line)
    )


def _apart(text: str) -> str:
    first, *rest = text.split("$")
    out, opened = first, False
    for before, after in zip([first, *rest], rest, strict=False):
        closes = opened and before and not before[-1].isspace()
        formula = closes and not before[0].isspace() and not after[:1].isdigit()
        out += f"${after}" if formula or not opened else f"<em></em>${after}"
        opened = not formula
    return out


# -- the same text as markdown -----------------------------------------------------

_MARKUP = re.compile(
    r"[\\*`]|(?<!\w)_|_(?!\w)|~~|!(?=\[)|\](?=[(:\[])|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
_WRITTEN = {"<": "&lt;", "&": "&amp;", "~~": "\\~\\~"}


def markdown_text(text: str) -> str:
    """Plain text as markdown: what would be markup is written out."""
    return _MARKUP.sub(lambda found: _WRITTEN.get(found[0], f"\\{found[0]}"), text)


def fence(text: str, language: str = "") -> str:
    """A fenced block; the fence is longer than any fence in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def safe_markdown(text: str) -> str:
    """Markdown in which nothing loads by itself, runs, or leads to a script.

    Text without markup of that kind stays as it is. Where there is some, its lines are
    written so that a reader sees the characters the model wrote.
    """
    clean = _CONTROLS.sub("\ufffd", text)
    for everywhere in (False, True):
        feared = _feared_lines(clean)
        if not feared:
            return _closed(clean)
        lines = clean.split("\n")
        code = _code_lines(clean)
        for at in set(range(len(lines))) - code if everywhere else feared:
            lines[at] = _defused(lines[at])
        clean = "\n".join(lines)
    return _closed(clean) if not _feared_lines(clean) else fence(clean)


def _feared_lines(text: str) -> set[int]:
    """The lines in which a renderer that allows everything finds something to fear."""
    lines: set[int] = set()
    for token in _EAGER.parse(text):
        if _feared(token) and token.map is not None:
            lines.update(range(*token.map))
    for at, line in enumerate(text.split("\n")):
        if (found := _DEFINITION.match(line)) and not _GOOD_LINK.match(found[1]):
            lines.add(at)
    return lines - _code_lines(text)


def _feared(token: Token) -> bool:
    if token.type in ("html_block", "html_inline", "image"):
        return True
    if token.type == "link_open":
        return not _GOOD_LINK.match(str(token.attrs.get("href", "")))
    return any(_feared(child) for child in token.children or [])


def _code_lines(text: str) -> set[int]:
    lines: set[int] = set()
    for token in _EAGER.parse(text):
        if token.type in ("fence", "code_block") and token.map:
            lines.update(range(*token.map))
    return lines


_DEFINITION = re.compile(r"\s{0,3}(?:[>*+-]\s*)*\[[^\]]+\]:\s*<?(\S*)")
_SPAN = re.compile(r"((?<!`)(`+)(?!`).+?(?<!`)\2(?!`))")
_OPENER = re.compile(r"<(?=[A-Za-z/!?])|(?<!\\)!(?=\[)|(?<!\\)\[|\](?=[(:\[])")
_ESCAPES = {"<": "&lt;", "!": "\\!", "[": "\\[", "]": "\\]"}


def _defused(line: str) -> str:
    """A line with its tags, images and links written out, code spans left alone."""
    out = ""
    at = 0
    for span in _SPAN.finditer(line):
        out += _OPENER.sub(_written_out, line[at : span.start()]) + span[0]
        at = span.end()
    return out + _OPENER.sub(_written_out, line[at:])


def _written_out(found: re.Match[str]) -> str:
    return _ESCAPES[found[0]]


def _closed(text: str) -> str:
    """The text with a fence that was left open closed again."""
    tokens = _EAGER.parse(text)
    last = tokens[-1] if tokens else None
    if last is None or last.type != "fence" or last.map is None:
        return text
    lines = text.rstrip("\n").split("\n")
    closing = lines[-1].strip()
    if last.map[1] - last.map[0] > 1 and closing.startswith(last.markup):
        return text
    return f"{text.rstrip(chr(10))}\n{last.markup}"
