"""Every instruction row against this CPU, and against an emulator where the CPU lacks it."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.row_checking import (
    INSTANCES,
    REFUSED,
    checkable,
    features_of,
    natively,
    runs_here,
    vectors,
)
from iced_x86 import Decoder, Instruction, OpCodeInfo, OpKind

from ghashgen.check.attack import row_cases as cases
from ghashgen.check.attack import valued
from ghashgen.check.attack.valued import ValuedTerms
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import raw_image
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import NotPolynomialError, Term
from ghashgen.verify.x86_64.machine import GPR_NAMES
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

WIDTHS = {"xmm": 128, "ymm": 256, "zmm": 512}

BOCHS_DIFFERS = ("EVEX_VPINSRB",)
"""Forms on which the emulator, not the row, differs from this CPU; no kernel uses them."""


def all_cases(here: bool, count: int) -> Iterator[tuple[Instruction, bytes, cases.State]]:
    rng = random.Random(20)
    for code in rows():
        if runs_here(features_of(code)) != here:
            continue
        for instruction, data in checkable(code, 1, count):
            yield instruction, data, cases.random_state(rng)


def compare(
    instruction: Instruction, state: cases.State, *after: object, width: int = 512
) -> list[str]:
    try:
        machine = cases.run_row(instruction, state)
    except Refutation as refusal:
        allowed = code_name(instruction.code).startswith(REFUSED) and instruction.has_op_mask
        return [] if allowed else [f"{instruction}: {refusal}"]
    return [
        f"{instruction}: {d}" for d in cases.differences(machine, state.memory, *after, width=width)
    ]  # type: ignore[arg-type]


def run_native(todo: list[tuple[Instruction, bytes, cases.State]], folder: Path) -> list[str]:
    left = natively([(data, state) for _, data, state in todo], folder)
    return [
        wrong
        for (instruction, _, state), after in zip(todo, left, strict=True)
        for wrong in compare(instruction, state, *after, width=WIDTHS[vectors()])
    ]


FORMS = {"zmm": 500, "ymm": 300, "xmm": 180}
"""More forms than so many are run natively on a CPU with these registers."""


@pytest.mark.cpu
def test_rows_match_this_cpu(tmp_path: Path) -> None:
    todo = list(all_cases(True, INSTANCES))
    assert len({instruction.code for instruction, _, _ in todo}) > FORMS[vectors()]
    assert run_native(todo, tmp_path) == []


@pytest.mark.cpu
def test_rows_match_this_cpu_for_every_immediate(tmp_path: Path) -> None:
    """One form of each mnemonic: the others share its function, and random immediates test them."""
    rng = random.Random(21)
    todo, seen = [], set()
    for code in rows():
        mnemonic = mnemonic_name(code).removeprefix("V")
        if mnemonic in seen or cases.K.IMM8 not in OpCodeInfo(code).op_kinds():
            continue
        if not runs_here(features_of(code)):
            continue
        seen.add(mnemonic)
        state = cases.random_state(rng)
        for imm in range(256):
            data = cases.encode(cases.instance(code, random.Random(code), imm))
            todo.append((Decoder(64, data, ip=0x1000).decode(), data, state))
    assert len(seen) > (25 if vectors() == "zmm" else 15)
    assert run_native(todo, tmp_path) == []


def mnemonic_name(code: int) -> str:
    return code_name(code).removeprefix("EVEX_").removeprefix("VEX_").split("_")[0]


def run_emulated(todo: list[tuple[Instruction, bytes, cases.State]]) -> list[str]:
    """Return how the emulator differs from the rows; flags only where an instruction sets them."""
    wrong: list[str] = []
    with Emulator() as emulator:
        try:
            emulator.features()
        except GhashgenError as error:
            pytest.skip(str(error))
        for instruction, data, state in todo:
            registers = {n: v for n, v in zip(GPR_NAMES, state.gpr, strict=True) if n != "rsp"}
            registers |= {f"k{k}": v for k, v in enumerate(state.mask)}
            registers |= {
                f"zmm{k}": sum(lane << 128 * j for j, lane in enumerate(lanes))
                for k, lanes in enumerate(state.vec)
            }
            del registers["rsi"], registers["rdi"]
            # rdi and rsi are the first two arguments; memory operands are based on rsi.
            call = Call(
                args=(state.gpr[7], f"buffer+{cases.START}"),
                buffers=(Buffer("buffer", state.memory, True, "start", 0),),
                registers=registers,
            )
            result = emulator.call_many(raw_image(data + b"\xc3"), "code", [call])[0]
            after = result.after
            gpr = [after[name] for name in GPR_NAMES]
            gpr[4] = 0
            wrong += compare(
                instruction,
                state,
                gpr,
                after.rflags if instruction.rflags_modified else cases.initial_flags(state),
                list(after.k),
                list(after.zmm),
                result.buffers["buffer"],
                after["rsi"],
            )
    return wrong


def bochs_differs(instruction: Instruction) -> bool:
    """Also of shifts of quadwords by 64: 0 by the manual, the operand itself by the emulator."""
    name = code_name(instruction.code)
    shift = "PSRLQ" in name or "PSLLQ" in name
    return name.startswith(BOCHS_DIFFERS) or (
        shift and name.endswith("IMM8") and instruction.immediate8 == 64
    )


@pytest.mark.cpu
def test_rows_match_the_emulator_where_the_cpu_lacks_the_instruction() -> None:
    """Together with the test above, every row that has an instance is compared on every CPU."""
    todo = list(all_cases(False, 3))
    here = {instruction.code for instruction, _, _ in all_cases(True, 3)}
    assert {i.code for i, _, _ in todo} | here == {c for c in rows() if checkable(c, 1, 3)}
    assert not any(instruction.rflags_read for instruction, _, _ in todo)
    assert run_emulated([t for t in todo if not bochs_differs(t[0])]) == []


@pytest.mark.cpu(AS_FOUND)
def test_the_emulator_agrees_on_what_this_cpu_has() -> None:
    """The rows stand between: CPU = row (above) and row = emulator. Flags aside."""
    todo = [t for t in all_cases(True, 2) if not (t[0].rflags_modified or t[0].rflags_read)]
    todo = [t for t in todo if not bochs_differs(t[0])]
    forms = {instruction.code for instruction, _, _ in todo}
    assert len(forms) > FORMS[vectors()] - 200
    assert run_emulated(todo) == []


@pytest.mark.cpu
def test_a_planted_mistake_in_a_row_is_found(tmp_path: Path) -> None:
    todo = [t for t in all_cases(True, 3) if code_name(t[0].code) == "PADDD_XMM_XMMM128"]
    state = todo[0][2]
    wrong_state = cases.State(
        state.gpr, state.flags, state.mask, tuple((1, 2, 3, 4) for _ in state.vec), state.memory
    )
    sent = (*todo[0][:2], wrong_state)
    # The row is run on another state than the CPU's.
    native_side = [(sent[0], sent[1], state)]
    assert run_native(native_side, tmp_path) == []
    real = cases.run_row
    try:
        cases.run_row = lambda i, s: real(i, wrong_state)  # type: ignore[assignment]
        assert run_native(native_side, tmp_path) != []
    finally:
        cases.run_row = real


ROUNDS = {"aesenc": "660f38dcca", "aesenclast": "660f38ddca", "aeskeygenassist": "660f3adfca1b"}
"""Instructions of AES on xmm1 and xmm2."""


def rounds_on_every_byte() -> list[tuple[Instruction, bytes, cases.State]]:
    """Each of them with every value of a byte at each of the 16 places."""
    todo = []
    for code in map(bytes.fromhex, ROUNDS.values()):
        instruction = Decoder(64, code, ip=0x1000).decode()
        for k in range(256):
            lane = int.from_bytes(bytes(k + 17 * place & 0xFF for place in range(16)), "little")
            state = cases.random_state(random.Random(k))
            state = replace(state, vec=(state.vec[0], *[(lane,) * 4] * 2, *state.vec[3:]))
            todo.append((instruction, code, state))
    return todo


@pytest.mark.cpu
def test_the_s_box_is_that_of_the_cpu_at_every_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proofs take any S-box: this is what says that it is the one of FIPS 197."""
    todo = rounds_on_every_byte()
    here = all(runs_here(features_of(i.code)) for i, _, _ in todo[::256])

    def wrong() -> list[str]:
        return run_native(todo, tmp_path) if here else run_emulated(todo)

    assert wrong() == []
    right = valued.s_box()
    monkeypatch.setattr(valued, "s_box", lambda: right[:254] + bytes((right[254] ^ 1, right[255])))
    # The value at 254 is used once at each place, of the two words that the last one looks at.
    assert len(wrong()) == 16 + 16 + 8


