"""What assembled objects tell: hashes to compare with proofs and timings, and port bounds."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import msgspec

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarches
from ghashgen.check.verdicts import versions
from ghashgen.cost.audit import loop
from ghashgen.cost.bound import Bound, histogram_bound, spread
from ghashgen.cost.histogram import histogram
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import loop_of
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.target import Target
from ghashgen.lab.report.data import Examined, PortBound
from ghashgen.output.artefact import sha256
from ghashgen.run.built import assembling
from ghashgen.support.files import write_whole
from ghashgen.support.parallel import run
from ghashgen.support.sealed import kept
from ghashgen.verify.prove import code_sha256
from ghashgen.verify.x86_64.elf import load_image

PACKAGE = Path(__file__).parents[2]


def levelled(demand: Mapping[tuple[str, ...], int]) -> dict[str, float]:
    """Return each port's time when uops are spread evenly over the ports that may take them.

    The tightest set of ports takes the uops that fit nowhere else, evenly; the others are spread
    over the remaining ports, and so on. Among all spreads, this one has the least times, compared
    from the longest down. Ports that no uop may use are absent.
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


def _bound(found: Bound, blocks: int) -> PortBound:
    by_ports = found.ports >= found.front_end
    return PortBound(
        per_block=found.cycles / blocks,
        limit=" ".join(found.busiest) if by_ports else "front end",
        load={port: time / blocks for port, time in sorted(levelled(found.demand).items())},
        front_end=found.front_end / blocks,
        no_data=found.no_data,
    )


def _said(data: bytes, kernel: Point) -> Examined:
    """Return what an object tells about a kernel."""
    obj = read_object(data)
    body = loop(obj, f"{kernel.name}_{loop_of(kernel)}")
    counted = histogram(kernel.instruction_set.arch.decoder, body)
    bounds: dict[str, PortBound] = {}
    lacks: dict[str, tuple[str, ...]] = {}
    for uarch in uarches().values():
        # A bound that leaves out instructions the CPU cannot run would mean nothing.
        if missing := uarch.lacks(body):
            lacks[uarch.name] = missing
            continue
        bounds[uarch.name] = _bound(histogram_bound(counted, uarch), kernel.blocks)
    return Examined(sha256(obj.code), code_sha256(load_image(data)), bounds, lacks)


def _examine(
    assembled: Callable[[tuple[Point, Entry]], Path], about: str, item: tuple[Point, Entry]
) -> Examined:
    """Return what a kernel's object tells, cached by the object and the program."""
    kernel, _ = item
    obj = assembled(item)
    data = obj.read_bytes()
    path = obj.with_suffix(".examined.json")

    def fill() -> None:
        write_whole(path, msgspec.json.encode(_said(data, kernel)))

    made_from = f"examined {kernel.name}, {sha256(data)}, by {about}"
    return msgspec.json.decode(kept(path, made_from, fill).read_bytes(), type=Examined)


@cache
def foundation() -> str:
    """Return a hash of what this answer depends on besides the object: this whole package."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{digest.hexdigest()}, {versions()}"


def examine(
    kernels: Sequence[tuple[Point, Entry]],
    target: Target,
    folder: Path,
    objects: Path,
    on_done: Callable[[object], None] = lambda item: None,
) -> dict[str, Examined]:
    """Assemble kernels of a folder, and return what each object tells, by kernel.

    Raises:
        GhashgenError: as `run.built.build`.
    """
    work = partial(_examine, assembling(target, folder, objects), foundation())
    found = run(work, kernels, on_done)
    return {kernel.name: item for (kernel, _), item in zip(kernels, found, strict=True)}
