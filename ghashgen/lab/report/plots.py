"""Plots: one figure becomes a PNG and, in two widths, an SVG with the page's colours.

Colours are those of the light scheme. In the SVG each becomes a CSS variable (`PALETTE`), so that
one drawing serves both schemes. Colour-blind readers can distinguish the palette (after Okabe and
Ito, https://jfly.uni-koeln.de/color/), and no plot relies on colour alone. Same data, same bytes.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ghashgen.arch.decoder import CLASSES
from ghashgen.lab.report.choice import Line, bound_rows, costs, lines, used_ports
from ghashgen.lab.report.data import Report, Speed
from ghashgen.records.core import size_name
from ghashgen.support.extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE: Mapping[str, str] = {
    "fg": "#1a1d21",
    "muted": "#545b65",
    "line": "#d5d9dd",
    "bg": "#fcfcfa",
    "blue": "#0b5cad",
    "vermilion": "#b04300",
    "green": "#00705a",
    "purple": "#8a3b7a",
    "olive": "#6b6100",
    "grey": "#5f6772",
}
"""Colours by the name of their CSS variable; style.css has the dark ones."""

SPEED = "speed"
"""Beginning of the names of speed plots, before the CPU's slug."""

OURS = "blue"
PEERS = ("vermilion", "green", "purple", "olive", "grey")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
CLASS_COLOURS = dict(
    zip(CLASSES, ("blue", "vermilion", "green", "purple", "olive", "grey"), strict=True)
)

WIDTHS = {"wide": 8.5, "narrow": 3.6}
"""Widths in inches; a page shows one of them."""

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Plot:
    """A drawing: the PNG, and the SVG elements by width; no SVG if the page has a table instead."""

    name: str
    png: bytes
    svg: Mapping[str, str]


def speed_plot(speed: Speed) -> str:
    """Return the name of a CPU's plot of speed, on its page."""
    return f"{SPEED}-{speed.slug}"


def plots(report: Report) -> dict[str, Plot]:
    """Return every plot with data, by name."""
    drawn = {}
    for speed in report.speeds:
        if speed.timings:
            drawn[speed_plot(speed)] = _plot(speed_plot(speed), partial(_speed, lines(speed)))
    drawn["instructions"] = _plot("instructions", lambda width: _instructions(report, width))
    if any(bound_rows(report, uarch) for uarch in report.uarches):
        drawn["ports"] = _plot("ports", lambda width: _ports(report, width), ())
    return drawn