def vector_reads(instruction: Instruction) -> dict[int, str]:
    """Name a variable for every vector register among the operands."""
    out = {}
    for k in range(instruction.op_count):
        register = instruction.op_register(k)
        if instruction.op_kind(k) == OpKind.REGISTER and cases.Register.XMM0 <= register < 173:
            out[(register - cases.Register.XMM0) % 32] = f"C{(register - 77) % 32}x"
    return out


def test_symbolic_results_agree_with_concrete_ones() -> None:
    """The same row on variables, evaluated at the concrete values, gives the concrete result."""
    rng = random.Random(22)
    checked = set()
    for code in rows():
        for instruction, _ in cases.instances(code, 2, 2):
            named = vector_reads(instruction)
            if not named or instruction.has_op_mask or "VEXTRACT" in code_name(code):
                continue
            state = cases.random_state(rng)
            terms = ValuedTerms()
            machine = cases.machine_of(state, terms, named)
            step_of(instruction)(machine)
            concrete = cases.run_row(instruction, state)
            values = {
                f"{name}{k}": state.vec[index][k] for index, name in named.items() for k in range(4)
            }
            for k in range(32):
                for lane, number in zip(machine.vec[k], concrete.vec[k], strict=True):
                    if not isinstance(lane, Term):
                        assert lane == cases.number_of(concrete, number), str(instruction)
                        continue
                    try:
                        got = terms.value(lane, values)
                    except NotPolynomialError:
                        continue  # a control, a count or a carry that is a variable
                    assert got == cases.number_of(concrete, number), str(instruction)
                    checked.add(code)
    assert len(checked) > 250


def test_the_rows_are_these_forms_and_no_others() -> None:
    """A pattern of names must not take in a form that nobody meant, as of another mode or unit."""
    names = [code_name(code) for code in rows()]
    assert len(names) == 761
    odd = re.compile("MVEX|KNC|_MMM?(32|64)?(_|$)|_KR_K1|REL8_(16|32)|REL(16|32_32)|SREG|_[CDT]R_")
    assert not [name for name in names if odd.search(name)]
    assert all(OpCodeInfo(code).mode64 for code in rows())


def test_an_instruction_without_a_row_is_refused_by_name() -> None:
    instruction = Decoder(64, bytes.fromhex("f30fb8c1"), ip=0).decode()  # popcnt eax, ecx
    with pytest.raises(Refutation, match="POPCNT_R32_RM32") as caught:
        step_of(instruction)
    assert caught.value.category is Category.UNSUPPORTED
