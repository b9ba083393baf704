"""Lays out tables, for people and for pipes; every table that a verb prints comes from here.

In a pipe or a file: a header line and a line for each row, with cells separated by tabs and nothing
else, so that `cut -f1` extracts names. Closing sentences go to standard error, and titles too if
that is a terminal.

On a terminal: aligned columns. If they are too wide, in this order: a prose column is wrapped;
headings break at spaces; values that are equal in every row are said once; spare columns are left
out, with a note; finally each row becomes a paragraph. No cell is ever cut.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from shutil import get_terminal_size

import click

_GAP = "  "
_NARROWEST = 24
"""Minimum width in characters at which wrapping a prose column is worthwhile."""


@dataclass(frozen=True)
class Table:
    """A title, column names (a leading > aligns to the right), and rows of text.

    The first column names the row.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    spare: tuple[str, ...] = ()
    """Columns that a narrow terminal may drop, the first one first."""
    prose: str = ""
    """The column whose cells may be wrapped at spaces."""
    each: Mapping[str, str] = field(default_factory=dict)
    """What the title says about every row, as columns, because a pipe has no titles."""


def show(*tables: Table) -> None:
    """Print tables that have rows, to a terminal or to a pipe."""
    shown = [table for table in tables if table.rows]
    if sys.stdout.isatty():
        width = get_terminal_size().columns
        for table in shown:
            click.echo(for_terminal(table, width) + ("\n" if len(shown) > 1 else ""))
        return
    if sys.stderr.isatty():
        click.echo("\n".join(table.title for table in shown), err=True)
    click.echo("\n".join(for_pipe(table) for table in shown), nl=False)


def say(text: str) -> None:
    """Print a sentence that goes with a table; in a pipe, keep it out of the rows."""
    click.echo(text, err=not sys.stdout.isatty())


def for_pipe(table: Table) -> str:
    """Return a header line and a line for each row, with cells separated by tabs."""
    heads = (*(name.removeprefix(">") for name in table.columns), *table.each)
    rows = ((*row, *table.each.values()) for row in table.rows)
    lines = ("\t".join(" ".join(cell.split()) for cell in line) for line in (heads, *rows))
    return "".join(f"{line}\n" for line in lines)


def for_terminal(table: Table, width: int) -> str:
    """Return a table laid out in `width` columns of text."""
    title = [click.style(line, italic=True) for line in _fold(table.title, width) if line]
    for found, notes in _narrower(table, width):
        grid = _grid(found)
        if max(map(_width, grid)) <= width:
            heads = len(_heads(found))
            bold = [click.style(line, bold=True) for line in grid[:heads]]
            return "\n".join([*title, *_wrapped(notes, width), *bold, *grid[heads:]])
    found, notes = _said_once(table)
    return "\n".join([*title, *_wrapped(notes, width), *_stacked(found, width)])


def _narrower(table: Table, width: int) -> Iterable[tuple[Table, list[str]]]:
    """Yield layouts of a table as columns, each narrower than the one before."""
    yield table, []
    if table.prose:
        yield _prose_wrapped(table, width), []
    broken = replace(table, columns=tuple(name.replace(" ", "\n") for name in table.columns))
    yield broken, []
    fewer, notes = _said_once(broken)
    yield fewer, notes
    if table.prose:
        yield _prose_wrapped(fewer, width), notes
    left_out: list[str] = []
    for name in table.spare:
        if name not in _plain(fewer):
            continue
        left_out.append(name)
        fewer = _without(fewer, name)
        yield (
            fewer,
            [*notes, f"no room for {', '.join(left_out)}: use a wider terminal, a pipe or --json"],
        )


def _plain(table: Table) -> list[str]:
    """Return the names of the columns, on one line and without marks."""
    return [name.removeprefix(">").replace("\n", " ") for name in table.columns]


def _without(table: Table, name: str) -> Table:
    at = _plain(table).index(name)

    def fewer(cells: tuple[str, ...]) -> tuple[str, ...]:
        return (*cells[:at], *cells[at + 1 :])

    return replace(table, columns=fewer(table.columns), rows=tuple(map(fewer, table.rows)))


def _said_once(table: Table) -> tuple[Table, list[str]]:
    """Return a table without the columns that are equal in all rows, and a line with their
    values.
    """
    if len(table.rows) < 2:
        return table, []
    alike = {
        name: table.rows[0][at]
        for at, name in enumerate(_plain(table))
        if at and len({row[at] for row in table.rows}) == 1
    }
    found = table
    for name in alike:
        found = _without(found, name)
    said = [f"{name} {value}" for name, value in alike.items() if value]
    return found, [f"every row: {', '.join(said)}"] if said else []


def _prose_wrapped(table: Table, width: int) -> Table:
    """Return a table whose prose fits the space that other columns leave, if there is enough."""
    if table.prose not in _plain(table):
        return table
    at = _plain(table).index(table.prose)
    others = _without(table, table.prose)
    room = width - max(map(_width, _grid(others))) - len(_GAP)
    if room < _NARROWEST:
        return table
    rows = ((*row[:at], "\n".join(_fold(row[at], room)), *row[at + 1 :]) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _heads(table: Table) -> list[tuple[str, ...]]:
    """Return the heading lines, with the last word at the bottom."""
    words = [name.removeprefix(">").split("\n") for name in table.columns]
    height = max(map(len, words))
    columns = [[""] * (height - len(column)) + column for column in words]
    return list(zip(*columns, strict=True))


def _grid(table: Table) -> list[str]:
    """Return the lines of headings and rows, with aligned columns."""
    lines = _heads(table)
    for row in table.rows:
        parts = [cell.split("\n") for cell in row]
        height = max(map(len, parts))
        columns = [part + [""] * (height - len(part)) for part in parts]
        lines += zip(*columns, strict=True)
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    right = [name.startswith(">") for name in table.columns]
    return [_GAP.join(map(_padded, line, widths, right)).rstrip() for line in lines]


def _padded(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(cell))
    return blank + cell if right else cell + blank


def _stacked(table: Table, width: int) -> list[str]:
    """Return each row as its name, followed by its other cells with their column names."""
    lines: list[str] = []
    names = _plain(table)
    for row in table.rows:
        lines.append(click.style(row[0], bold=True))
        line = ""
        for name, cell in zip(names[1:], row[1:], strict=True):
            item = f"{name}: {cell}"
            if not cell:
                continue
            if line and _width(line + _GAP + item) > width:
                lines += _fold(line, width, _GAP)
                line = ""
            line += _GAP + item
        lines += _fold(line, width, _GAP) if line else []
    return lines


def _wrapped(notes: Iterable[str], width: int) -> list[str]:
    return [line for note in notes for line in _fold(note, width)]


def _fold(text: str, width: int, indent: str = "") -> list[str]:
    """Return text broken only at spaces; a name longer than a line stays whole."""
    if _width(text) <= width:
        return [text]
    return textwrap.wrap(
        text.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width(text: str) -> int:
    """Return how many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
