"""The stored measurement, docs/bench.json, and the tables that README shows of it.

A ratio is the peer's time over the kernel's, both measured in turns in one process.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghashgen.errors import GhashgenError


@dataclass(frozen=True)
class Timing:
    """One row of the stored measurement, back-to-back calls; size in bytes."""

    size: int
    kernel: str
    cycles_per_byte: float
    peer: str
    ratio: float
    spread: float | None
    """The kernel's quartiles apart, over its median; None where none was stored."""
    chained: float | None
    """The ratio of the best kernel and the best peer where each call waits for the one before."""


@dataclass(frozen=True)
class Setup:
    """Key set-up of a kernel or a peer, in core cycles a call."""

    name: str
    table_bytes: int
    cycles: float


@dataclass(frozen=True)
class Speed:
    """The stored measurement."""

    machine: str
    method: str
    rows: tuple[Timing, ...]
    setups: tuple[Setup, ...]


def stored_speed(path: Path) -> Speed | None:
    """Return the stored measurement of a file; None if there is no such file.

    Raises:
        GhashgenError: it is malformed.
    """
    if not path.exists():
        return None
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        stored = body["rows"]
        chained = {int(row["size"]): float(row["ratio"]) for row in body.get("latency", ())}
        rows = tuple(
            Timing(
                int(row["size"]),
                str(row["kernel"]),
                float(row["cycles_per_byte"]),
                str(row["peer"]),
                float(row["ratio"]),
                float(row["spread"]) if "spread" in row else None,
                chained.get(int(row["size"])),
            )
            for row in stored
        )
        setups = tuple(
            Setup(str(row["name"]), int(row["table_bytes"]), float(row["cycles"]))
            for row in body.get("init", ())
        )
        return Speed(str(body["machine"]), str(body["method"]), rows, setups)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GhashgenError(
            f"{path} is not a stored measurement: {type(error).__name__} {error}",
            "measure again, or delete it",
        ) from None


TIMING_COLUMNS = (
    *("kernel", "peer", "bytes", "core cycles per byte", "quartiles apart"),
    *("peer's time by the kernel's", "calls chained"),
)
SETUP_COLUMNS = ("key set-up", "table bytes", "core cycles")


def timing_rows(speed: Speed) -> list[tuple[str, ...]]:
    """Return README's rows of the measurement."""
    return [
        (
            row.kernel,
            row.peer,
            str(row.size),
            f"{row.cycles_per_byte:.3f}",
            "" if row.spread is None else f"{100 * row.spread:.1f}%",
            f"{row.ratio:.2f}",
            "" if row.chained is None else f"{row.chained:.2f}",
        )
        for row in speed.rows
    ]


def setup_rows(speed: Speed) -> list[tuple[str, ...]]:
    """Return README's rows of the key set-ups."""
    return [(row.name, str(row.table_bytes), f"{row.cycles:.0f}") for row in speed.setups]
