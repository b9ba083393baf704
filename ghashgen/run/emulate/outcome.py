"""How a call ended, in words that name buffers instead of addresses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from iced_x86 import Decoder, Formatter, FormatterSyntax, Instruction, OpKind, Register

from ghashgen.run.emulate.image import Image
from ghashgen.run.emulate.layout import STACK_BOTTOM, STACK_TOP, WINDOW, Span
from ghashgen.run.emulate.registers import GPR_NAMES, Registers

Kind = Literal[
    "returned",
    "page-fault",
    "invalid-opcode",
    "general-protection",
    "exception",
    "budget",
    "stray-write",
]

# Intel SDM volume 3, table 6-1: vectors that do not have a kind of their own.
_VECTORS = {0: "#DE", 1: "#DB", 3: "#BP", 4: "#OF", 5: "#BR", 7: "#NM", 12: "#SS", 16: "#MF",
            17: "#AC", 19: "#XM", 21: "#CP"}  # fmt: skip
_UD, _GP, _PF = 6, 13, 14
_PRESENT, _WRITE, _FETCH = 1, 2, 16
_GPR_OF = {getattr(Register, name.upper()): name for name in GPR_NAMES}


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    `text` is one line for people. `address` is the memory address of a fault, and `where` the same
    as "buffer+offset", "stack-offset" or "section+offset" (None without an address). `instruction`
    is the text of the faulting instruction at `rip` (empty if the call returned).
    """

    kind: Kind
    text: str
    address: int | None = None
    where: str | None = None
    rip: int | None = None
    instruction: str = ""

    @property
    def ok(self) -> bool:
        """Whether the function returned and wrote only where it may."""
        return self.kind == "returned"


RETURNED = Outcome("returned", "returned")


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def locate(address: int, spans: Mapping[str, Span], image: Image) -> tuple[str, str]:
    """Return a place as (short "buffer+offset", words): ("in+33", "1 byte past the end of in")."""
    for name, span in spans.items():
        if address in span.window:
            offset = address - span.base
            short = f"{name}{offset:+d}"
            if offset < 0:
                return short, f"{_bytes(-offset)} before the start of {name}"
            if offset >= span.length:
                return short, f"{_bytes(offset - span.length + 1)} past the end of {name}"
            return short, f"{name} at offset {offset}"
    if STACK_BOTTOM - WINDOW // 2 <= address < STACK_TOP + WINDOW // 2:
        short = f"stack-{STACK_TOP - address}"
        if address < STACK_BOTTOM:
            return short, f"{_bytes(STACK_BOTTOM - address)} below the stack"
        if address >= STACK_TOP:
            return short, f"{_bytes(address - STACK_TOP + 1)} above the stack"
        return short, f"the stack, {_bytes(STACK_TOP - address)} below its top"
    segment = image.segment_at(address)
    if segment is not None:
        offset = address - segment.address
        return f"{segment.name}+{offset:#x}", f"{segment.name} at offset {offset:#x}"
    return f"{address:#x}", f"unmapped address {address:#x}"


def decode_run(image: Image, start: int, last: int) -> list[Instruction]:
    """Return the instructions of a straight run, from the one at `start` to the one at `last`."""
    segment = image.segment_at(start)
    if segment is None:
        return []
    decoder = Decoder(64, segment.content[start - segment.address :], ip=start)
    run = []
    for instruction in decoder:
        run.append(instruction)
        if instruction.ip >= last:
            break
    return run


def _fetching(run: Mapping[str, Any]) -> bool:
    return run["vector"] == _PF and bool(run["error_code"] & _FETCH)


def _up_to_fault(image: Image, run: Mapping[str, Any]) -> list[Instruction]:
    """Return the straight run that a fault interrupted, with the faulting instruction.

    If an instruction faults in execution, the emulator has already moved rip behind it. A fault in
    fetching leaves rip at the instruction, which is then missing here.
    """
    start, last = run["run_start"], run["rip"] - 1
    instructions = decode_run(image, start, last) if last >= start else []
    while instructions and instructions[-1].ip > last:
        instructions.pop()
    return instructions


