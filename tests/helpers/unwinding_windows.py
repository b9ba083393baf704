"""Where a function's frame is at each instruction, as Windows finds it in a linked program.

Microsoft, "x64 exception handling": a place in an epilogue is recognised by the instructions from
there on. Anywhere else, the unwind codes up to there are undone.
"""

import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from iced_x86 import Instruction, Mnemonic, OpKind, Register

from ghashgen.arch.objects import ObjectCode
from ghashgen.arch.x86_64.unwind_tables import DWARF
from helpers.unwinding import NUMBERS, Frame, by_bytes

LD = "x86_64-w64-mingw32-ld"

XMM0 = 17

Codes = list[tuple[int, int, int, int]]
"""Unwind codes in the order of the prologue: end of the instruction, operation, register, bytes."""


def linked(coff: bytes, folder: Path) -> bytes:
    """Return a program of one object: linked, so that its tables are complete."""
    obj, program = folder / "k.obj", folder / "k.exe"
    obj.write_bytes(coff)
    subprocess.run([LD, "-e", "0", obj, "-o", program], check=True, capture_output=True)
    return program.read_bytes()


def _sections(program: bytes) -> dict[bytes, tuple[int, bytes]]:
    """Return address and content of each section."""
    (header,) = struct.unpack_from("<I", program, 0x3C)
    count, optional = struct.unpack_from("<H12xH", program, header + 6)
    out = {}
    for at in range(header + 24 + optional, header + 24 + optional + 40 * count, 40):
        name, size, address, raw, start = struct.unpack_from("<8sIIII", program, at)
        out[name.rstrip(b"\0")] = address, program[start : start + min(size, raw)]
    return out


def by_tables(program: bytes) -> dict[int, tuple[int, Codes]]:
    """Return each described function by its beginning in .text: its end and its unwind codes."""
    sections = _sections(program)
    text, (base, xdata) = sections[b".text"][0], sections[b".xdata"]
    table = sections[b".pdata"][1]
    entries = struct.iter_unpack("<III", table[: len(table) // 12 * 12])
    return {
        begin - text: (end - text, _codes(xdata[info - base :])) for begin, end, info in entries
    }


def _codes(info: bytes) -> Codes:
    assert info[0] == 1, "a version or flags that are not read here"
    assert info[3] == 0, "a frame register"
    words, out, i = struct.unpack_from(f"<{info[2]}H", info, 4), [], 0
    while i < len(words):
        end, operation, register = words[i] & 255, words[i] >> 8 & 15, words[i] >> 12
        assert operation in (0, 1, 2, 8), f"unwind code {operation}"
        assert operation != 1 or register == 0, "more than 512 KB"
        more = operation in (1, 8)
        word = words[i + 1] if more else 0
        amount = {0: 8, 1: 8 * word, 2: 8 * register + 8, 8: 16 * word}[operation]
        out.append((end, operation, register, amount))
        i += 1 + more
    assert all(end <= info[1] for end, *_ in out), "a code beyond the prologue"
    return out[::-1]


def _undone(codes: Codes, at: int) -> Frame:
    """Return the frame so many bytes behind the beginning of a prologue."""
    cfa, saved = 8, {}
    for end, operation, register, amount in codes:
        if end > at:
            break
        if operation == 8:
            saved[XMM0 + register] = amount - cfa
            continue
        cfa += amount
        if operation == 0:
            saved[DWARF[register]] = -cfa
    return Frame(cfa, saved)


def _epilogue(
    instructions: Mapping[int, Instruction], at: int, begin: int, end: int
) -> Frame | None:
    """Return the frame at a place that looks like one in an epilogue."""
    i, below, places = instructions[at], 0, {}
    if i.mnemonic == Mnemonic.ADD and i.op0_register == Register.RSP:
        i, below = instructions[i.next_ip], i.immediate(1)
    while i.mnemonic == Mnemonic.POP:
        places[NUMBERS[i.op0_register]] = below
        i, below = instructions[i.next_ip], below + 8
    leaves = (
        i.mnemonic == Mnemonic.JMP
        and i.op0_kind == OpKind.NEAR_BRANCH64
        and not begin <= i.near_branch_target < end
    )
    if i.mnemonic != Mnemonic.RET and not leaves:
        return None
    return Frame(below + 8, {n: place - below - 8 for n, place in places.items()})


def wrong_frames(code: ObjectCode, program: bytes) -> list[str]:
    """Return the instructions at which Windows finds another frame than the bytes say.

    `code` has the same instructions in an ELF object. A register that is restored already may still
    be found where it was saved.
    """
    tables, at = by_tables(program), code.instructions
    described = {begin: end for begin, (end, _) in tables.items()}
    if described != dict(code.functions.values()):
        return [f"{described} described, not {code.functions}"]
    wrong = []
    for symbol, (start, _) in code.functions.items():
        for ip, frame in by_bytes(code.function(symbol), "win64").items():
            begin = max(begin for begin in tables if begin <= ip)
            end, codes = tables[begin]
            said = _epilogue(at, ip, begin, end) or _undone(codes, ip - begin)
            restored = {n: place for n, place in said.saved.items() if n >= XMM0}
            if said != Frame(frame.cfa, {**restored, **frame.saved}):
                wrong.append(f"{symbol}+{ip - start:#x} {at[ip]}: {said}, not {frame}")
    return wrong
