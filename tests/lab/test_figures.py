"""The figures: drawn from the project's values, as checked in, legible and without overlap."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.browsing import opened
from msgspec.structs import replace

from ghashgen.arch.registry import uarches
from ghashgen.check.ledger import load as load_proofs
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.lab.figures import folded, four, gallery, group, induction, lanes, ports, sbox, speed
from ghashgen.lab.figures.svg import COLOURS, SMALL, WIDTH
from ghashgen.lab.speeds.core import speeds
from ghashgen.lab.standing import load_standings
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root

ROOT = project_root()
FOLDER = ROOT / gallery.FOLDER
NAMES = sorted(path.name for path in FOLDER.glob("*.svg"))
ENTRIES = manifest.load(ROOT / "generated")


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return gallery.figures(ROOT)


def test_what_is_checked_in_is_what_is_drawn(drawn: dict[str, str]) -> None:
    assert {name: (FOLDER / name).read_text(encoding="utf-8") for name in NAMES} == drawn
    assert {"speed.svg", "group.svg", "lanes.svg", "k.svg", "ports.svg", "sbox.svg"} < drawn.keys()


@pytest.mark.parametrize("fault", ["edited", "missing", "left over"])
def test_a_stale_figure_is_named(tmp_path: Path, fault: str) -> None:
    texts = {"a.svg": "a", "b.svg": "b"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert gallery.stale(tmp_path, texts) == ""
    name = "c.svg" if fault == "left over" else "b.svg"
    if fault == "missing":
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text("x")
    assert gallery.stale(tmp_path, texts) == name


# -- the values -----------------------------------------------------------------------------------


def test_a_chart_shows_the_cells_of_the_record() -> None:
    (one, *_) = load_standings(ROOT, ENTRIES.values(), "gcm")
    chart = speed.chart(speeds()["gcm"], one, 128)
    ours, *theirs = chart.curves
    assert ours.name == "ghashgen"
    assert [curve.name for curve in theirs] == sorted(set(speed.LIBRARIES.values()))
    for (size, ratio), (same, own) in zip(chart.ratios, ours.points, strict=True):
        found = one.pair(size, "seal", 128)
        assert found is not None
        assert size == same
        assert own == found.kernel.per_byte
        best = min(dict(curve.points)[size] for curve in theirs)
        assert ratio == pytest.approx(best / own)


def test_the_lanes_are_those_of_the_table() -> None:
    (kernel,) = (kernel for kernel in catalogue() if kernel.name == lanes.KERNEL)
    assert lanes.powers(kernel, "@loop") == [[power] * 4 for power in (16, 12, 8, 4)]
    assert lanes.powers(kernel, "") == [[p, p - 1, p - 2, p - 3] for p in (16, 12, 8, 4)]


def test_products_lie_where_the_schemes_put_them() -> None:
    school, k = (folded.products(folded.multiplies()[name]) for name, _ in folded.SIDES)
    assert [(p.name, p.word) for p in school] == [
        *(("A0·B0", 0), ("A0·B1", 1), ("A1·B0", 1), ("A1·B1", 2))
    ]
    assert [(p.name, p.word) for p in k] == [
        *(("A0·B0", 0), ("A1·K0", 0), ("A0·B1", 1), ("A1·K1", 1))
    ]


def test_a_group_whose_bytes_say_otherwise_is_not_drawn() -> None:
    entry = ENTRIES[group.KERNEL]
    assert group.draw(entry)
    counts = replace_counts(entry)
    with pytest.raises(GhashgenError, match="products a group"):
        group.draw(counts)


def test_four_messages_whose_file_says_otherwise_are_not_drawn() -> None:
    entry = ENTRIES[four.KERNEL]
    source = (ROOT / "generated" / entry.file).read_text(encoding="utf-8")
    assert four.counts(source) == {("vpclmul", "z"): 21, ("vpclmul", "x"): 4, ("vaesenc", "z"): 50}
    assert four.draw(entry, source)
    before, first, after = source.partition("\n.alike_group:\n")
    with pytest.raises(GhashgenError, match="other instructions than drawn"):
        four.draw(entry, before + first + "    vaesenc     zmm0, zmm0, zmm1\n" + after)


def replace_counts(entry: manifest.Entry) -> Any:
    """The entry, with one product more in its loop."""
    group = entry.counts.group
    classes = {**group.classes, "clmul": group.classes["clmul"] + 1}
    counts = replace(entry.counts, group=replace(group, classes=classes))
    return replace(entry, counts=counts)


def test_the_ranges_are_those_that_were_proved() -> None:
    (verdict,) = (
        v for v in load_proofs(ROOT / "generated/PROOFS.json") if v.kernel == induction.KERNEL
    )
    entry = ENTRIES[induction.KERNEL]
    assert induction.ranges(entry, verdict) == induction.Ranges(2**62 - 1, 128)
    with pytest.raises(GhashgenError, match="not proved from 0 bytes on"):
        induction.ranges(entry, replace(verdict, functions=()))


def test_a_turn_has_the_uops_of_the_loop() -> None:
    entry, uarch = ENTRIES[ports.KERNEL], uarches()[ports.CORE]
    source = (ROOT / "generated" / entry.file).read_text(encoding="utf-8")
    found = ports.turn(ports.body_of(entry.kernel, source), uarch)
    assert found.cycles >= found.least
    cells = [(uop.port, uop.cycle) for uop in found.uops]
    assert len(cells) == len(set(cells))
    products = [uop for uop in found.uops if uop.port == "CLMUL0"]
    # Two cells a product: the table has one every two cycles.
    wanted = 2 * entry.counts.group.classes["clmul"]
    assert abs(len(products) - wanted) <= 4
    assert {ports.colour(uop.form) for uop in products} == {"vermilion"}


def test_the_names_are_those_of_the_prover() -> None:
    found = sbox.drawn()
    assert found.values == 16 * 10
    # MixColumns adds the bytes that ShiftRows brings into a column: FIPS 197, 5.1.2 and 5.1.3.
    assert found.sources == ((0, 5, 10, 15),) * 4
    assert [bits for _, bits in found.equal] == [128, 0, 0]
    assert sbox.degree() == 7


# -- the pictures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_stands_alone(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    assert "prefers-color-scheme:dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "script" not in text
    sizes = list(map(int, re.findall(r'font-size="(\d+)"', text)))
    assert min(sizes) >= SMALL
    # On a phone, 390 wide with margins of 16, the smallest text has 9 pixels.
    assert SMALL * (390 - 32) / WIDTH > 8.9


LUMINANCE = [0.2126, 0.7152, 0.0722]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(share * value for share, value in zip(LUMINANCE, linear, strict=True))


@pytest.mark.parametrize("day", [0, 1])
def test_text_is_legible_by_day_and_by_night(day: int) -> None:
    pale = [pair[day] for name, pair in COLOURS.items() if name.startswith("pale-")]
    ground = COLOURS["ground"][day]
    inks = [
        *((COLOURS["ink"][day], under) for under in (*pale, ground)),
        *((COLOURS[name][day], ground) for name in ("muted", "blue", "vermilion", "green")),
        *((COLOURS[name][day], ground) for name in ("purple", "olive")),
    ]
    for ink, under in inks:
        low, high = sorted((luminance(ink), luminance(under)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, under)


TEXTS = """Array.from(document.querySelectorAll("text")).map((node) => {
  const box = node.getBoundingClientRect();
  return [node.textContent, box.left, box.top, box.right, box.bottom];
})"""
OUTSIDE, TOUCH = "outside", "touch"


def clashes(boxes: list[list[Any]], right: float, bottom: float) -> list[tuple[str, ...]]:
    """Texts that leave the figure, and pairs that lie on one another."""
    found: list[tuple[str, ...]] = [
        (OUTSIDE, words)
        for words, x0, y0, x1, y1 in boxes
        if x0 < 0 or y0 < 0 or x1 > right or y1 > bottom
    ]
    for i, (words, x0, y0, x1, y1) in enumerate(boxes):
        for other, u0, v0, u1, v1 in boxes[:i]:
            # Lines of a paragraph may touch: boxes of text have room above and below the letters.
            if min(x1, u1) - max(x0, u0) > 1 and min(y1, v1) - max(y0, v0) > 4:
                found.append((TOUCH, other, words))
    return found


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_lies_on_another(browser: Any, drawn: dict[str, str], width: int) -> None:
    wrong, scale = {}, min(1.0, (width - 32) / WIDTH)
    with opened(browser, "about:blank", width) as (page, seen):
        for name in drawn:
            page.goto((FOLDER / name).as_uri())
            page.evaluate(f"document.documentElement.style.width = '{WIDTH * scale}px'")
            page.evaluate("document.documentElement.style.height = 'auto'")
            box = page.evaluate(
                "(({right, bottom}) => [right, bottom])"
                "(document.documentElement.getBoundingClientRect())"
            )
            wrong[name] = clashes(page.evaluate(TEXTS), *box)
            assert seen.sent == []
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_clash_is_noticed() -> None:
    boxes = [["a", 0, 0, 10, 10], ["b", 5, 2, 15, 12], ["c", 95, 0, 105, 10], ["d", 0, 30, 9, 40]]
    assert clashes(boxes, 100, 100) == [(OUTSIDE, "c"), (TOUCH, "a", "b")]
