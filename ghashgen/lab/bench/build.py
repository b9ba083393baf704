"""Builds the benchmark program: kernels, portable baselines and the peers found, in one process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghashgen.lab.bench.objects import PeerObject, isolated, write_objects
from ghashgen.lab.bench.peers import PEERS, Peer
from ghashgen.run.machine import Machine, machine_for
from ghashgen.run.table import HarnessKernel, check_linkable, write_table
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.programs import program
from ghashgen.support.toolchain import Tool

_SHARED = ("cpu.c", "guard.c", "json.c", "kernel.c", "kernel_win64.c", "reference.c")
"""Harness sources of the benchmark, besides the portable kernels and the architecture's feature
detection.
"""


@dataclass(frozen=True)
class Program:
    """A linked benchmark, and why some peers are not in it."""

    path: Path
    absent: Mapping[str, str]


def build(
    kernels: Sequence[HarnessKernel],
    peers: Sequence[str],
    out_dir: Path,
    given: Sequence[PeerObject] = (),
    known: Mapping[str, Peer] = PEERS,
) -> Program:
    """Compile into ``out_dir`` and link with ``kernels`` (System V only), named and given peers.

    The names must be in ``known``. Files are named by a hash of everything that they are made from,
    and reused.

    Raises:
        GhashgenError: a kernel cannot be linked or called, a peer is unknown, or there is no
            compiler. A peer that is not installed is not an error; see ``Program.absent``.
    """
    machine = machine_for()
    check_linkable(kernels, machine)
    for kernel in kernels:
        if kernel.abi != "sysv":
            raise GhashgenError(
                f"{kernel.name} follows the {kernel.abi} convention, which is not measured",
                "choose --abi sysv",
            )
    cc = machine.cc
    adapters, inputs, absent = _find(cc, peers, known, out_dir)
    if given:
        adapters.append(write_objects(given, out_dir))
        inputs += [isolated(cc, peer, out_dir) for peer in given]
    sources = [*_sources(machine), *adapters, write_table(kernels, out_dir)]
    objects = [*(kernel.obj for kernel in kernels), *inputs]
    made = program(cc, "bench", sources, objects, out_dir, made_headers=machine.headers)
    return Program(made, absent)


def _find(
    cc: Tool, peers: Sequence[str], known: Mapping[str, Peer], out_dir: Path
) -> tuple[list[Path], list[Path], dict[str, str]]:
    """Return adapters and inputs of the installed peers, and why others are missing."""
    adapters: list[Path] = []
    inputs: list[Path] = []
    absent: dict[str, str] = {}
    for name in peers:
        if name not in known:
            raise GhashgenError(f"no peer is named {name!r}", f"choose from {', '.join(known)}")
        peer = known[name]
        try:
            inputs += peer.inputs(cc, out_dir)
        except GhashgenError as missing:
            absent[name] = str(missing)
        else:
            adapters.append(project_root() / "harness" / "bench" / peer.adapter)
    return adapters, inputs, absent


def _sources(machine: Machine) -> list[Path]:
    folder = project_root() / "harness"
    own = [path for path in sorted((folder / "bench").glob("*.c")) if path.stem[:5] != "peer_"]
    shared = [*(folder / name for name in _SHARED), folder / machine.name / "cpu.c"]
    return [*own, *shared, *sorted(folder.glob("reference_*.c"))]
