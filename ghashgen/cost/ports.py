"""Port pressure of a kernel's group loop, also on other CPUs: two models, no measurement.

One model is the table of `arch/x86_64/uarch/`, with its bound and a simple core's estimate of the
order (`cost.simulate`). The other is llvm-mca, if installed. Both are shown, because neither is the
machine. llvm-mca accepts instructions that the CPU lacks, so these are looked up and reported.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from iced_x86 import Formatter, FormatterSyntax, Instruction

from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.cost.bound import Bound, port_bound
from ghashgen.cost.critical import CriticalPath, critical_path
from ghashgen.cost.decoded import work_of
from ghashgen.cost.simulate import Estimate, estimate
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, find_llvm_mca, run_llvm_mca

BATCH = 24
"""Loops in one run of llvm-mca."""


@dataclass(frozen=True)
class Loop:
    """A loop body, including its branch."""

    name: str
    blocks: int
    """16-byte blocks that one pass takes."""
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Model:
    """llvm-mca's figures for one pass of a loop, in cycles."""

    reciprocal_throughput: float
    busiest: str
    """The resource with the most pressure, by LLVM's name."""
    pressure: float


@dataclass(frozen=True)
class Pressure:
    """One loop on one microarchitecture."""

    loop: str
    blocks: int
    uarch: str
    lacks: tuple[str, ...]
    """CPUID features that the loop needs and the CPU lacks."""
    bound: Bound
    estimate: Estimate | None
    """The estimate of this project's model of a core; None if the CPU lacks an instruction."""
    path: CriticalPath
    model: Model | None
    no_model: str
    """Why there is no `model`, or ""."""

    @property
    def limits(self) -> Mapping[str, float]:
        """The least cycles of one pass, by what sets the bound."""
        return {
            "ports": self.bound.ports,
            "front end": self.bound.front_end,
            "chain": self.path.carried,
        }

    @property
    def binds(self) -> str:
        """What sets the largest bound; the first of equal ones."""
        return max(self.limits, key=self.limits.__getitem__)

    @property
    def over(self) -> float | None:
        """How far the order is above the bound, as a fraction; None if nothing was simulated."""
        if self.estimate is None:
            return None
        return self.estimate.windowed / self.limits[self.binds] - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know before using the figures."""
        out = []
        if self.lacks:
            accepts = "model accepts, " if self.model else ""
            out.append(f"{accepts}CPU lacks {', '.join(self.lacks)}")
        if self.bound.no_data:
            out.append(f"table has no data: {'; '.join(self.bound.no_data)}")
        if self.no_model:
            out.append(f"llvm-mca: no data ({self.no_model})")
        out.extend(f"doubt: {doubt}" for doubt in self.bound.doubts)
        return tuple(out)

    def as_json(self) -> dict[str, Any]:
        """Return the figures, in cycles per group and per 16-byte block."""
        bound, model = self.bound, self.model
        return {
            "uarch": self.uarch,
            "cpu_lacks": list(self.lacks),
            "table": {"no_data": list(bound.no_data), "doubts": list(bound.doubts)}
            if self.lacks
            else {
                "cycles_per_group": round(bound.cycles, 4),
                "cycles_per_block": round(bound.cycles / self.blocks, 4),
                "ports_per_group": round(bound.ports, 4),
                "busiest_ports": list(bound.busiest),
                "front_end_per_group": round(bound.front_end, 4),
                "uops_per_group": {" ".join(ports): n for ports, n in bound.demand.items()},
                "no_data": list(bound.no_data),
                "doubts": list(bound.doubts),
            },
            "simulated": None
            if self.estimate is None
            else {
                "cycles_per_group": round(self.estimate.windowed, 4),
                "in_order_per_group": round(self.estimate.in_order, 4),
                "binds": self.binds,
                "over_the_bound": round(self.over or 0, 4),
            },
            "critical_path": None
            if self.lacks
            else {
                "from_group_to_group": round(self.path.carried, 4),
                "through_a_group": self.path.through,
            },
            "llvm_mca": {
                "cycles_per_group": model.reciprocal_throughput,
                "cycles_per_block": round(model.reciprocal_throughput / self.blocks, 4),
                "busiest_port": model.busiest,
                "pressure_per_group": model.pressure,
                "pressure_per_block": round(model.pressure / self.blocks, 4),
            }
            if model
            else {"no_data": self.no_model},
        }


@dataclass(frozen=True)
class PortAudit:
    """Every loop on every microarchitecture."""

    llvm_mca: str
    """The version of llvm-mca; empty if it is missing."""
    missing: str
    """Why llvm-mca is missing, with the remedy."""
    pressures: Mapping[str, tuple[Pressure, ...]]
    """By loop."""


def assembly(loops: Sequence[Loop]) -> str:
    """Return loops as AT&T assembly, each a named region of llvm-mca."""
    formatter = Formatter(FormatterSyntax.GAS)
    # Names such as vpclmullqhqdq are the formatter's own; LLVM does not know all of them.
    formatter.use_pseudo_ops = False
    lines = []
    for loop in loops:
        lines.append(f"# LLVM-MCA-BEGIN {loop.name}")
        lines += [formatter.format(instruction) for instruction in loop.instructions]
        lines.append(f"# LLVM-MCA-END {loop.name}")
    return "\n".join((*lines, ""))


def _resource(name: str) -> str:
    """Return a resource's name; LLVM numbers units of one kind with a control character."""
    return "".join(c if c.isprintable() else str(ord(c)) for c in name)