@contextmanager
def _style(salt: str) -> Iterator[None]:
    require("report")
    import matplotlib as mpl

    settings: Any = {
        "svg.hashsalt": salt,
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans",
        "font.size": 8.5,
        "axes.facecolor": "none",
        "axes.edgecolor": PALETTE["line"],
        "axes.labelcolor": PALETTE["fg"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": PALETTE["fg"],
        "xtick.color": PALETTE["muted"],
        "ytick.color": PALETTE["muted"],
        "grid.color": PALETTE["line"],
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.6,
        "path.simplify": False,
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(settings)
        yield


def _plot(
    name: str, draw: Callable[[str], "Figure"], widths: Sequence[str] = tuple(WIDTHS)
) -> Plot:
    svg, png = {}, io.BytesIO()
    for width in dict.fromkeys((*widths, "wide")):
        with _style(f"{name}-{width}"):
            figure = _laid_out(draw(width))
            if width in widths:
                out = io.StringIO()
                figure.savefig(out, format="svg", transparent=True,
                               metadata={"Date": None, "Creator": None})  # fmt: skip
                svg[width] = inline(out.getvalue(), f"{name}-{width}")
            if width == "wide":
                figure.savefig(png, format="png", dpi=160, facecolor=PALETTE["bg"],
                               metadata={"Software": None})  # fmt: skip
    return Plot(name, png.getvalue(), svg)


def _laid_out(figure: "Figure") -> "Figure":
    """Return a figure with its layout fixed; otherwise every file would compute it twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        # With an engine, even an idle one, each file draws the figure twice.
        figure.set_layout_engine(None)
    return figure


def inline(svg: str, name: str) -> str:
    """Return matplotlib's SVG as an element of a page.

    Its ids get a unique prefix, its colours become CSS variables, its size is left to the page, and
    the prologue with its metadata is removed.
    """
    text = svg[svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="([^"]+)"', head)
    if box is None:
        raise AssertionError("matplotlib's SVG has a viewBox")
    rest = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", rest)
    rest = rest.replace("xlink:href", "href")
    for variable, colour in PALETTE.items():
        rest = rest.replace(colour, f"var(--{variable})")
    rest = re.sub(r"'DejaVu Sans'(, [^;\"]*)?", _FONTS, rest)
    rest = re.sub(r"[ \t]+$", "", rest, flags=re.MULTILINE)
    return f'<svg viewBox="{box[1]}" aria-hidden="true" focusable="false">{rest.strip()}'


def _figure(width: str, height: float) -> tuple["Figure", "Axes"]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTHS[width], height), layout="constrained")
    return figure, figure.subplots()


# -- cycles per byte ------------------------------------------------------------------------------


def _speed(found: Sequence[Line], width: str) -> "Figure":
    wide = width == "wide"
    figure, axes = _figure(width, 4.6 if wide else 3.2 + 0.17 * len(found))
    peers, ours = 0, 0
    ends = []
    for line, marker in zip(found, MARKERS * len(found), strict=False):
        own = line.kind == "kernel"
        colour = PALETTE[OURS if own else PEERS[peers % len(PEERS)]]
        dash = ("-", "--", ":")[(ours if own else peers // len(PEERS)) % 3]
        ours, peers = ours + own, peers + (not own)
        x = [t.size for t in line.timings]
        y = [t.per_byte for t in line.timings]
        axes.plot(x, y, dash, color=colour, marker=marker, markersize=4 if wide else 3,
                  linewidth=2.2 if own else 1.1, zorder=3 if own else 2)  # fmt: skip
        low = [t.low if t.low is not None else t.per_byte for t in line.timings]
        high = [t.high if t.high is not None else t.per_byte for t in line.timings]
        axes.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0, zorder=1)
        ends.append((y[-1], line.label, colour, own))
    _speed_axes(axes, sorted({t.size for line in found for t in line.timings}), wide)
    if wide:
        _labels(axes, ends, max(t.size for line in found for t in line.timings))
    else:
        # Labels beside the lines would leave no room for the plot on a phone.
        figure.legend(
            axes.lines, [line.label for line in found], loc="outside lower left", ncols=1,
            frameon=False, fontsize=7.5, handlelength=2.6, borderpad=0, labelspacing=0.35,
        )  # fmt: skip
    return figure


def _speed_axes(axes: "Axes", sizes: Sequence[int], wide: bool) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    shown = [size for size in sizes if size.bit_count() == 1]
    # Every other power of two, in a narrow plot every fourth: more labels would touch.
    step = 2 if wide else 4
    shown = [s for s in shown if s.bit_length() % step == 1] or shown
    axes.set_xticks(shown, [size_name(size) for size in shown])
    low, high = axes.get_ylim()
    steps = [2**n * m for n in range(-6, 8) for m in (1, 1.5)]
    ticks = [step for step in steps if low <= step <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("message (log scale)")
    axes.set_title("core cycles per byte (log scale), lower is faster", loc="left", fontsize=8.5)


def _labels(axes: "Axes", ends: list[Any], at: float) -> None:
    """Write each line's label beside its end, moving labels apart if they would touch."""
    from math import log2

    low, high = (log2(value) for value in axes.get_ylim())
    gap = (high - low) * 0.047
    places = apart([log2(end[0]) for end in ends], gap, low)
    for (y, label, colour, own), place in zip(ends, places, strict=True):
        axes.plot((at * 1.1, at * 1.5), (y, 2**place), color=colour, linewidth=0.5, clip_on=False,
                  scalex=False, scaley=False)  # fmt: skip
        axes.text(at * 1.6, 2**place, label, color=colour, va="center", fontsize=8.5,
                  fontweight="bold" if own else "normal")  # fmt: skip


def apart(places: Sequence[float], gap: float, floor: float) -> list[float]:
    """Return places at least `gap` apart and not below `floor`, in the same order of size."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    out = list(places)
    # Clusters of touching labels, each centred on its members' places.
    clusters: list[list[int]] = []
    for index in order:
        clusters.append([index])
        while len(clusters) > 1 and _top(clusters[-2], places, gap, floor) > _start(
            clusters[-1], places, gap, floor
        ):
            last = clusters.pop()
            clusters[-1] += last
    for cluster in clusters:
        start = _start(cluster, places, gap, floor)
        for number, index in enumerate(cluster):
            out[index] = start + number * gap
    return out


def _start(cluster: Sequence[int], places: Sequence[float], gap: float, floor: float) -> float:
    middle = sum(places[i] for i in cluster) / len(cluster)
    return max(floor, middle - gap * (len(cluster) - 1) / 2)


def _top(cluster: Sequence[int], places: Sequence[float], gap: float, floor: float) -> float:
    return _start(cluster, places, gap, floor) + gap * len(cluster)


# -- instructions per block -----------------------------------------------------------------------


def _instructions(report: Report, width: str) -> "Figure":
    from matplotlib.patches import Rectangle

    wide = width == "wide"
    chosen = costs(report)
    isas = list(dict.fromkeys(variant.axes["isa"] for variant in chosen))
    # One row for each bar, and room for a heading above each instruction set.
    rows = [i + 0.9 * isas.index(variant.axes["isa"]) for i, variant in enumerate(chosen)]
    figure, axes = _figure(width, 0.6 + 0.245 * (rows[-1] + 2))
    longest = max(float(variant.total_per_block) for variant in chosen)
    for variant, row in zip(chosen, rows, strict=True):
        left = 0.0
        for cls in CLASSES:
            size = float(variant.per_block[cls])
            axes.barh(row, size, left=left, height=0.78, color=PALETTE[CLASS_COLOURS[cls]],
                      edgecolor=PALETTE["bg"], linewidth=0.8)  # fmt: skip
            if size > longest * (0.042 if wide else 0.11):
                axes.text(left + size / 2, row, f"{size:.2f}", color=PALETTE["bg"], ha="center",
                          va="center_baseline", fontsize=7.5)  # fmt: skip
            left += size
        axes.text(left + longest * 0.012, row, f"{left:.2f}", va="center_baseline", fontsize=8.5,
                  fontweight="bold")  # fmt: skip
    for isa in isas:
        own = [r for v, r in zip(chosen, rows, strict=True) if v.axes["isa"] == isa]
        blocks = next(v.blocks for v in chosen if v.axes["isa"] == isa)
        axes.text(0, own[0] - 0.72, f"{isa}, {blocks} blocks per group", color=PALETTE["muted"],
                  fontsize=8.5, va="center_baseline")  # fmt: skip
    axes.set_yticks(rows, [str(variant.axes[report.topic.by[0]]) for variant in chosen])
    axes.tick_params(axis="y", colors=PALETTE["fg"])
    axes.set_ylim(rows[-1] + 0.7, -1.25)
    axes.set_xlim(0, longest * (1.07 if wide else 1.16))
    axes.tick_params(length=0)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlabel("instructions per block")
    figure.legend(
        [Rectangle((0, 0), 1, 1, color=PALETTE[CLASS_COLOURS[cls]]) for cls in CLASSES],
        CLASSES, loc="outside upper left", ncols=len(CLASSES) if wide else 3, frameon=False,
        handlelength=1, handleheight=1, borderpad=0, columnspacing=1.4,
    )  # fmt: skip
    return figure


# -- ports ----------------------------------------------------------------------------------------


def _ports(report: Report, width: str) -> "Figure":
    from matplotlib.figure import Figure

    shown = [uarch for uarch in report.uarches if bound_rows(report, uarch)]
    heights = [len(bound_rows(report, uarch)) for uarch in shown]
    size = (WIDTHS[width], sum(0.26 * height + 0.75 for height in heights))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
    for uarch, axes in zip(shown, panels, strict=True):
        _heat(report, uarch, axes)
    return figure


def _heat(report: Report, uarch: str, axes: "Axes") -> None:
    from matplotlib.patches import Rectangle

    rows, ports = bound_rows(report, uarch), used_ports(report, uarch)
    for y, (_, bound) in enumerate(rows):
        for x, alike in enumerate(ports):
            load = bound.load.get(alike[0], 0.0)
            part = load / bound.per_block
            axes.add_patch(Rectangle((x, y), 0.96, 0.92, color=PALETTE["vermilion"],
                                     alpha=0.06 + 0.5 * part, linewidth=0))  # fmt: skip
            axes.text(x + 0.48, y + 0.48, f"{load:.2f}", ha="center", va="center", fontsize=6.5)
    axes.set_xlim(0, len(ports))
    axes.set_ylim(len(rows), 0)
    axes.set_xticks([x + 0.48 for x in range(len(ports))], [" ".join(alike) for alike in ports])
    axes.xaxis.tick_top()
    axes.set_yticks([y + 0.46 for y in range(len(rows))],
                    [f"{v.axes['isa']}: {b.per_block:.2f}" for v, b in rows])  # fmt: skip
    axes.tick_params(length=0, labelsize=7)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{uarch}: model, cycles per block", loc="left", fontsize=8.5)
