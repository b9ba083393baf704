"""Pages in Markdown: prose, lists and tables, and the blocks that commands write into pages."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole

WIDTH = 100
"""Columns of prose."""
README = "README.md"
BEGIN, END = "<!-- summary:begin -->", "<!-- summary:end -->"
"""The markers of a page's summary, each alone on its line."""


def wrapped(text: str) -> str:
    """Return prose in lines of up to WIDTH columns."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def item(text: str) -> str:
    """Return an item of a list, in lines of up to the width of prose."""
    return wrapped(f"- {text}").replace("\n", "\n  ")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a column name with a leading > is right-aligned."""
    rule = ["---:" if column.startswith(">") else "---" for column in columns]
    heads = [column.removeprefix(">") for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *rows))


def read_page(path: Path) -> str:
    """Return the text of a page.

    Raises:
        GhashgenError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "run it in a clone") from None


def block_of(text: str, markers: tuple[str, str] = (BEGIN, END), name: str = README) -> str:
    """Return the text between the markers of the file called `name`.

    Raises:
        GhashgenError: the markers are not there exactly once, in order.
    """
    return text[slice(*_bounds(text, markers, name))]


def replaced(
    text: str, block: str, markers: tuple[str, str] = (BEGIN, END), name: str = README
) -> str:
    """Return the text with `block` between its markers.

    Raises:
        GhashgenError: as `block_of`.
    """
    start, end = _bounds(text, markers, name)
    return f"{text[:start]}{block}{text[end:]}"


def _bounds(text: str, markers: tuple[str, str], name: str) -> tuple[int, int]:
    begin, end = (f"{marker}\n" for marker in markers)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise GhashgenError(
            f"{name} does not have the lines {' and '.join(markers)} once each", "put them back"
        )
    return text.index(begin) + len(begin), text.index(end)


def keep_current(pages: Mapping[Path, str], write: bool, command: str) -> bool:
    """Write these pages, or require that they are as `command` would write them now.

    Returns whether one was not.

    Raises:
        GhashgenError: a page is stale, or cannot be read or written.
    """
    stale = [page for page, text in pages.items() if read_page(page) != text]
    if write:
        for page, text in pages.items():
            write_whole(page, text)
    elif stale:
        raise GhashgenError(f"{stale[0]} is stale", f"run ghashgen {command} --write")
    return bool(stale)
