"""Prologues and epilogues, read from the assembled bytes and run by the harness."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from helpers.compiling import FRAMED, SPILLED, Assembled, Job
from helpers.cpus import too_little
from iced_x86 import Instruction, InstructionInfoFactory, OpAccess, OpKind, Register, RegisterExt

from ghashgen.arch.registry import isas
from ghashgen.arch.x86_64 import ARCH
from ghashgen.compiler.wipe import wiped
from ghashgen.ir.program import Block, Mem, Op, PReg, Program, RegClass
from ghashgen.kernels.families import functions_of
from ghashgen.run.harness import Harness

classify, mnemonic = ARCH.decoder.audit_class, ARCH.decoder.mnemonic


FACTORY = InstructionInfoFactory()
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
NAMES = {v: k.lower() for k, v in vars(Register).items() if isinstance(v, int) and k.isupper()}
SAVED = {
    "sysv": {"rbx", "rbp", "r12", "r13", "r14", "r15"},
    "win64": {"rbx", "rbp", "rsi", "rdi", "r12", "r13", "r14", "r15"}
    | {f"zmm{number}" for number in range(6, 16)},
}
"""Registers that a callee keeps, from the conventions' own documents."""

JOBS = [*FRAMED, *SPILLED]
jobs = pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.prefix}{job.kernel.name}")


def full(register: int) -> str:
    return NAMES[RegisterExt.full_register(register)]


def on_stack(instruction: Instruction) -> bool:
    """Whether a memory operand is relative to rsp."""
    kinds = [instruction.op_kind(i) for i in range(instruction.op_count)]
    return OpKind.MEMORY in kinds and instruction.memory_base == Register.RSP


def written(instructions: list[Instruction]) -> set[str]:
    used = [item for i in instructions for item in FACTORY.info(i).used_registers()]
    return {full(item.register) for item in used if item.access in WRITES} - {"rsp"}


@dataclass(frozen=True)
class Parts:
    """A function's instructions: prologue, body, and what precedes each return."""

    prologue: list[Instruction]
    body: list[Instruction]
    epilogues: list[list[Instruction]]

    @property
    def epilogue(self) -> list[Instruction]:
        """That of the last return; the others differ in VZEROUPPER and padding alone."""
        return self.epilogues[-1]

    @property
    def pushed(self) -> list[str]:
        return [full(i.op0_register) for i in self.prologue if mnemonic(i) == "push"]

    @property
    def frame(self) -> int:
        return sum(i.immediate(1) for i in self.prologue if mnemonic(i) == "sub")

    @property
    def homes(self) -> dict[str, int]:
        """Where the prologue stores vector registers, by register."""
        stores = [i for i in self.prologue if on_stack(i)]
        return {full(i.op1_register): i.memory_displacement for i in stores}


def _is_zeroing(instruction: Instruction) -> bool:
    registers = {instruction.op_register(i) for i in range(instruction.op_count)}
    return "xor" in mnemonic(instruction) and len(registers) == 1 and not on_stack(instruction)


def _leaves(instruction: Instruction) -> bool:
    """Whether an instruction may belong to an epilogue."""
    return (
        mnemonic(instruction) in ("pop", "vzeroupper", "nop")
        or (mnemonic(instruction) == "add" and instruction.op0_register == Register.RSP)
        or _is_zeroing(instruction)
        or (on_stack(instruction) and classify(instruction) in ("load", "store"))
    )


def split(instructions: list[Instruction]) -> Parts:
    start = 1
    while (
        mnemonic(instructions[start]) == "push"
        or (mnemonic(instructions[start]), instructions[start].op0_register)
        == ("sub", Register.RSP)
        or (on_stack(instructions[start]) and classify(instructions[start]) == "store")
    ):
        start += 1
    assert mnemonic(instructions[-1]) == "ret"
    targets = {i.near_branch_target for i in instructions if i.is_jcc_short_or_near}
    body: list[Instruction] = []
    epilogues = []
    for instruction in instructions[start:]:
        if mnemonic(instruction) != "ret":
            body.append(instruction)
            continue
        first = len(body)
        while first and _leaves(body[first - 1]):
            first -= 1
            if body[first].ip in targets:
                break
        epilogues.append(body[first:])
        del body[first:]
    return Parts(instructions[:start], body, epilogues)


def functions(item: Assembled) -> Iterator[Parts]:
    for name in functions_of(item.kernel):
        symbol = f"{item.symbol}_{name}"
        yield split(item.code.function(symbol))


@jobs
def test_every_return_leaves_alike(job: Job, variants: Mapping[Job, Assembled]) -> None:
    for parts in functions(variants[job]):
        alike = [
            [str(i) for i in epilogue if mnemonic(i) not in ("vzeroupper", "nop")]
            for epilogue in parts.epilogues
        ]
        assert alike == [alike[-1]] * len(alike)


