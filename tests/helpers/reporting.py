"""A small folder of kernels, its proofs and a measurement, for the tests of the report."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ghashgen.check.ledger import dump
from ghashgen.check.verdicts import Verdict
from ghashgen.lab.report.data import Report
from ghashgen.lab.report.gather import Sources, gather
from ghashgen.lab.store import open_store
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.support.paths import project_root

NAMES = (
    "ghash_avx2_k_clmul1_x16", "ghash_avx512_winograd_clmul1_x16", "ghash_avx_k_clmul1_x8",
    "ghash_avx_winograd_clmul1_x16", "ghash_avx_winograd_clmul1_x16_wipe",
    "ghash_sse_winograd_clmul1_x4", "paper_baseline", "polyval_avx_k_clmul1_x8",
)  # fmt: skip
UNPROVED, STALE = "paper_baseline", "polyval_avx_k_clmul1_x8"
SIZES = (16, 64, 256, 1024, 16384)
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Folder:
    """Where the sources of a report lie."""

    root: Path
    kernels: Path
    objects: Path
    bench: Path

    def sources(self, *bench: Path | None) -> Sources:
        found = tuple(path for path in bench if path is not None)
        return Sources(self.root, self.kernels, self.objects, found)


def entries(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
    return body


def make_folder(root: Path, proofs: bool = True, names: tuple[str, ...] = NAMES) -> Folder:
    """Copy the kernels of NAMES, with verdicts on their bytes but for UNPROVED and STALE."""
    origin, kernels = project_root() / "generated", root / "kernels"
    body = entries(origin)
    body["kernels"] = [entry for entry in body["kernels"] if entry["name"] in names]
    for entry in body["kernels"]:
        path = kernels / entry["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(origin / entry["file"], path)
    (kernels / "MANIFEST.json").write_text(json.dumps(body), encoding="utf-8")
    made = Folder(root, kernels, root / "obj", root / "bench.sqlite")
    if proofs:
        write_proofs(made)
    return made


def write_proofs(folder: Folder) -> None:
    report = gather(folder.sources(None))
    hashes = {v.name: v.examined.image_sha256 for v in report.variants if v.examined}
    origin = project_root() / "generated" / "PROOFS.json"
    verdicts = [
        {**verdict, "code_sha256": hashes.get(verdict["kernel"])}
        for verdict in json.loads(origin.read_text(encoding="utf-8"))["proofs"]
        if verdict["kernel"] in NAMES and verdict["kernel"] != UNPROVED
    ]
    for verdict in verdicts:
        if verdict["kernel"] == STALE:
            verdict["code_sha256"] = "0" * 64
    text = dump(msgspec.convert(verdicts, list[Verdict]))
    (folder.kernels / "PROOFS.json").write_text(text, encoding="utf-8")


def results(report: Report | None = None) -> Results:
    """A measurement of two kernels and two peers; kernels have the digests of `report`."""
    variants = report.variants if report else ()
    digests = {v.name: v.examined.text_sha256 for v in variants if v.examined}
    rates = {
        "ghash_avx_winograd_clmul1_x16": ("kernel", 0.25),
        "ghash_sse_winograd_clmul1_x4": ("kernel", 0.5),
        "openssl_avx": ("peer", 0.375),
        "ipsecmb_avx_safe": ("peer", 0.4375),
    }
    cells = [
        Cell(name, size, "throughput", (_run(rate, size), _run(rate * 1.25, size)))
        for name, (_, rate) in rates.items()
        for size in SIZES
    ]
    cells.append(Cell("openssl_avx", 64, "latency", (_run(1, 64),)))
    subjects = {
        name: Subject(name, kind, 256, digests.get(name, ""), ("avx",) if "avx" in name else ())
        for name, (kind, _) in rates.items()
    }
    machine = Machine("a core", ("avx", "pclmulqdq"), 2.5, "abc")
    return Results(machine, subjects, tuple(cells), {"pyca_gmac": "not here"})


def keep(measured: Results, path: Path) -> None:
    """Add a measurement to a store."""
    with open_store(path) as store:
        store.add(measured)


def _run(rate: float, size: int) -> Run:
    cycles = rate * (size + 32)
    return Run(cycles, cycles * 0.875, cycles * 1.125, 11, 0)


def chromium() -> str | None:
    """A Chromium of this machine."""
    named = os.environ.get("GHASHGEN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, CHROMIUMS)), None)
