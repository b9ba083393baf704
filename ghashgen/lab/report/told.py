"""A page's text about speed: the values of a measurement in words."""

from typing import Any

from ghashgen.choice.classes import CLASSES
from ghashgen.lab.bench.table import CYCLES_UP_TO
from ghashgen.lab.report.choice import lines
from ghashgen.lab.report.data import Report, Speed, Timing
from ghashgen.lab.report.falls import falls
from ghashgen.records.core import IMIX_BYTES, size_name
from ghashgen.records.levels import LEVELS


def taken(speed: Speed, report: Report) -> dict[str, Any]:
    """Return a CPU's rows on the first screen: for each class of lengths, the kernel to take."""
    isas = {variant.name: str(variant.axes["isa"]) for variant in report.variants}
    sizes = [item.sizes[-1] for item in CLASSES if speed.taken(item.sizes[-1])]
    rows = []
    for size in sizes or speed.sizes[-1:]:
        kernel = speed.taken(size)
        # A run with only narrow kernels is compared with narrow peers.
        peer = speed.best("peer", size, max(speed.levels, default=0))
        if kernel is not None:
            rows.append(
                {
                    "size": size_name(size),
                    "kernel": kernel.name,
                    "isa": isas.get(kernel.name, LEVELS[kernel.level]),
                    "figure": _cycles(kernel),
                    "peer": peer.name if peer else "no peer",
                    "peer_isa": LEVELS[peer.level] if peer else "",
                    "ratio": _ratio(kernel, peer),
                    "faster": bool(peer and peer.per_byte > kernel.per_byte),
                }
            )
    return {"slug": speed.slug, "title": speed.title, "rows": rows}


def _cycles(timing: Timing) -> str:
    """Return cycles per call up to 256 bytes, per byte above."""
    if timing.size <= CYCLES_UP_TO:
        return f"{timing.per_byte * timing.size:.1f}"
    return f"{timing.per_byte:.3f}/B"


def _ratio(kernel: Timing, peer: Timing | None) -> str:
    return f"{peer.per_byte / kernel.per_byte:.2f}" if peer else "–"


def told(speed: Speed) -> dict[str, Any]:
    """Return a measurement's section: machine, lines, best rows, other ways."""
    found = lines(speed)
    return {
        "slug": speed.slug,
        "title": speed.title,
        "machine": speed.machine,
        "method": speed.method,
        "source": speed.source,
        "missing": speed.missing,
        "ours": [line for line in found if line.kind == "kernel"],
        "spread": speed.spread,
        "falls": falls(found) if speed.spread else [],
        "kernels": len(speed.names("kernel")),
        "best": [
            _best_row(speed, level, size)
            for level in speed.levels
            for size in speed.sizes
            if speed.best("kernel", size, level)
        ],
        "sizes": [size_name(size) for size in speed.sizes],
        "others": [
            {
                "title": way.title,
                "size": "IMIX" if size == IMIX_BYTES else size_name(size),
                "kernel": kernel,
                "figure": cycles,
                "peer": peer,
                "ratio": ratio,
                "faster": float(ratio) > 1,
            }
            for way in speed.others
            for size, kernel, cycles, peer, ratio in way.rows
        ],
        "lines": [
            {
                "label": f"{line.label}: {line.names[0]}"
                if line.kind == "kernel" and len(line.names) == 1
                else line.label,
                "figures": [_at(line.timings, size) for size in speed.sizes],
            }
            for line in found
        ],
    }


def _at(timings: tuple[Timing, ...], size: int) -> str:
    return next((f"{t.per_byte:.3f}" for t in timings if t.size == size), "–")


def _best_row(speed: Speed, level: int, size: int) -> dict[str, Any]:
    """Return the best kernel of a level of vector code beside the best peer that is not wider."""
    kernel, peer = speed.best("kernel", size, level), speed.best("peer", size, level)
    return {
        "level": LEVELS[level],
        "size": size_name(size),
        "kernel": _timing(kernel),
        "peer": _timing(peer),
        "ratio": _ratio(kernel, peer) if kernel else "–",
        "faster": bool(kernel and peer and peer.per_byte > kernel.per_byte),
    }


def _timing(timing: Timing | None) -> dict[str, str]:
    if timing is None:
        return {"name": "none", "figure": "–", "spread": "–"}
    known = timing.low is not None and timing.high is not None
    return {
        "name": timing.name,
        "figure": f"{timing.per_byte:.3f}",
        "spread": f"{timing.low:.3f}–{timing.high:.3f}" if known else "–",
    }
