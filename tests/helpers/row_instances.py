"""Instances of every row, and machines to run them on: numbers aside, every register a variable."""

from collections.abc import Iterator

from iced_x86 import Instruction, InstructionInfoFactory, OpAccess, Register

from ghashgen.algebra.ops.forms import Form
from ghashgen.check.attack import row_cases as cases
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import M64, UndecidedError
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

FACTORY = InstructionInfoFactory()


def instances(seed: int, count: int) -> Iterator[Instruction]:
    for code in rows():
        for instruction, _ in cases.instances(code, seed, count):
            yield instruction


def no_table(kind: str, power: int) -> Form:
    raise AssertionError("a table entry")


def is_mask(register: int) -> bool:
    return Register.K0 <= register <= Register.K7


def written(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction writes."""
    return [
        int(used.register)
        for used in FACTORY.info(instruction).used_registers()
        if used.access in (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE)
    ]


def run(instruction: Instruction, m: Machine) -> bool:
    """Run a row; False if it is refused."""
    try:
        step_of(instruction)(m)
    except (Refutation, UndecidedError, OverflowError):
        # The last one: bits that were planted, and no register has, met `int.to_bytes`.
        return False
    except AssertionError as error:
        # They met a term, and the pool makes none of them.
        if "more than 128 bits" not in str(error):
            raise
        return False
    return True


def symbolic(state: cases.State, terms: Terms, masks: tuple[int, ...]) -> Machine:
    """Return the machine with a variable in every register but rsp, rsi and these masks."""
    m = cases.machine_of(state, terms)
    for k in range(16):
        if k not in (4, 6):
            m.gpr[k] = terms.keep(terms.variable(f"g{k}"), M64)
    for k in range(8):
        if k not in masks:
            m.mask[k] = terms.keep(terms.variable(f"k{k}"), M64)
    for k in range(32):
        m.vec[k] = tuple(terms.variable(f"v{k}.{lane}") for lane in range(4))
    return m


def masks_read(instruction: Instruction) -> tuple[int, ...]:
    """Return the mask registers that must be numbers: write masks, and those of mask logic."""
    if code_name(instruction.code).startswith("VEX_KMOV"):
        return ()
    return tuple(range(8))
