"""The report's drawings: labels apart, lines explained, colours that can be read."""

import re
from itertools import pairwise

import pytest

from ghashgen.lab.report.choice import Line
from ghashgen.lab.report.data import Timing
from ghashgen.lab.report.falls import falls
from ghashgen.lab.report.plots import (
    CLASS_COLOURS,
    OURS,
    PALETTE,
    PEERS,
    WIDTHS,
    _laid_out,
    _speed,
    _style,
    apart,
    inline,
)
from ghashgen.records.core import SIZES
from ghashgen.support.paths import project_root

STYLE = project_root() / "templates" / "report" / "style.css"


def test_labels_are_moved_apart_and_keep_their_order() -> None:
    places = [1.0, 1.01, 1.02, 3.0, 0.0, 1.0]
    moved = apart(places, 0.2, 0.0)
    ordered = sorted(moved)
    assert all(high - low >= 0.2 - 1e-9 for low, high in pairwise(ordered))
    assert [places[moved.index(place)] for place in ordered] == sorted(places)
    assert moved[3] == 3.0
    assert min(moved) >= 0.0


def test_a_drawing_takes_the_pages_colours() -> None:
    svg = (
        '<?xml version="1.0"?><svg width="2pt" viewBox="0 0 2 2"><metadata>x</metadata>'
        f'<g id="a" style="fill: {PALETTE["blue"]}"/><use xlink:href="#a" '
        'clip-path="url(#a)"/></svg>'
    )
    assert inline(svg, "n") == (
        '<svg viewBox="0 0 2 2" aria-hidden="true" focusable="false">'
        '<g id="n-a" style="fill: var(--blue)"/><use href="#n-a" clip-path="url(#n-a)"/></svg>'
    )


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def schemes() -> list[dict[str, str]]:
    """The colours of the style sheet: light, dark."""
    light, _, dark = STYLE.read_text(encoding="utf-8").partition("@media")
    return [dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", text)) for text in (light, dark)]


@pytest.mark.parametrize("scheme", schemes(), ids=["light", "dark"])
def test_labels_of_lines_and_bars_can_be_read(scheme: dict[str, str]) -> None:
    # Lines carry labels in their colour; bars carry labels in the colour of the page.
    colours = {*CLASS_COLOURS.values(), *PEERS, OURS, "fg", "muted"}
    assert {c: r for c in colours if (r := contrast(scheme[c], scheme["bg"])) < 4.5} == {}
    assert contrast("#777777", "#888888") < 4.5


def test_the_light_scheme_is_the_palette() -> None:
    assert {name: schemes()[0][name] for name in PALETTE} == dict(PALETTE)


def line(label: str, level: int, *cycles: tuple[int, float]) -> Line:
    timings = tuple(
        Timing(label, "peer", size, total / size, None, None, 1, "", level)
        for size, total in cycles
    )
    return Line(label, (label,), "peer", timings)


def test_a_line_that_falls_is_explained() -> None:
    even = line("even", 0, (16, 20), (32, 30), (48, 25), (64, 40))
    other = line("other", 1, (16, 20), (32, 60), (48, 30), (64, 35))
    slowed = line("slowed", 0, (32, 75.4), (48, 38.0), (64, 134.1))
    unknown = line("unknown", 2, (32, 75.4), (48, 38.0), (64, 134.1))
    last = line("last", 0, (32, 75.4), (48, 38.0))
    found = falls([even, other, slowed, unknown, last])
    assert [sentence.partition(":")[0] for sentence in found] == [
        *("other", "slowed", "unknown", "last")
    ]
    assert "30.0 cycles for 48 B, but 60.0 cycles for 32 B. It stays low" in found[0]
    assert "and 134.1 cycles for 64 B. It rises again" in found[1]
    assert "upper halves of vector registers" in found[1]
    assert "the record does not say by what" in found[2]
    assert "It stays low" in found[3]


def test_labels_of_sizes_do_not_touch() -> None:
    """At the sizes of a record, on the wide plot, which is what 1280 pixels show."""
    timings = [(size, 10 * size) for size in SIZES]
    found = [line("a_peer_with_a_long_name_avx512", 0, *timings)]
    for width in WIDTHS:
        with _style("test"):
            figure = _laid_out(_speed(found, width))
            (axes,) = figure.axes
            boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert len(boxes) > 3
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes)), width
