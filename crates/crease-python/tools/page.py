"""Parts of pages that scripts write: what stands between two marks."""

from __future__ import annotations

import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


def marks(name: str) -> tuple[str, str]:
    """The lines before and after a part."""
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"


def part(page: str, name: str) -> str:
    """What stands in a page of docs/ between the marks of a name."""
    begin, end = marks(name)
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(begin)[2].partition(end)[0]


def write(page: str, name: str, text: str) -> None:
    """Puts a text there."""
    begin, end = marks(name)
    path = DOCS / page
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{path} has no part `{name}`")
    path.write_text(before + begin + text + end + after, encoding="utf-8")
