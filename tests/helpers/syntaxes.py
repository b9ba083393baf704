"""Kernels in the syntaxes of GNU as, and who assembles them."""

import struct

import pytest

from ghashgen.arch.x86_64.assemblers import find_gas
from ghashgen.kernels.core import Point
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text
from helpers.compiling import emitted_text

GAS = ("gas", "gas-att")
each_syntax = pytest.mark.parametrize("syntax", GAS)


def found(name: str) -> Tool:
    """An assembler of these syntaxes by its program's name; without it the test is skipped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHASHGEN_AS", name)
        try:
            return find_gas()
        except GhashgenError:
            pytest.skip(f"no {name} here")


SAMPLE = (
    *(Kernel(isa, "k", "clmul1", 4) for isa in ("sse", "avx", "avx2", "avx512vl", "avx512")),
    Kernel("sse", "karatsuba", "shift-xor", 2, wipe=True),
    Kernel("avx", "winograd", "clmul1", 16, wipe=True, segments=True),
    Kernel("avx", "k", "clmul1", 16, pipeline="ahead"),
    Kernel("avx", "k", "clmul1", 8, swap="stack"),
    Kernel("avx2", "winograd", "clmul1", 16, wipe=True),
    Kernel("avx2", "k", "clmul1", 8, op="polyval"),
    Kernel("avx512", "schoolbook", "clmul2", 16, order="natural", segments=True),
)
OF_AES = (
    GcmKernel(128, "sse", "winograd", "clmul1", 4, short=True),
    GcmKernel(256, "avx", "k", "clmul1", 4, wipe=True, short=True, streams=True),
    GcmKernel(192, "avx2", "winograd", "clmul1", 4, streams=True),
    GcmKernel(128, "avx512vl", "karatsuba", "shift-xor", 4, streams=True),
    GcmKernel(256, "avx512", "winograd", "clmul1", 8, order="natural", short=True, streams=True),
)
"""AES-GCM with all of its functions: messages of few blocks, and messages in pieces."""
both = pytest.mark.parametrize("abi", ["sysv", "win64"])
samples = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)


def elf_of(kernel: Point, abi: str, syntax: str, tool: Tool) -> bytes:
    text = emitted_text(kernel, target(abi, "elf64", syntax=syntax))
    return assemble_text(tool, kernel.name, text, "elf64")


def coff_section(data: bytes, wanted: bytes) -> bytes:
    """A section of a COFF object."""
    machine, sections = struct.unpack_from("<HH", data)
    assert machine == 0x8664
    for at in range(20, 20 + 40 * sections, 40):
        size, start = struct.unpack_from("<II", data, at + 16)
        if data[at : at + 8].rstrip(b"\0") == wanted:
            return data[start : start + size]
    raise AssertionError(f"no {wanted.decode()}")
