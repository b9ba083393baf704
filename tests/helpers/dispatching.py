"""What the tests of the dispatcher share: manifest entries, records, and the built driver."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from msgspec import convert, structs

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.choice.families.hash import USES as VALUES
from ghashgen.kernels import manifest
from ghashgen.kernels.gcm.axes import AXES as GCM_AXES
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.definition import OPS
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.target import target
from ghashgen.output.dispatcher import recorded, render_dispatch
from ghashgen.output.generate import generate
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.records.records import Record
from ghashgen.support import programs
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import assemble, find_cc, link
from helpers.cpus import masked

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
DRIVER = Path(__file__).with_name("dispatch_driver.c")
LOOKS_AT_THE_CPU = ("best", "features", "lengths", "segments", "fills")
"""Questions whose answer depends on it, unless a CPU is planted."""

PLANT = "PLANT"

USES = tuple(use.name for use in VALUES)

SSE = ("pclmulqdq", "sse2", "ssse3")
AVX = ("avx", "pclmulqdq")
AVX2 = ("avx", "avx2", "pclmulqdq", "vpclmulqdq")
AVX512VL = ("avx512bw", "avx512f", "avx512vl", "vpclmulqdq")
AVX512 = (*AVX512VL, "avx512dq")


def entry(
    isa: str,
    needs: Iterable[str],
    multiply: str = "winograd",
    blocks: int = 16,
    suffix: str = "",
    *,
    table: int = 0,
    code: int = 1000,
    **axes: Any,
) -> Entry:
    op = axes.get("op", "ghash")
    name = f"{op}_{isa}_{multiply}_clmul1_x{blocks}{suffix}"
    defaults = {axis.name: axis.default for axis in AXES if axis.default is not None}
    defaults |= {"reduce": "clmul1", "abi": "sysv", "syntax": "nasm"}
    parts = ["init", "mul", "update"]
    parts += ["power", "combine"] if axes.get("segments") else []
    region = {"instructions": 1, "classes": {}, "memory_operands": 0}
    plain = {
        "name": name,
        "axes": {"isa": isa, "multiply": multiply, "blocks": blocks, **defaults, **axes},
        "cpu_features": sorted(needs),
        "symbols": {part: f"{name}_{part}" for part in parts},
        "table": {
            "bytes": table or 48 * blocks,
            "align": 16 if isa == "sse" else 1,
            "best_align": 64 if isa == "avx512" else 16,
            "top_power": blocks,
            "arrays": {},
            "cells": [],
        },
        "code_bytes": {"update": code},
        "counts": {"group": region, "single_block": region, "functions": {}},
        "file": f"{isa}/{name}.asm",
        "sha256": "",
        "object": {"text_sha256": f"code of {name}", "assembler": "nasm"},
        "theorems": [],
        "regenerate": "",
        **{key: {} for key in ("stack_bytes", "spill_slots", "registers", "left")},
    }
    return convert(plain, Entry)


PIECES = ("start", "aad", "encrypt_more", "decrypt_more", "finish", "verify")
"""The functions of AES-GCM that take a message in pieces."""


def gcm_entry(
    isa: str, needs: Iterable[str], key: int = 128, blocks: int = 8, *, table: int = 0, **axes: Any
) -> Entry:
    """An AES-GCM kernel that takes whole messages, unless `messages` is False; with `streams`,
    messages in pieces too."""
    own = {"messages": True, "multiply": "winograd", "reduce": "clmul1", **axes}
    suffix = ("_wipe" if own.get("wipe") else "") + ("" if own["messages"] else "_text")
    suffix += "_streams" if own.get("streams") else ""
    suffix += f"_{own['many']}" if "many" in own else ""
    name = f"gcm{key}_{isa}_winograd_clmul1_x{blocks}{suffix}"
    defaults = {axis.name: axis.default for axis in GCM_AXES if axis.default is not None}
    parts = ["init", "encrypt", "decrypt", *(("seal", "open") if own["messages"] else ())]
    parts += PIECES if own.get("streams") else ()
    parts += ("seal_many", "open_many") if "many" in own else ()
    stated = {"family": "gcm", "key": key, "isa": isa, "blocks": blocks, **defaults, **own}
    return structs.replace(
        entry(isa, {"aesni", *needs}, blocks=blocks, table=table or 48 * blocks + key + 48),
        name=name,
        axes={**stated, "abi": axes.get("abi", "sysv"), "syntax": "nasm"},
        symbols={part: f"{name}_{part}" for part in parts},
        file=f"{isa}/{name}.asm",
        object=manifest.Object(f"code of {name}", "nasm"),
    )


# All five ISAs, with kernels of one ISA that need different features.
SYNTHETIC = (
    entry("sse", SSE, "k", 8),
    entry("sse", SSE),
    entry("avx", AVX, "schoolbook", 1),
    entry("avx", AVX),
    entry("avx", (*AVX, "avx2"), suffix="_wideswap"),
    entry("avx", (*AVX, "bmi2"), blocks=8),
    entry("avx2", AVX2),
    entry("avx2", (*AVX2, "gfni"), suffix="_natural", order="natural"),
    entry("avx512vl", AVX512VL, "k", 48),
    entry("avx512vl", AVX512VL),
    entry("avx512", AVX512, suffix="_wipe", wipe=True),
    entry("avx512", AVX512),
    entry("avx512", (*AVX512, "bmi2"), blocks=32),
    entry("avx512", (*AVX512, "gfni"), suffix="_natural", order="natural"),
    entry("avx", AVX, suffix="_segments", segments=True),
    entry("avx", AVX, op="polyval"),
)

CASCADE_LAKE = "X (cpu family 6, model 85, stepping 7)"
ZEN4 = "Z (cpu family 25, model 17, stepping 1)"
ZEN5 = "Y (cpu family 26, model 2, stepping 1)"
SLUGS = {CASCADE_LAKE: "intel-6-85-7", ZEN4: "amd-25-17-1", ZEN5: "amd-26-2-1"}


def record(
    cpu: str,
    features: Iterable[str],
    cells: Mapping[tuple[str, str, int], float],
    peers: Iterable[str] = (),
    keys: Mapping[str, int] = MappingProxyType({}),
) -> Record:
    """A record with these cycles by name, mode and size."""
    names = dict.fromkeys(name for name, _, _ in cells)
    kinds = {name: "peer" if name in set(peers) else "kernel" for name in names}
    return Record(
        SLUGS[cpu],
        3,
        "",
        Results(
            Machine(cpu, tuple(features), 3.0, ""),
            {name: Subject(name, kind, 64, key=keys.get(name, 0)) for name, kind in kinds.items()},
            tuple(
                Cell(name, size, mode, (Run(cycles, math.nan, math.nan, 0, 0),))
                for (name, mode, size), cycles in cells.items()
            ),
            {},
        ),
    )


@cache
def shipped() -> tuple[Entry, ...]:
    found = manifest.load(project_root() / "generated")
    assert found
    return tuple(found.values())


def signature(family: int, model: int, stepping: int) -> int:
    """EAX of CPUID leaf 1."""
    base, more = min(family, 15), max(family - 15, 0)
    return more << 20 | (model >> 4) << 16 | base << 8 | (model & 15) << 4 | stepping


@dataclass(frozen=True)
class Program:
    """The driver linked with a dispatcher."""

    path: Path
    object: Path

    def run(
        self, *question: str, data: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Ask; `variables` are added to the environment, and FEATURES_OFF to the test's mask."""
        if question[0] in LOOKS_AT_THE_CPU and PLANT not in variables:
            variables[FEATURES_OFF] = masked(variables.get(FEATURES_OFF, ""))
        kept = {name: value for name, value in os.environ.items() if "GHASHGEN_" not in name}
        return subprocess.run(
            [self.path, *question],
            input=data,
            env={**kept, **variables},
            capture_output=True,
            check=False,
            timeout=120,
        )

    def ask(self, *question: str, data: str = "", **variables: str) -> list[str]:
        answer = self.run(*question, data=data.encode(), **variables)
        assert answer.returncode == 0, (question, answer)
        return answer.stdout.decode().splitlines()

    def one(self, *question: str, data: str = "", **variables: str) -> str:
        (line,) = self.ask(*question, data=data, **variables)
        return line

    def bits(self) -> dict[str, int]:
        return {name: int(bit, 16) for name, bit in (line.split() for line in self.ask("bits"))}

    def mask(self, features: Iterable[str]) -> int:
        bits = self.bits()
        return sum(bits[name] for name in features)

    def decode(self, registers: Sequence[int]) -> set[str]:
        return set(self.one("decode", data=" ".join(f"{word:x}" for word in registers)).split())

    def host(self, vendor: str, family: int, model: int, stepping: int) -> int:
        line = f"{vendor} {signature(family, model, stepping):x}"
        return int(self.one("host", data=line.replace("  ", " ")))

    def features(self) -> frozenset[str]:
        return frozenset(self.one("features").split())

    def choices(self) -> list[Choice]:
        """The table as the compiler sees it."""
        rows = [line.split() for line in self.ask("choices")]
        return [
            Choice(OPS[int(op)], USES[int(use)], int(hosts, 16), int(needs, 16), tuple(names))
            for op, use, hosts, needs, *names in rows
        ]

    def found(self, cpus: Sequence[tuple[int, int]]) -> list[dict[tuple[str, str], int]]:
        """The place of each CPU's choice in the table, by operation and use; -1 is none."""
        lines = self.ask("found", data="\n".join(f"{host:x} {bits:x}" for host, bits in cpus))
        keys = [(op, use) for op in OPS for use in USES]
        return [dict(zip(keys, map(int, line.split()), strict=True)) for line in lines]


