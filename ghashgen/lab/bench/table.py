"""Results as text tables: ratios to the best peer by size, and every cell."""

from ghashgen.records.core import INIT_MODES, Cell, Results, ratio, size_name
from ghashgen.support.tables import Table

CYCLES_UP_TO = 256
"""Sizes up to this are shown in cycles per call, larger ones in cycles per byte."""

COMPARED = ("kernel", "peer")


def figure(cell: Cell | None) -> str:
    """Return a cell's figure: cycles per call up to 256 B, cycles per byte above."""
    if cell is None:
        return "-"
    return f"{cell.cycles:.1f}" if cell.size <= CYCLES_UP_TO else f"{cell.per_byte:.4f}"


def _spread(cell: Cell) -> str:
    low, high = cell.spread
    return f"{100 * (high - low) / cell.cycles:.1f}%"


def _keyed(title: str, key: int) -> str:
    return f"AES-{key} {title}" if key else title


def best_table(results: Results, mode: str, key: int = 0) -> Table:
    """Return, by size, the fastest kernel, the fastest peer, and peer / kernel (above 1: faster).

    Only subjects with this key size count.
    """
    rows = []
    for size in [size for found, size in results.rows() if found == mode]:
        best, peer = (
            next(iter(results.of_kind((kind,), size, mode, key)), None) for kind in COMPARED
        )
        if best is None:
            continue
        times = ratio(best, peer)
        rows.append(
            (
                size_name(size, mode),
                best.name,
                figure(best),
                _spread(best),
                peer.name if peer else "no peer",
                figure(peer),
                _spread(peer) if peer else "-",
                "-" if times is None else f"{times:.2f}",
            )
        )
    ours = ("size", "best kernel", ">cycles", ">spread")
    theirs = ("best peer", ">peer cycles", ">peer spread", ">peer/kernel")
    title = _keyed(f"{mode}: core cycles, of a call to 256 B, of a byte above", key)
    each = {"mode": mode, "key": str(key)} if key else {"mode": mode}
    return Table(title, (*ours, *theirs), tuple(rows), each=each)


def init_table(results: Results) -> Table:
    """Return the key set-ups in cycles per call, with the size of the table that each fills."""
    modes = [mode for mode in sorted(INIT_MODES) if (mode, 0) in results.rows()]
    rows = []
    for name, subject in results.subjects.items():
        cells = [results.cell(name, 0, mode) for mode in modes]
        if any(cells):
            rows.append((name, subject.kind, str(subject.table_bytes), *map(figure, cells)))
    columns = ("subject", "kind", ">table bytes", *(f">{mode}" for mode in modes))
    return Table("key set-up: core cycles per call", columns, tuple(rows))


def full_table(results: Results, mode: str, key: int = 0) -> Table:
    """Return every subject at every size of a mode, with the ratio to the best peer.

    Only subjects with this key size count.
    """
    sizes = [size for found, size in results.rows() if found == mode]
    peers = {size: next(iter(results.of_kind(("peer",), size, mode, key)), None) for size in sizes}
    rows = []
    for name, subject in results.subjects.items():
        if subject.key != key:
            continue
        cells = [results.cell(name, size, mode) for size in sizes]
        if any(cells):
            texts = [_with_ratio(cell, peers, subject.kind) for cell in cells]
            rows.append((name, subject.kind, *texts))
    columns = ("subject", "kind", *(f">{size_name(size, mode)}" for size in sizes))
    title = _keyed(f"{mode}: every subject, with (best peer / it)", key)
    each = {"mode": mode, "key": str(key)} if key else {"mode": mode}
    return Table(title, columns, tuple(rows), each=each)


def _with_ratio(cell: Cell | None, peers: dict[int, Cell | None], kind: str) -> str:
    text = figure(cell)
    if cell is None or kind not in COMPARED:
        return text
    times = ratio(cell, peers[cell.size])
    return text if times is None else f"{text} ({times:.2f})"