def parse(text: str) -> tuple[tuple[str, ...], dict[str, Model]]:
    """Return (resource names, models by region) from llvm-mca's JSON.

    Raises:
        GhashgenError: the JSON lacks what every release from 14 on has.
    """
    try:
        data = json.loads(text)
        names = tuple(_resource(name) for name in data["TargetInfo"]["Resources"])
        return names, {region["Name"]: _model(region, names) for region in data["CodeRegions"]}
    except (ValueError, KeyError, TypeError, IndexError):
        raise GhashgenError(
            "llvm-mca's answer has an unknown form", "install LLVM 14 or later"
        ) from None


def _model(region: Mapping[str, Any], names: Sequence[str]) -> Model:
    # Index of the total: one past the last instruction.
    total = len(region["Instructions"])
    usage = [
        (entry["ResourceUsage"], names[entry["ResourceIndex"]])
        for entry in region["ResourcePressureView"]["ResourcePressureInfo"]
        if entry["InstructionIndex"] == total
    ]
    pressure, busiest = min(usage, key=lambda item: (-item[0], item[1]), default=(0.0, ""))
    throughput = float(region["SummaryView"]["BlockRThroughput"])
    return Model(throughput, busiest, round(float(pressure), 2))


def _models(
    mca: Tool, loops: Sequence[Loop], uarch: Uarch
) -> tuple[dict[str, Model], dict[str, str]]:
    """Return (models, reasons for none) by loop; a refused loop does not affect the others."""
    text, refused = run_llvm_mca(mca, uarch.llvm, assembly(loops))
    if refused and len(loops) > 1 and uarch.llvm not in refused:
        models: dict[str, Model] = {}
        reasons: dict[str, str] = {}
        for loop in loops:
            one, why = _models(mca, (loop,), uarch)
            models |= one
            reasons |= why
        return models, reasons
    if not refused:
        names, models = parse(text)
        if any(name.startswith(uarch.llvm_resources) for name in names):
            return models, {}
        refused = f"LLVM {mca.version} lends it another CPU's model, {names[0]}…"
    return {}, {loop.name: refused for loop in loops}


def port_audit(
    loops: Sequence[Loop], on_done: Callable[[str], None] = lambda loop: None
) -> PortAudit:
    """Examine loops on every microarchitecture with a table.

    The result says if llvm-mca is missing; the table's bound does not need it. `on_done` is called
    with a loop's name once for each microarchitecture.
    """
    mca, missing = None, ""
    try:
        mca = find_llvm_mca()
    except GhashgenError as refusal:
        missing = str(refusal)
    pressures: dict[str, list[Pressure]] = {loop.name: [] for loop in loops}
    batches = [loops[at : at + BATCH] for at in range(0, len(loops), BATCH)]
    for uarch, batch in product(uarches().values(), batches):
        models, reasons = _models(mca, batch, uarch) if mca else ({}, {})
        for loop in batch:
            lacks = uarch.lacks(loop.instructions)
            work = work_of(loop.instructions, uarch)
            pressures[loop.name].append(
                Pressure(
                    loop=loop.name,
                    blocks=loop.blocks,
                    uarch=uarch.name,
                    lacks=lacks,
                    bound=port_bound(loop.instructions, uarch),
                    estimate=None if lacks else estimate(work, uarch, True),
                    path=critical_path(work),
                    model=models.get(loop.name),
                    no_model=reasons.get(loop.name, "" if mca else "not found"),
                )
            )
            on_done(loop.name)
    return PortAudit(
        llvm_mca=mca.version if mca else "",
        missing=missing,
        pressures={name: tuple(items) for name, items in pressures.items()},
    )
