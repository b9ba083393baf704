"""The comparison as Markdown for docs/model.md, and as lines for a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from ghashgen.arch.registry import uarches
from ghashgen.cost.count import classes, memory_operands
from ghashgen.lab.model.bursts import Burst
from ghashgen.lab.model.comparison import Comparison
from ghashgen.lab.model.peers import Peer
from ghashgen.lab.model.rows import LABEL, Match, Row, Wanted
from ghashgen.lab.pages import markdown_table
from ghashgen.lab.report.topics import topics
from ghashgen.lab.standing import span

PAGE = "docs/model.md"
MARKERS = ("<!-- model:begin -->", "<!-- model:end -->")

GAP = "(*)"
"""Marks a bound that leaves out forms without port data."""

COLUMNS = (
    "kernel", ">blocks", ">instructions", ">clmul", ">shuffle", ">xor", ">load", ">other",
    ">memory", ">front end", ">ports", ">bound", "bound by", "uops by port",
)  # fmt: skip
"""Counts are per 16-byte block, `memory` counts memory operands of computing instructions; front
end, ports and bound are in cycles per byte.
"""

ON_PAGE = ("kernel", ">blocks", ">instructions", ">clmul", ">front end", ">bound", "bound by")
"""Those of the page; the command prints all."""


def cells(row: Row) -> tuple[str, ...]:
    """Return a row's cells, one for each of COLUMNS."""
    loop, bound = row.loop, row.bound
    by_class = classes(loop.body)
    # Stores are rare in these loops and have no column.
    by_class["other"] += by_class.pop("store")
    each = {cls: f"{n / loop.blocks:.2f}" for cls, n in by_class.items()}
    bytes_ = 16 * loop.blocks
    return (
        loop.name if loop.ours else f"peer {loop.name}",
        str(loop.blocks),
        f"{loop.body.instructions / loop.blocks:.2f}",
        *(each[cls] for cls in ("clmul", "shuffle", "xor", "load", "other")),
        f"{memory_operands(loop.body) / loop.blocks:.2f}",
        f"{bound.front_end / bytes_:.3f}",
        f"{bound.ports / bytes_:.3f}",
        f"{row.cycles_per_byte:.3f}{f' {GAP}' if bound.no_data else ''}",
        row.binds,
        demand(bound.demand, loop.blocks),
    )


