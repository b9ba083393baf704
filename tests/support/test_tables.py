"""Tables: whole names at every width, and lines that `cut` and `sort` can read."""

import sys
from dataclasses import replace

import click
import pytest

from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.support.tables import Table, for_pipe, for_terminal, say, show

NAMES = tuple(kernel.name for kernel in catalogue())

FIGURES = Table(
    "Figures",
    ("kernel", "isa", ">blocks", ">code bytes", "note"),
    (
        ("ghash_one", "avx", "8", "1923", "short"),
        ("ghash_second", "avx", "16", "24", "a longer note, which may be wrapped at spaces"),
    ),
)


def plain(text: str) -> list[str]:
    return click.unstyle(text).splitlines()


def test_a_pipe_gets_tabs_a_header_and_what_the_title_says() -> None:
    table = Table("two\nlines", ("kernel", ">cycles"), (("a b\tc\nd", "1.0"),), each={"mode": "x"})
    assert for_pipe(table) == "kernel\tcycles\tmode\na b c d\t1.0\tx\n"


def test_columns_are_aligned_where_there_is_room() -> None:
    assert plain(for_terminal(FIGURES, 100)) == [
        "Figures",
        "kernel        isa  blocks  code bytes  note",
        "ghash_one     avx       8        1923  short",
        "ghash_second  avx      16          24  a longer note, which may be wrapped at spaces",
    ]


def test_prose_is_wrapped_before_anything_else_changes() -> None:
    assert plain(for_terminal(replace(FIGURES, prose="note"), 64)) == [
        "Figures",
        "kernel        isa  blocks  code bytes  note",
        "ghash_one     avx       8        1923  short",
        "ghash_second  avx      16          24  a longer note, which may",
        "                                       be wrapped at spaces",
    ]


def test_headings_break_then_what_is_alike_is_said_once_then_columns_go() -> None:
    short = replace(FIGURES, rows=tuple((*row[:4], "ok") for row in FIGURES.rows))
    assert plain(for_terminal(short, 40)) == [
        "Figures",
        "                            code",
        "kernel        isa  blocks  bytes  note",
        "ghash_one     avx       8   1923  ok",
        "ghash_second  avx      16     24  ok",
    ]
    assert plain(for_terminal(short, 30)) == [
        "Figures", "every row: isa avx, note ok", "                       code",
        "kernel        blocks  bytes", "ghash_one          8   1923",
        "ghash_second      16     24",
    ]  # fmt: skip
    assert plain(for_terminal(replace(FIGURES, spare=("note",)), 40)) == [
        "Figures", "every row: isa avx", "no room for note: use a wider terminal,",
        "a pipe or --json", "                       code", "kernel        blocks  bytes",
        "ghash_one          8   1923", "ghash_second      16     24",
    ]  # fmt: skip


def test_rows_are_paragraphs_where_nothing_else_fits() -> None:
    assert plain(for_terminal(FIGURES, 32)) == [
        "Figures", "every row: isa avx", "ghash_one", "  blocks: 8  code bytes: 1923",
        "  note: short", "ghash_second", "  blocks: 16  code bytes: 24",
        "  note: a longer note, which may", "    be wrapped at spaces",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1, 20, 40, 80, 120, 200])
@pytest.mark.parametrize("spare", [(), ("b", "c")])
def test_no_name_is_cut_at_any_width(width: int, spare: tuple[str, ...]) -> None:
    rows = tuple((name, "x " * 14, "y " * 14, "z") for name in NAMES)
    lines = plain(for_terminal(Table("all", ("kernel", "a", "b", "c"), rows, spare), width))
    words = {word for line in lines for word in line.split()}
    assert set(NAMES) <= words
    assert not any("…" in line for line in lines)
    # A word longer than a line is alone on it, but for the indent.
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


def test_characters_that_are_wide_keep_columns_straight() -> None:
    lines = plain(for_terminal(Table("", ("a", "b"), (("漢字", "x"), ("abcd", "y"))), 80))
    assert lines == ["a     b", "漢字  x", "abcd  y"]


def test_sentences_stay_out_of_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Table("nothing", ("kernel",), ())
    show(FIGURES, empty, FIGURES)
    say("2 of 2 kernels")
    out, err = capsys.readouterr()
    assert out == f"{for_pipe(FIGURES)}\n{for_pipe(FIGURES)}"
    assert err == "2 of 2 kernels\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    show(FIGURES)
    say("2 of 2 kernels")
    out, err = capsys.readouterr()
    assert plain(out)[:2] == plain(for_terminal(FIGURES, 100))[:2]
    assert out.endswith("2 of 2 kernels\n")
    assert err == ""
