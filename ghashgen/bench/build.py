"""Builds the benchmark program: kernels, portable baselines and the peers found, in one process."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ghashgen import harness
from ghashgen.bench.peers import PEERS
from ghashgen.errors import GhashgenError
from ghashgen.harness import PORTABLE_KERNELS, HarnessKernel
from ghashgen.paths import project_root
from ghashgen.toolchain import Tool, compile_c, find_cc, link

_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIE", "-g0")
_LINK = ("-pie", "-Wl,-z,noexecstack", "-Wl,-z,text", "-Wl,--build-id=none")

_SHARED = ("cpu.c", "json.c", "kernel.c", "kernel_win64.c", "reference.c")
"""What the benchmark takes from the harness, besides the portable kernels."""


@dataclass(frozen=True)
class Program:
    """A linked benchmark, and why a peer is not in it."""

    path: Path
    absent: Mapping[str, str]


def build(kernels: Sequence[HarnessKernel], peers: Sequence[str], out_dir: Path) -> Program:
    """Compile into ``out_dir`` and link with ``kernels`` (System V only) and the named peers.

    Files there are named by a hash of all that they are made from, and used again.

    Raises:
        GhashgenError: a kernel cannot be linked or called, a peer is unknown, or there is no
            compiler. A peer that is not installed is no error, see ``Program.absent``.
    """
    for kernel in kernels:
        harness._validate(kernel)
        if kernel.abi != "sysv":
            raise GhashgenError(
                f"{kernel.name} follows the {kernel.abi} convention, which is not measured",
                "choose --abi sysv",
            )
    names = [*PORTABLE_KERNELS, *(kernel.name for kernel in kernels)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GhashgenError(f"more than one kernel is named {twice[0]}", "names are symbols")
    cc = find_cc()
    out_dir.mkdir(parents=True, exist_ok=True)
    adapters, inputs, absent = _find(cc, peers, out_dir)
    sources = [*_sources(), *adapters, harness._write_table(kernels, out_dir)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        objects = list(pool.map(lambda source: _compiled(cc, source, out_dir), sources))
    linked = [*objects, *(kernel.obj for kernel in kernels), *inputs]
    contents = [harness._read(path) for path in linked]
    program = out_dir / f"bench-{harness._digest([cc.version, *cc.command, *_LINK], contents)}"
    if not program.exists():
        link(cc, linked, program, flags=_LINK)
    return Program(program, absent)


def _find(
    cc: Tool, peers: Sequence[str], out_dir: Path
) -> tuple[list[Path], list[Path], dict[str, str]]:
    """Return adapters and inputs of the peers that are installed, and why others are not."""
    adapters: list[Path] = []
    inputs: list[Path] = []
    absent: dict[str, str] = {}
    for name in peers:
        if name not in PEERS:
            raise GhashgenError(f"no peer is named {name!r}", f"choose from {', '.join(PEERS)}")
        peer = PEERS[name]
        try:
            inputs += peer.inputs(cc, out_dir)
        except GhashgenError as missing:
            absent[name] = str(missing)
        else:
            adapters.append(project_root() / "harness" / "bench" / peer.adapter)
    return adapters, inputs, absent


def _sources() -> list[Path]:
    folder = project_root() / "harness"
    own = [path for path in sorted((folder / "bench").glob("*.c")) if path.stem[:5] != "peer_"]
    return [*own, *(folder / name for name in _SHARED), *sorted(folder.glob("reference_*.c"))]


def _compiled(cc: Tool, source: Path, out_dir: Path) -> Path:
    folder = project_root() / "harness"
    headers = [path.read_bytes() for path in sorted(folder.rglob("*.h"))]
    texts = [cc.version, *cc.command, *_FLAGS, source.name]
    digest = harness._digest(texts, [*headers, source.read_bytes()])
    obj = out_dir / f"{source.parent.name}-{source.stem}-{digest}.o"
    if not obj.exists():
        compile_c(cc, source, obj, flags=_FLAGS, include=(folder,))
    return obj
