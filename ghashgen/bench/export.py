"""Results as JSON and CSV."""

import csv
import io
from dataclasses import asdict
from typing import Any

from ghashgen.bench.core import Cell, Results, ratio
from ghashgen.bench.peers import INSTALL
from ghashgen.errors import GhashgenError

COLUMNS = (
    *("name", "kind", "mode", "size", "cycles", "cycles_per_byte", "low", "high", "runs"),
    *("kept", "dropped", "best_peer", "peer_ratio", "digest"),
)
"""Of a row; low and high are quartiles in core cycles, peer_ratio is best peer / this."""


def _row(results: Results, cell: Cell) -> dict[str, Any]:
    peers = results.of_kind(("peer",), cell.size, cell.mode)
    peer = peers[0] if peers else None
    times = ratio(cell, peer)
    low, high = cell.spread
    subject = results.subjects[cell.name]
    return {
        "name": cell.name,
        "kind": subject.kind,
        "mode": cell.mode,
        "size": cell.size,
        "cycles": round(cell.cycles, 3),
        "cycles_per_byte": round(cell.per_byte, 5) if cell.size else None,
        "low": round(low, 3),
        "high": round(high, 3),
        "runs": len(cell.runs),
        "kept": sum(run.kept for run in cell.runs),
        "dropped": sum(run.dropped for run in cell.runs),
        "best_peer": peer.name if peer else None,
        "peer_ratio": None if times is None else round(times, 4),
        "digest": subject.digest,
    }


def as_rows(results: Results) -> list[dict[str, Any]]:
    """Return one flat row for each cell, in the order measured."""
    return [_row(results, cell) for cell in results.cells]


def as_plain(results: Results) -> dict[str, Any]:
    """Return machine, cells and what was not measured, as JSON has it."""
    return {
        "machine": asdict(results.machine),
        "missing": dict(results.missing),
        "cells": as_rows(results),
    }


def as_record(results: Results) -> dict[str, Any]:
    """Return what README's tables are made of.

    Size by size the best kernel against the best peer, for back-to-back and for chained calls; and
    the key set-up of every subject that stands there.

    Raises:
        GhashgenError: no peer was measured, so there is nothing to compare with.
    """
    rows, latency = _best(results, "throughput"), _best(results, "latency")
    if not rows:
        raise GhashgenError("no kernel was measured beside a peer", INSTALL)
    runs = max(len(cell.runs) for cell in results.cells)
    method = (
        "back-to-back calls, the best kernel beside the best peer, in turns in one process on one "
        f"core, median of {runs} runs' medians"
    )
    named = {row[part]: None for row in [*rows, *latency] for part in ("kernel", "peer")}
    setups = [
        {
            "name": name,
            "table_bytes": results.subjects[name].table_bytes,
            "cycles": round(cell.cycles, 1),
        }
        for name in sorted(named, key=lambda name: (results.subjects[name].kind, name))
        if (cell := results.cell(name, 0, "init")) is not None
    ]
    return {
        "machine": results.machine.cpu,
        "method": method,
        "rows": rows,
        "latency": latency,
        "init": setups,
    }


def _best(results: Results, mode: str) -> list[dict[str, Any]]:
    rows = []
    for size in [size for found, size in results.rows() if found == mode]:
        kernels = results.of_kind(("kernel",), size, mode)
        peers = results.of_kind(("peer",), size, mode)
        times = ratio(kernels[0], peers[0]) if kernels and peers else None
        if times is not None:
            low, high = kernels[0].spread
            rows.append(
                {
                    "size": size,
                    "kernel": kernels[0].name,
                    "cycles_per_byte": round(kernels[0].per_byte, 4),
                    "spread": round((high - low) / kernels[0].cycles, 4),
                    "peer": peers[0].name,
                    "ratio": round(times, 3),
                }
            )
    return rows


def as_csv(results: Results) -> str:
    """Return the rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_rows(results))
    return out.getvalue()
