"""Results as JSON and CSV."""

import csv
import io
from dataclasses import asdict
from typing import Any

from ghashgen.records.core import Cell, Results, ratio

COLUMNS = (
    *("name", "kind", "key", "mode", "size", "cycles", "cycles_per_byte", "low", "high", "runs"),
    *("kept", "dropped", "best_peer", "peer_ratio", "digest", "needs"),
)
"""Columns of a row; low and high are quartiles in core cycles, peer_ratio is best peer / this."""


def _row(results: Results, cell: Cell) -> dict[str, Any]:
    subject = results.subjects[cell.name]
    peers = results.of_kind(("peer",), cell.size, cell.mode, subject.key)
    peer = peers[0] if peers else None
    times = ratio(cell, peer)
    low, high = cell.spread
    return {
        "name": cell.name,
        "kind": subject.kind,
        "key": subject.key,
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
        "needs": " ".join(subject.needs),
    }


def as_rows(results: Results) -> list[dict[str, Any]]:
    """Return one flat row for each cell, in the order measured."""
    return [_row(results, cell) for cell in results.cells]


def as_plain(results: Results) -> dict[str, Any]:
    """Return machine, cells and what was not measured, as JSON values."""
    return {
        "machine": asdict(results.machine),
        "missing": dict(results.missing),
        "cells": as_rows(results),
    }


def as_csv(results: Results) -> str:
    """Return the rows as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_rows(results))
    return out.getvalue()
