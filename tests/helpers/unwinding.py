"""Where a function's frame is at each instruction: as its bytes say, and as its .eh_frame says."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from iced_x86 import Instruction, Mnemonic, OpKind, Register, RegisterExt

from ghashgen.arch.objects import read_object
from ghashgen.arch.x86_64 import ARCH
from ghashgen.ir.program import Flow
from ghashgen.kernels.core import Point
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from helpers.compiling import emitted_text

STEPPED = GcmKernel(128, "sse", "winograd", "clmul1", 4, wipe=True)
"""A kernel for every CPU, with frames of all kinds."""


def described_text(kernel: Point, abi: str, fmt: str) -> str:
    """NASM's file of a kernel, with how to unwind it."""
    return emitted_text(kernel, replace(target(abi, fmt), unwind=True))


DWARF = {
    3: Register.RBX,
    6: Register.RBP,
    4: Register.RSI,
    5: Register.RDI,
    7: Register.RSP,
    **{n: Register.R8 + n - 8 for n in range(8, 16)},
    **{17 + n: Register.ZMM0 + n for n in range(16)},
}
"""Registers by their numbers in DWARF (System V AMD64 psABI, Figure 3.36)."""

NUMBERS = {register: number for number, register in DWARF.items()}

KEPT = {
    "sysv": {3, 6, 12, 13, 14, 15},
    "win64": {3, 4, 5, 6, 12, 13, 14, 15, *(17 + n for n in range(6, 16))},
}
"""What a callee must keep, by DWARF numbers."""


@dataclass(frozen=True)
class Frame:
    """The CFA, in bytes above rsp, and where the caller's registers are, in bytes from the CFA."""

    cfa: int
    saved: Mapping[int, int] = field(default_factory=dict)


def _stack_operand(instruction: Instruction, operand: int) -> bool:
    return instruction.op_kind(operand) == OpKind.MEMORY and instruction.memory_base == Register.RSP


def _after(frame: Frame, i: Instruction, kept: set[int]) -> Frame:
    """Return the frame behind an instruction: what is saved first is the caller's."""
    decoder = ARCH.decoder
    cfa = frame.cfa + decoder.lowers_stack(i)
    saved = dict(frame.saved)
    register, place = -1, 0
    if i.mnemonic in (Mnemonic.PUSH, Mnemonic.POP):
        register = NUMBERS.get(RegisterExt.full_register(i.op0_register), -1)
        place = -max(cfa, frame.cfa)
        stores = i.mnemonic == Mnemonic.PUSH
    elif i.op_count == 2 and (_stack_operand(i, 0) or _stack_operand(i, 1)):
        stores = _stack_operand(i, 0)
        other = i.op1_register if stores else i.op0_register
        register = NUMBERS.get(RegisterExt.full_register(other), -1)
        place = i.memory_displacement - frame.cfa
    else:
        return Frame(cfa, saved)
    if register in kept and stores and register not in saved:
        saved[register] = place
    elif not stores and saved.get(register) == place:
        del saved[register]
    return Frame(cfa, saved)


def by_bytes(body: Sequence[Instruction], abi: str) -> dict[int, Frame]:
    """Return the frame before each instruction that control reaches, by its offset.

    Among them are instructions of other functions that this one jumps to.
    """
    decoder, at = ARCH.decoder, {i.ip: i for i in body}
    found = {body[0].ip: Frame(8)}
    pending = [body[0].ip]
    while pending:
        i = at[pending.pop()]
        flow = decoder.flow(i)
        after = _after(found[i.ip], i, KEPT[abi])
        if flow is Flow.RETURN:
            assert found[i.ip] == Frame(8), f"returns at {i.ip:#x} with a frame"
            continue
        following = [i.next_ip] if flow.falls else []
        following += [decoder.target(i)] if flow in (Flow.BRANCH, Flow.JUMP) else []
        for ip in following:
            if ip in at and ip not in found:
                pending.append(ip)
            assert found.setdefault(ip, after) == after, f"two frames at {ip:#x}"
    return found


def by_tables(elf: bytes) -> dict[int, tuple[int, dict[int, Frame]]]:
    """Return, by where a function begins, its end and its frames by offset in it."""
    info = ELFFile(io.BytesIO(elf)).get_dwarf_info()
    out = {}
    for entry in info.EH_CFI_entries():
        if not isinstance(entry, FDE):
            continue
        start = entry["initial_location"]
        rows = {}
        for row in entry.get_decoded().table:
            # Register 16 is the return address, always at the CFA's foot.
            saved = {n: rule.arg for n, rule in row.items() if isinstance(n, int) and n != 16}
            assert row["cfa"].reg == 7
            rows[row["pc"] - start] = Frame(row["cfa"].offset, saved)
        out[start] = start + entry["address_range"], rows
    return out


def wrong_frames(elf: bytes, abi: str) -> list[str]:
    """Return where .eh_frame says otherwise than the bytes, at any instruction."""
    code, wrong = read_object(elf), []
    tables = by_tables(elf)
    described = {start: end for start, (end, _) in tables.items()}
    if described != dict(code.functions.values()):
        return [f"{described} described, not {code.functions}"]
    for symbol, (start, _) in code.functions.items():
        for ip, frame in by_bytes(code.function(symbol), abi).items():
            begin = max(at for at in tables if at <= ip)
            rows = tables[begin][1]
            said = rows[max(at for at in rows if at <= ip - begin)]
            if said != frame:
                wrong.append(f"{symbol}+{ip - start:#x}: {said}, not {frame}")
    return wrong
