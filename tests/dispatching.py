"""What the tests of the dispatcher share: manifest entries, and the driver built with them."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cpus import masked
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ghashgen import manifest
from ghashgen.dispatch import ranked, render_dispatch
from ghashgen.harness import FEATURES_OFF
from ghashgen.paths import project_root
from ghashgen.toolchain import compile_c, find_cc, link

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
DRIVER = Path(__file__).with_name("dispatch_driver.c")
LOOKS_AT_THE_CPU = ("best", "features", "ghash")
"""Questions whose answer depends on it."""

Entry = dict[str, Any]

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
    **axes: Any,
) -> Entry:
    name = f"ghash_{isa}_{multiply}_clmul1_x{blocks}{suffix}"
    defaults = {"reduce": "clmul1", "order": "reflected", "wipe": False, "abi": "sysv"}
    return {
        "name": name,
        "axes": {"isa": isa, "multiply": multiply, "blocks": blocks, **defaults, **axes},
        "cpu_features": sorted(needs),
        "symbols": {part: f"{name}_{part}" for part in ("init", "mul", "update")},
        "table": {
            "bytes": 48 * blocks,
            "align": 16 if isa == "sse" else 1,
            "best_align": 64 if isa == "avx512" else 16,
        },
    }


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
)


def shipped() -> tuple[Entry, ...]:
    found = manifest.load(project_root() / "generated")
    assert found
    return ranked(found.values())


@dataclass(frozen=True)
class Program:
    """The driver linked with a dispatcher."""

    path: Path
    object: Path

    def answer(self, *question: str, data: bytes = b"", **variables: str) -> bytes:
        """Ask; `variables` are added to the environment, and FEATURES_OFF to the test's mask."""
        kept = {name: value for name, value in os.environ.items() if "GHASHGEN_" not in name}
        if question[0] in LOOKS_AT_THE_CPU:
            variables[FEATURES_OFF] = masked(variables.get(FEATURES_OFF, ""))
        return subprocess.run(
            [self.path, *question],
            input=data,
            env={**kept, **variables},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout

    def ask(self, *question: str, data: str = "", **variables: str) -> list[str]:
        return self.answer(*question, data=data.encode(), **variables).decode().splitlines()

    def one(self, *question: str, data: str = "", **variables: str) -> str:
        (line,) = self.ask(*question, data=data, **variables)
        return line

    def bits(self) -> dict[str, int]:
        return {name: int(bit, 16) for name, bit in (line.split() for line in self.ask("bits"))}

    def decode(self, registers: Sequence[int]) -> set[str]:
        return set(self.one("decode", data=" ".join(f"{word:x}" for word in registers)).split())

    def choices(self, subsets: Sequence[frozenset[str]]) -> list[str]:
        bits = self.bits()
        masks = (sum(bits[name] for name in subset) for subset in subsets)
        return self.ask("best_for", data="\n".join(f"{mask:x}" for mask in masks))


def build(
    files: Mapping[str, str],
    folder: Path,
    defines: Sequence[str] = (),
    objects: Sequence[Path] | None = None,
    symbols: Iterable[str] = (),
) -> Program:
    """Link the driver with these objects, or with functions that do nothing for these symbols."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the dispatcher lists no kernel on this machine, which is not x86-64")
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    cc = find_cc()
    flags = [*FLAGS, *(f"-D{define}" for define in defines)]
    alone = folder / "ghashgen_dispatch.o"
    compile_c(cc, folder / "ghashgen_dispatch.c", alone, flags=flags)
    driver, stubs = folder / "driver.o", folder / "stubs.c"
    compile_c(cc, DRIVER, driver, flags=flags, include=(folder,))
    if objects is None:
        lines = [f"void {symbol}(void);\nvoid {symbol}(void) {{}}\n" for symbol in symbols]
        stubs.write_text("".join(lines) or "typedef int nothing;\n")
        compile_c(cc, stubs, folder / "stubs.o", flags=FLAGS)
        objects = (folder / "stubs.o",)
    link(cc, [driver, *objects], folder / "driver")
    return Program(folder / "driver", alone)


def build_stubbed(entries: Sequence[Entry], folder: Path, *defines: str) -> Program:
    return build(render_dispatch(entries), folder, defines, symbols=symbols_of(entries))


def symbols_of(entries: Iterable[Entry]) -> list[str]:
    return [symbol for item in entries for symbol in item["symbols"].values()]


def undefined(obj: Path) -> set[str]:
    """The symbols that an object leaves to others."""
    with obj.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {s.name for s in table.iter_symbols() if s["st_shndx"] == "SHN_UNDEF" and s.name}