@dataclass(frozen=True)
class Choice:
    """A row of the table in C; kernels class by class."""

    op: str
    use: str
    hosts: int
    needs: int
    kernels: tuple[str, ...]


@cache
def _stubs(symbols: tuple[str, ...]) -> bytes:
    """The object of functions that do nothing, with which many dispatchers are linked."""
    lines = [f"void {symbol}(void);\nvoid {symbol}(void) {{}}\n" for symbol in symbols]
    with tempfile.TemporaryDirectory() as name:
        source, obj = Path(name) / "stubs.c", Path(name) / "stubs.o"
        source.write_text("".join(lines) or "typedef int nothing;\n")
        programs.compile_c(find_cc(), source, obj, flags=FLAGS)
        return obj.read_bytes()


@cache
def of_shipped() -> Mapping[str, str]:
    """The dispatcher of the checked-in kernels, by the records."""
    return MappingProxyType(render_dispatch(shipped(), records=recorded()))


def build(
    files: Mapping[str, str],
    folder: Path,
    defines: Sequence[str] = (),
    objects: Sequence[Path] | None = None,
    symbols: Iterable[str] = (),
    flags: Sequence[str] = (),
) -> Program:
    """Link the driver with these objects, or with functions that do nothing for these symbols."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the dispatcher lists no kernel on this machine, which is not x86-64")
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    cc = find_cc()
    flags = [*FLAGS, *(f"-D{define}" for define in defines), *flags]
    alone = folder / "ghashgen_dispatch.o"
    programs.compile_c(cc, folder / "ghashgen_dispatch.c", alone, flags=flags)
    driver, stubs = folder / "driver.o", folder / "stubs.o"
    programs.compile_c(cc, DRIVER, driver, flags=flags, include=(folder,))
    if objects is None:
        stubs.write_bytes(_stubs(tuple(symbols)))
        objects = (stubs,)
    link(cc, [driver, *objects], folder / "driver")
    return Program(folder / "driver", alone)


def build_stubbed(
    entries: Sequence[Entry], folder: Path, *defines: str, records: Sequence[Record] = ()
) -> Program:
    files = render_dispatch(entries, records=records)
    return build(files, folder, defines, symbols=symbols_of(entries))


def with_polyval_segments(folder: Path) -> tuple[tuple[Entry, ...], list[Path]]:
    """The checked-in kernels and, made here, POLYVAL's with segments; and where the files lie."""
    kernels = [
        Kernel(isa, "winograd", "clmul1", 8, op="polyval", segments=True) for isa in ("sse", "avx")
    ]
    generate(kernels, target(), folder)
    return (*shipped(), *manifest.load(folder).values()), [project_root() / "generated", folder]


def build_real(folder: Path) -> Program:
    """The kernels that the dispatcher by the records calls, assembled and linked."""
    entries, places = with_polyval_segments(folder / "made")
    files = render_dispatch(entries, records=recorded())
    objects = []
    (folder / "objects").mkdir(parents=True)
    for item in entries:
        if f"{item.symbols['init']}(" in files["ghashgen_dispatch.c"]:
            source = next(p for place in places if (p := place / item.file).exists())
            objects.append(folder / "objects" / f"{item.name}.o")
            assemble(find_nasm(), source, objects[-1])
    return build(files, folder / "linked", objects=objects)


def symbols_of(entries: Iterable[Entry]) -> list[str]:
    return [symbol for item in entries for symbol in item.symbols.values()]


def undefined(obj: Path) -> set[str]:
    """The symbols that an object leaves to others."""
    with obj.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {s.name for s in table.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name}