def demand(uops: Mapping[tuple[str, ...], int], blocks: int) -> str:
    """Return uops per block by the ports that may take them, the most first: 'p5 1.06, p05 0.75'.

    Ports of one kind are joined: p05 means p0 or p5.
    """
    order = sorted(uops.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{ports_name(ports)} {n / blocks:.2f}" for ports, n in order)


def ports_name(ports: Iterable[str]) -> str:
    """Return one name for ports: FP0 and FP1 give FP01; the last character is the number."""
    groups: dict[str, str] = {}
    for port in ports:
        groups[port[:-1]] = groups.get(port[:-1], "") + port[-1]
    return "/".join(kind + numbers for kind, numbers in groups.items())


def notes(rows: Iterable[Row | Burst]) -> tuple[str, ...]:
    """Return what readers must know about the rows' figures, each thing once."""
    bounds = [row.bound for row in rows]
    missing = sorted({form for bound in bounds for form in bound.no_data})
    doubts: dict[str, list[str]] = {}
    for doubt in sorted({doubt for bound in bounds for doubt in bound.doubts}):
        form, _, text = doubt.partition(": ")
        doubts.setdefault(text, []).append(form)
    without = [f"{GAP} without port data, counted as zero: {'; '.join(missing)}"]
    return (
        *(without if missing else ()),
        *(f"uncertain data for {'; '.join(forms)}: {text}" for text, forms in doubts.items()),
    )


MATCHED = ("peer", ">blocks", ">bound", "ours like it", ">blocks", ">bound", ">peer by ours")
"""The columns of `matched`; bounds in cycles per byte."""


def matched(match: Match) -> tuple[str, ...]:
    """Return the cells of a peer beside our lowest comparable loop."""
    return (*_side(match.peer), *_side(match.ours), f"{match.quotient:.2f}")


WANTED = ("goal", ">cycles per byte", "lowest of ours", ">bound", "bound by", ">goal by bound")
"""The columns of `wanted_cells`; bounds in cycles per byte."""


def wanted_cells(wanted: Wanted) -> tuple[str, ...]:
    """Return the cells of a goal beside our lowest bound."""
    row = wanted.row
    within = f" + {wanted.within:.0%}" if wanted.within else ""
    return (
        *(f"{row.loop.topic}, {wanted.core}", f"{wanted.goal:.3f}{within}", row.loop.name),
        *(f"{row.cycles_per_byte:.3f}", row.binds, f"{wanted.quotient:.2f}"),
    )


BURSTS = (
    *("kernel", ">bytes", ">seal", ">open", "bound by"),
    *(">goal", ">goal by bound", ">measured", ">measured by bound"),
)
"""The columns of `burst_cells`; what stands behind `open` is of sealing."""


def burst_cells(found: Iterable[Burst]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each kernel and length; cycles of one message of a burst."""
    each: dict[tuple[int, int, str], list[Burst]] = {}
    for burst in found:
        each.setdefault((burst.work.key, burst.work.size, burst.work.name), []).append(burst)
    for (_, size, name), (seal, open_) in each.items():
        yield (
            *(name, str(size), f"{seal.cycles:.1f}", f"{open_.cycles:.1f}", seal.binds),
            *_beside(seal.goal, seal.cycles),
            *_beside(seal.measured, seal.cycles),
        )


def _beside(cycles: float | None, bound: float) -> tuple[str, str]:
    return (f"{cycles:.1f}", f"{cycles / bound:.2f}") if cycles else ("", "")


def by_topic(rows: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """Return rows by topic, in the order of families and key sizes."""
    rows = tuple(rows)
    every = sorted({row.loop.topic for row in rows}, key=_place)
    return {about: tuple(row for row in rows if row.loop.topic == about) for about in every}


def _place(about: str) -> tuple[int, str]:
    titles = [each.title for each in topics().values()]
    return next(at for at, title in enumerate(titles) if about.startswith(title)), about


def _side(row: Row) -> tuple[str, str, str]:
    return row.loop.name, str(row.loop.blocks), f"{row.cycles_per_byte:.3f}"


def markdown(comparison: Comparison, peers: Iterable[Peer]) -> str:
    """Return the block between the page's markers, ending with a newline."""
    parts = []
    for name, rows in comparison.rows.items():
        parts.append(f"### {uarches()[name].title}: {LABEL}")
        own = [row for of in by_topic(rows).values() for row in of]
        parts.append(markdown_table(ON_PAGE, map(_on_page, own)))
        parts.append("\n".join(f"- {note}" for note in notes(rows)))
        if matches := comparison.matches[name]:
            parts.append(markdown_table(MATCHED, map(matched, matches)))
        if goals := comparison.wanted.get(name):
            parts.append(markdown_table(WANTED, map(wanted_cells, goals)))
        if found := comparison.bursts.get(name):
            parts.append(f"Bursts on {uarches()[name].title}: {LABEL}; cycles of one message.")
            parts.append(markdown_table(BURSTS, burst_cells(found)))
            parts.append("\n".join(f"- {note}" for note in notes(found)))
    if comparison.checks:
        parts.append("### Model beside measurement")
        columns = ("CPU", "kernel", ">bytes", f">{LABEL}", ">measured", ">measured by model")
        parts.append(markdown_table(columns, _checks(comparison)))
    parts.append("### Where the peers' counts come from")
    origins = ((p.name, p.project, p.version, p.file, p.loop.symbol, p.how) for p in peers)
    parts.append(
        markdown_table(("peer", "project", "version", "file", "function", "counted"), origins)
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _on_page(row: Row) -> tuple[str, ...]:
    return tuple(cells(row)[COLUMNS.index(column)] for column in ON_PAGE)


def _checks(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a row for each CPU and kernel: the lowest and the highest of its lengths."""
    for title, checks in comparison.checks.items():
        for name, run in groupby(checks, lambda check: check.name):
            of = tuple(run)
            measured = sorted(check.measured for check in of)
            quotients = sorted(check.quotient for check in of)
            yield (
                *(title, name, span(str(of[0].size), str(of[-1].size)), f"{of[0].model:.3f}"),
                span(f"{measured[0]:.3f}", f"{measured[-1]:.3f}"),
                span(f"{quotients[0]:.2f}", f"{quotients[-1]:.2f}"),
            )
