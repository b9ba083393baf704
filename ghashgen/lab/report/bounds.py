"""What assembled objects say: hashes to compare with proofs and timings, and port bounds."""

from collections.abc import Callable, Mapping, Sequence

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.cost.audit import loop
from ghashgen.cost.bound import port_bound, spread
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import family_of
from ghashgen.lab.report.data import Examined, PortBound
from ghashgen.output.artefact import sha256
from ghashgen.run.built import Built
from ghashgen.support.parallel import run
from ghashgen.verify.prove import code_sha256
from ghashgen.verify.x86_64.elf import load_image


def levelled(demand: Mapping[tuple[str, ...], int]) -> dict[str, float]:
    """Return each port's time, given uops by the ports that may take them, spread evenly.

    The tightest set of ports takes the uops that fit nowhere else, evenly; the others are spread
    over what is left, and so on: of all ways to spread them, the one whose times, sorted from the
    longest, are the least. Ports that no uop may use are absent.
    """
    out: dict[str, float] = {}
    left = {frozenset(ports): count for ports, count in demand.items()}
    while left:
        cycles, tight = spread(left)
        out |= dict.fromkeys(tight, cycles)
        rest: dict[frozenset[str], int] = {}
        for ports, count in left.items():
            if others := ports - set(tight):
                rest[others] = rest.get(others, 0) + count
        left = rest
    return out


def _examine(built: Built[Point]) -> Examined:
    data = built.obj.read_bytes()
    body = loop(read_object(data), f"{built.kernel.name}_{family_of(built.kernel).loop}")
    blocks = built.kernel.blocks
    bounds: dict[str, PortBound] = {}
    lacks: dict[str, tuple[str, ...]] = {}
    for uarch in uarches().values():
        # A bound that leaves out what the CPU cannot run says nothing.
        if missing := uarch.lacks(body):
            lacks[uarch.name] = missing
            continue
        bound = port_bound(body, uarch)
        by_ports = bound.ports >= bound.front_end
        bounds[uarch.name] = PortBound(
            per_block=bound.cycles / blocks,
            limit=" ".join(bound.busiest) if by_ports else "front end",
            load={port: time / blocks for port, time in sorted(levelled(bound.demand).items())},
            front_end=bound.front_end / blocks,
            no_data=bound.no_data,
        )
    return Examined(sha256(read_object(data).code), code_sha256(load_image(data)), bounds, lacks)


def examine(
    kernels: Sequence[Built[Point]], on_done: Callable[[Built[Point]], None] = lambda built: None
) -> dict[str, Examined]:
    """Return what each object says, by kernel."""
    found = run(_examine, kernels, on_done)
    return {built.kernel.name: item for built, item in zip(kernels, found, strict=True)}