@jobs
def test_functions_save_what_they_change_and_nothing_else(
    job: Job, variants: Mapping[Job, Assembled]
) -> None:
    for parts in functions(variants[job]):
        changed = written(parts.body) & SAVED[job.abi]
        assert {*parts.pushed, *parts.homes} == changed
        restored = [i for i in parts.epilogue if on_stack(i) and classify(i) == "load"]
        assert {full(i.op0_register): i.memory_displacement for i in restored} == parts.homes
        popped = [full(i.op0_register) for i in parts.epilogue if mnemonic(i) == "pop"]
        assert popped == parts.pushed[::-1]
        assert parts.frame == sum(i.immediate(1) for i in parts.epilogue if mnemonic(i) == "add")


@jobs
def test_the_stack_is_aligned_and_accesses_stay_within_the_frame(
    job: Job, variants: Mapping[Job, Assembled]
) -> None:
    for parts in functions(variants[job]):
        accesses = [i for i in (*parts.prologue, *parts.body, *parts.epilogue) if on_stack(i)]
        for access in accesses:
            # On entry rsp is 8 modulo 16: the return address lies above an aligned one.
            assert (8 + 8 * len(parts.pushed) + parts.frame) % 16 == 0
            assert access.memory_displacement % 16 == 0
            assert 0 <= access.memory_displacement <= parts.frame - 16
        homes = set(parts.homes.values())
        spills = {i.memory_displacement for i in parts.body if on_stack(i)}
        assert not homes & spills


@jobs
def test_the_audit_and_the_banner_say_how_much_stack_is_used(
    job: Job, variants: Mapping[Job, Assembled]
) -> None:
    item = variants[job]
    for function, parts in zip(item.functions, functions(item), strict=True):
        used = 8 * len(parts.pushed) + parts.frame
        assert item.audit.stack_bytes[function.name] == function.stack_bytes == used
        slots = {i.memory_displacement for i in parts.body if on_stack(i)}
        assert function.spill_slots == len(slots)


@jobs
def test_wiping_zeroes_every_vector_register_and_slot_that_was_used(
    job: Job, variants: Mapping[Job, Assembled]
) -> None:
    for parts in functions(variants[job]):
        zeroed = [full(i.op0_register) for i in parts.epilogue if _is_zeroing(i)]
        vectors = {name for name in written(parts.body) if name.startswith("zmm")}
        slots = {i.memory_displacement for i in parts.body if on_stack(i)}
        cleared = [i for i in parts.epilogue if on_stack(i) and classify(i) == "store"]
        if not job.kernel.wipe:
            assert not zeroed
            assert not cleared
            continue
        assert {name for name in zeroed if name.startswith("zmm")} == vectors
        assert {i.memory_displacement for i in cleared} == slots
        assert all(full(i.op1_register) in zeroed for i in cleared)
        # Bytes of the input that passed through general registers go, too.
        loads = [i for i in parts.body if mnemonic(i) == "movzx"]
        assert {full(i.op0_register) for i in loads} <= set(zeroed)


@pytest.mark.cpu
@pytest.mark.parametrize("job", FRAMED, ids=lambda job: f"{job.prefix}{job.kernel.name}")
def test_framed_kernels_are_right(
    job: Job, variants: Mapping[Job, Assembled], harness: Harness, as_cpu: str
) -> None:
    item = variants[job]
    if too_little(as_cpu, item.features, lambda: harness.check(item.symbol)):
        return
    report = harness.check(item.symbol)
    assert report.ok, report


def test_narrow_kernels_for_system_v_never_touch_the_stack(
    shipped: Mapping[str, Assembled],
) -> None:
    leaves = [
        item
        for item in shipped.values()
        if item.kernel.isa in ("sse", "avx") and item.kernel.swap == "register"
    ]
    assert len(leaves) > 15
    for item in leaves:
        assert set(item.audit.stack_bytes.values()) == {0}
        for instruction in item.code.instructions.values():
            registers = {full(x.register) for x in FACTORY.info(instruction).used_registers()}
            assert mnemonic(instruction) == "ret" or "rsp" not in registers


def test_wide_kernels_leave_clean_upper_halves(shipped: Mapping[str, Assembled]) -> None:
    seen = set()
    for item in shipped.values():
        for parts in functions(item):
            body = [*parts.prologue, *parts.body]
            # As named: a VEX write to an xmm register is reported as one of the whole register.
            named = [i.op_register(n) for i in body for n in range(i.op_count)]
            wide = any(RegisterExt.is_ymm(r) or RegisterExt.is_zmm(r) for r in named)
            # Where a loop alone is wide, VZEROUPPER follows it at once.
            cleared = [*body, *parts.epilogue]
            assert ("vzeroupper" in map(mnemonic, cleared)) == wide
            seen.add((item.kernel.isa, wide))
    assert {("avx", False), ("avx2", True), ("avx512", True), ("sse", False)} <= seen


def test_masks_without_a_zero_are_refused() -> None:
    """A mask that is loaded holds data, and no general register of the function does."""
    isa = isas()["avx512"]
    (load,), (leave,) = isa.lower["load_mask"], isa.lower["return"]
    mask, place = PReg(RegClass.MASK, 1), Mem(base=PReg(RegClass.GPR, 0))
    block = Block("entry", (Op(load.row, (mask, place)), Op(leave.row)))
    with pytest.raises(ValueError, match="zeroed from a general register, and this function"):
        wiped(Program("loaded", (), (block,), {}, 0), isa, (0,), 0, ())
