"""Constant time, beyond conditions and branches, which the executor refuses.

No memory operand may have an address that depends on a secret, whatever its instruction does with
it.

An instruction may meet a secret only if its mnemonic is in doit.toml, the list of instructions
whose timing does not depend on their operands' values. Any other is refused with its own category
(`Category.TIMING`): its result may be right.
"""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import iced_x86 as iced

from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import secret
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.image import SECTION
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.x86_64.decoding import address_registers, mnemonic_of
from ghashgen.verify.x86_64.machine import (
    RSP,
    gpr_index,
    is_mask,
    is_vector,
    mask_index,
    vector_index,
)
from ghashgen.verify.x86_64.operands import address

_ACCESS = iced.OpAccess
READS = (_ACCESS.READ, _ACCESS.COND_READ, _ACCESS.READ_WRITE, _ACCESS.READ_COND_WRITE)

DATA_FILE = Path(__file__).with_name("doit.toml")


@cache
def listed() -> frozenset[str]:
    """Return the listed mnemonics in lower case."""
    table = tomllib.loads(DATA_FILE.read_text(encoding="utf-8"))
    return frozenset(name for names in table["instructions"].values() for name in names)


@cache
def no_operands() -> frozenset[str]:
    """Return the mnemonics without a data operand, or whose operand is checked elsewhere."""
    table = tomllib.loads(DATA_FILE.read_text(encoding="utf-8"))
    return frozenset(table["control"]["mnemonics"])


def guard(instruction: iced.Instruction) -> Callable[[Machine], None] | None:
    """Return a check to run before an instruction that is not on the list, None if it is."""
    name = mnemonic_of(instruction).lower()
    if name in listed() or name in no_operands():
        return None
    used = iced.InstructionInfoFactory().info(instruction)
    read = [one.register for one in used.used_registers() if one.access in READS]
    general = [gpr_index(r) for r in read if iced.RegisterExt.is_gpr(r)]
    vectors = [vector_index(r) for r in read if is_vector(r)]
    masks = [mask_index(r) for r in read if is_mask(r)]
    kinds = [instruction.op_kind(k) for k in range(instruction.op_count)]
    loads = iced.OpKind.MEMORY in kinds and any(one.access in READS for one in used.used_memory())
    where = address(instruction) if loads else None

    def check(m: Machine) -> None:
        # The stack pointer is public.
        sources: list[object] = [m.gpr[k] for k in general if k != RSP]
        sources += [m.mask[k] for k in masks]
        sources += [lane for k in vectors for lane in m.vec[k]]
        # Every declared buffer may hold secrets; the object's own constants do not.
        place = where(m) if where is not None else None
        loaded = isinstance(place, Pointer) and not place.region.startswith(SECTION)
        if loaded or any(map(secret, sources)):
            what = "is not on the list of instructions with data-independent timing"
            raise Refutation(Category.TIMING, f"{name} meets a secret and {what}", at=m.at)

    return check


def address_guard(instruction: iced.Instruction) -> Callable[[Machine], None] | None:
    """Return a check that no memory operand's address is secret, None if there is no such operand.

    It does not depend on the row: even a prefetch or a fully masked store has an address. The
    operand of a NOP has none: it only fills bytes (SDM vol. 2B, NOP), and assemblers name any
    register in it.
    """
    if instruction.mnemonic == iced.Mnemonic.NOP:
        return None
    registers = address_registers(instruction, iced.InstructionInfoFactory())
    numbers = [gpr_index(register) for register in registers if register != iced.Register.RSP]
    if not numbers:
        return None

    def check(m: Machine) -> None:
        for number in numbers:
            if secret(m.gpr[number]):
                raise Refutation(
                    Category.CONSTANT_TIME, "an address depends on a secret", at=m.terms.at
                )

    return check
