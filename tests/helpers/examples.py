"""The examples of harness/examples: how docs/gcm.md builds them, and each as a library to call."""

from __future__ import annotations

import ctypes
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import find_cc
from helpers.cpus import need

ROOT = project_root()
EXAMPLES = ("tls12_record", "tls13_record", "esp_packet")
PAGE = (ROOT / "docs/gcm.md").read_text(encoding="utf-8")
NAME = "gcm128_avx_winograd_clmul1_x8"
"""The kernel that the examples take."""
HEADER = (ROOT / "generated" / "ghashgen.h").read_text(encoding="utf-8")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
NEEDS = ("aesni", "pclmulqdq", "avx")
TAG, CANARY = 16, 0xA5
SIZES = (0, 1, 15, 16, 17, 31, 127, 128, 129, 255, 256, 300, 1400, 4096)
"""Bytes of text."""


def commands() -> list[str]:
    """The lines of docs/gcm.md that build and run the examples."""
    found: list[str] = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    (block,) = (text for text in found if "nasm" in text)
    return block.replace("\\\n", " ").splitlines()


def run(line: str, folder: Path, more: list[str]) -> subprocess.CompletedProcess[str]:
    """Run one of them in a folder, by the tools that were found, with more options for cc."""
    words = shlex.split(re.sub("(harness|generated)(?=[/ ])", rf"{ROOT}/\1", line))
    started = {"nasm": find_nasm().command, "cc": [*find_cc().command, *more]}
    command = [*started[words[0]], *words[1:]] if words[0] in started else words
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def need_the_cpu() -> None:
    need(NEEDS)


Buffer = ctypes.Array[ctypes.c_uint8]


@dataclass(frozen=True)
class Placed:
    """A buffer with bytes on either side that must stay as they are."""

    whole: Buffer
    size: int

    @classmethod
    def of(cls, data: bytes) -> Placed:
        margin = bytes([CANARY]) * 64
        whole = margin + data + margin
        return cls((ctypes.c_uint8 * len(whole)).from_buffer_copy(whole), len(data))

    def at(self, offset: int = 0) -> ctypes.c_void_p:
        return ctypes.c_void_p(ctypes.addressof(self.whole) + 64 + offset)

    def bytes(self) -> bytes:
        found = bytes(self.whole)
        assert {*found[:64], *found[64 + self.size :]} == {CANARY}
        return found[64 : 64 + self.size]


def spare(size: int) -> Placed:
    """A buffer that nothing was written to."""
    return Placed.of(bytes([CANARY]) * size)


@dataclass(frozen=True)
class Library:
    """An example as a library."""

    loaded: ctypes.CDLL
    context: int
    """Bytes of the kernel's context, which every struct begins with."""

    def call(self, name: str, *arguments: object) -> int:
        """A function that returns size_t, int or nothing, by its C name."""
        function = getattr(self.loaded, name)
        function.restype = ctypes.c_size_t if name.endswith(("_protect", "_seal")) else ctypes.c_int
        result: int = function(*arguments)
        return result

    def structure(self, *fields: tuple[str, object]) -> type[ctypes.Structure]:
        context = ("context", ctypes.c_uint8 * self.context)
        return type("State", (ctypes.Structure,), {"_fields_": [context, *fields]})


def loaded(example: str, folder: Path) -> Library:
    """Build an example as a library, in a folder with its kernel, and load it."""
    source = ROOT / "harness" / "examples" / f"{example}.c"
    made = folder / f"{example}.so"
    options = ["-std=c11", "-O2", "-shared", "-fPIC", *WARNINGS, f"-I{ROOT / 'generated'}"]
    command = [*find_cc().command, *options, str(source), "gcm.o", "-o", str(made)]
    subprocess.run(command, cwd=folder, check=True)
    (size,) = re.findall(rf" {NAME.upper()}_CTX_BYTES (\d+)$", HEADER, re.M)
    return Library(ctypes.CDLL(str(made)), int(size))


Load = Callable[[str], Library]


def number(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)
