"""Assembles and runs the wrong objects of asm_attack and their repaired twins."""

import ctypes
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.check.statements import load_spec
from ghashgen.support.toolchain import find_cc
from ghashgen.verify.prove import Proof, prove_object
from ghashgen.verify.statements.hash import KernelSpec
from helpers.verify_objects import ASM, assembled

FOLDER = Path(__file__).parents[1] / "asm_attack"

LIBRARY = ("loop", "wiped")
"""Files of macros."""

SUBKEY = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")
STATE = bytes(range(3, 19))

FEATURES = {"kmovq": "avx512bw", "vpclmulqdq": "avx"}
"""What the text uses -> the CPU flag that it needs, beside SSSE3 and PCLMULQDQ."""


def source(name: str, wrong: bool) -> str:
    """Return the nasm text of an object: foreign.asm's init, and the attack or its twin."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_gmult")
    parts = [(FOLDER / f"{part}.inc").read_text() for part in (*LIBRARY, name)]
    end = "\nsection .note.GNU-stack noalloc noexec nowrite progbits\n"
    return ("%define WRONG\n" if wrong else "") + head + "".join(parts) + end


def statement(operation: str, **changes: object) -> KernelSpec:
    """Return what foreign.toml claims of one function."""
    foreign = load_spec(ASM / "foreign.toml")
    multiple = changes.pop("length_multiple", 16)
    functions = tuple(
        replace(f, length_multiple=multiple) if operation == "update" else f
        for f in foreign.functions
        if f.operation == operation
    )
    return replace(foreign, functions=functions, **changes)  # type: ignore[arg-type]


def proof(name: str, wrong: bool, operation: str, **changes: object) -> Proof:
    """Return the verdict on an object or on its twin."""
    return prove_object(assembled(source(name, wrong)), statement(operation, **changes))


@cache
def library(text: str) -> ctypes.CDLL:
    """Return an object as a library of this process."""
    needed = {"pclmulqdq", "ssse3"} | {
        feature for word, feature in FEATURES.items() if word in text
    }
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    if missing := needed - set(flags):
        pytest.skip(f"this CPU lacks {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        obj, shared = Path(folder) / "attack.o", Path(folder) / "attack.so"
        obj.write_bytes(assembled(text))
        command = [*find_cc().command, "-shared", "-o", str(shared), str(obj)]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(shared))


def table(lib: ctypes.CDLL) -> ctypes.Array[ctypes.c_char]:
    """Return an aligned table for SUBKEY."""
    room = ctypes.create_string_buffer(64 + 16)
    start = -ctypes.addressof(room) % 16
    out = (ctypes.c_char * 64).from_buffer(room, start)
    lib.foreign_init(out, SUBKEY)
    return out


def hashed(text: str, data: bytes | None, length: int) -> bytes:
    """Return the state that foreign_ghash leaves, run on this CPU."""
    lib, state = library(text), ctypes.create_string_buffer(STATE, 16)
    lib.foreign_ghash(state, table(lib), data, ctypes.c_size_t(length))
    return state.raw


def multiplied(text: str, state: bytes) -> bytes:
    """Return the state that foreign_gmult leaves."""
    lib, out = library(text), ctypes.create_string_buffer(state, 16)
    lib.foreign_gmult(out, table(lib))
    return out.raw


def probed(text: str, state: bytes) -> int:
    """Return what `probe` finds after the function has returned, for a message of no bytes."""
    lib, out = library(text), ctypes.create_string_buffer(state, 16)
    lib.probe.restype = ctypes.c_uint64
    return int(lib.probe(out, table(lib), None, ctypes.c_size_t(0)))


def powered(text: str, name: str, exponent: int) -> bytes:
    """Return what `name`_power writes for an exponent of SUBKEY; zeros, if nothing."""
    lib, room = library(text), ctypes.create_string_buffer(4096 + 64)
    table = (ctypes.c_char * 4096).from_buffer(room, -ctypes.addressof(room) % 64)
    out = ctypes.create_string_buffer(16)
    getattr(lib, f"{name}_init")(table, SUBKEY)
    getattr(lib, f"{name}_power")(table, out, ctypes.c_uint64(exponent))
    return out.raw


def expected(data: bytes) -> bytes:
    """Return GHASH of the data from STATE."""
    return ghash_padded(SUBKEY, STATE, data)