def retired_before_fault(image: Image, run: Mapping[str, Any]) -> list[Instruction]:
    """Return the instructions that retired between the last taken branch and a fault."""
    instructions = _up_to_fault(image, run)
    if _fetching(run) or _ran_off(instructions, run):
        return instructions
    return instructions[:-1]


def _ran_off(instructions: list[Instruction], run: Mapping[str, Any]) -> bool:
    """Return whether execution ran past the end of its section, into the padding of the last
    page.
    """
    return not instructions or bool(instructions[-1].next_ip < run["rip"])


def _effective_address(instruction: Instruction, registers: Registers) -> int | None:
    """Return the address of an instruction's memory operand, for a fault that reports none."""
    operands = range(instruction.op_count)
    if not any(instruction.op_kind(operand) == OpKind.MEMORY for operand in operands):
        return None
    if instruction.is_ip_rel_memory_operand:
        return instruction.ip_rel_memory_address
    base, index = (
        registers[_GPR_OF[register]] if register in _GPR_OF else 0
        for register in (instruction.memory_base, instruction.memory_index)
    )
    displacement = instruction.memory_displacement
    return (base + index * instruction.memory_index_scale + displacement) % 2**64


def _spell(instruction: Instruction | None) -> str:
    if instruction is None:
        return ""
    return Formatter(FormatterSyntax.NASM).format(instruction)


def _page_fault(
    run: Mapping[str, Any], spans: Mapping[str, Span], image: Image
) -> tuple[str, int, str]:
    address, code = run["fault_address"], run["error_code"]
    short, words = locate(address, spans, image)
    action = "write" if code & _WRITE else "read"
    if code & _FETCH:
        action = "execution"
    if not code & _PRESENT:
        joint = " " if words[0].isdigit() else " of "
        return action + joint + words, address, short
    protection = "not executable" if code & _FETCH else "read-only"
    return f"{action} of {words}, which is {protection}", address, short


def describe(
    run: Mapping[str, Any],
    spans: Mapping[str, Span],
    image: Image,
    registers: Registers,
    budget: int,
) -> Outcome:
    """Return the outcome of a run that the worker reports (see machine.Run)."""
    names = {span.index: name for name, span in spans.items()}
    if run["stop"] == "returned":
        if not run["strays"]:
            return RETURNED
        index, offset = run["strays"][0]
        name = names[index]
        address = spans[name].base + offset
        short, words = locate(address, spans, image)
        return Outcome("stray-write", f"write {words}", address, short)
    rip = run["rip"]
    if run["stop"] == "budget":
        text = f"not returned after {budget} instructions"
        here = decode_run(image, rip, rip)
        return Outcome("budget", text, rip=rip, instruction=_spell(here[0] if here else None))

    vector = run["vector"]
    executed = [] if _fetching(run) else _up_to_fault(image, run)
    at_fault = None if _ran_off(executed, run) else executed[-1]
    spelled = _spell(at_fault)
    rip = at_fault.ip if at_fault else rip
    place = locate(rip, {}, image)[0]
    behind = f" ({spelled} at {place})" if spelled else f" (at {place})"
    if vector == _PF:
        text, address, short = _page_fault(run, spans, image)
        return Outcome("page-fault", text + behind, address, short, rip, spelled)
    if vector == _UD and at_fault is None:
        return Outcome("invalid-opcode", f"execution past the end of the code{behind}", rip=rip)
    if vector == _UD:
        segment = image.segment_at(rip)
        raw = segment.content[rip - segment.address :][:8].hex(" ") if segment else ""
        text = f"invalid opcode: {spelled} (bytes {raw} at {place})"
        return Outcome("invalid-opcode", text, None, None, rip, spelled)
    address_used = _effective_address(at_fault, registers) if at_fault else None
    short_used, used = locate(address_used, spans, image) if address_used else (None, "")
    if vector == _GP:
        cause = f"general protection on {used or 'an instruction'}"
        if address_used and (short_used or "").startswith("0x"):
            cause = f"general protection: address {address_used:#x}"
        elif address_used:
            cause = f"general protection: {used} is misaligned (address {address_used:#x})"
        return Outcome("general-protection", cause + behind, address_used, short_used, rip, spelled)
    cause = _VECTORS.get(vector, f"exception {vector}")
    return Outcome("exception", cause + behind, address_used, short_used, rip, spelled)
