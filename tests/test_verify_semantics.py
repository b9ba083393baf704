"""Every instruction row against this CPU, and against an emulator where the CPU lacks it."""

import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

import pytest
import verify_cases as cases
import verify_native as native
from iced_x86 import CpuidFeature, Decoder, Instruction, OpCodeInfo, OpKind

from ghashgen.emulate import Call, Emulator
from ghashgen.emulate.calls import Buffer
from ghashgen.emulate.image import raw_image
from ghashgen.errors import GhashgenError
from ghashgen.ops.forms import Form
from ghashgen.toolchain import find_nasm
from ghashgen.verify.machine import GPR_NAMES
from ghashgen.verify.refutation import Category, Refutation
from ghashgen.verify.semantics import code_name, rows, step_of
from ghashgen.verify.terms import NotPolynomialError, Term, Terms

# iced's name of a feature -> the name in /proc/cpuinfo.
CPUINFO = {
    "SSE2": "sse2", "SSE3": "pni", "SSSE3": "ssse3", "SSE4_1": "sse4_1", "SSE4_2": "sse4_2",
    "PCLMULQDQ": "pclmulqdq", "AVX": "avx", "AVX2": "avx2", "BMI2": "bmi2", "MOVBE": "movbe",
    "AVX512F": "avx512f", "AVX512VL": "avx512vl", "AVX512BW": "avx512bw", "AVX512DQ": "avx512dq",
    "VPCLMULQDQ": "vpclmulqdq", "GFNI": "gfni",
}  # fmt: skip

HARNESS = ("AVX512F", "AVX512VL", "AVX512BW", "AVX512DQ")
"""What the code around the instruction needs, to load and store every register."""

INSTANCES = 5

BOCHS_DIFFERS = ("EVEX_VPINSRB",)
"""Forms on which the emulator, not the row, differs from this CPU; no kernel uses them."""

REFUSED = ("EVEX_VEXTRACT", "EVEX_VGF2P8AFFINEQB")
"""Forms of which masked instances are refused: an extraction to memory, and the affine map, which
Bochs masks by qword where the manual, and the type of its intrinsic, say by byte."""


@cache
def cpu_flags() -> frozenset[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return frozenset(line.split(":")[1].split())
    return frozenset()


@cache
def feature_names() -> dict[int, str]:
    return {getattr(CpuidFeature, n): n for n in dir(CpuidFeature) if n[0].isupper()}


def runs_here(features: list[str]) -> bool:
    return all(f not in CPUINFO or CPUINFO[f] in cpu_flags() for f in features)


def features_of(code: int) -> list[str]:
    found = next(iter(cases.instances(code, 0, 1)), None)
    return [feature_names()[f] for f in found[0].cpuid_features()] if found else []


def checkable(code: int, seed: int, count: int) -> list[tuple[Instruction, bytes]]:
    """Return `count` instances that the row does not refuse on purpose."""
    out = []
    for instruction, data in cases.instances(code, seed, 4 * count):
        try:
            step_of(instruction)
        except Refutation:
            if code_name(code).startswith(REFUSED) and instruction.has_op_mask:
                continue
        out.append((instruction, data))
    return out[:count]


def all_cases(here: bool, count: int) -> Iterator[tuple[Instruction, bytes, cases.State]]:
    rng = random.Random(20)
    for code in rows():
        if runs_here(features_of(code)) != here:
            continue
        for instruction, data in checkable(code, 1, count):
            yield instruction, data, cases.random_state(rng)


@lru_cache(maxsize=4)
def context_of(state: cases.State) -> bytes:
    words = [*state.gpr, cases.initial_flags(state), *state.mask]
    head = b"".join(word.to_bytes(8, "little") for word in words).ljust(256, b"\0")
    return head + b"".join(lane.to_bytes(16, "little") for z in state.vec for lane in z)


def compare(instruction: Instruction, state: cases.State, *after: object) -> list[str]:
    try:
        machine = cases.run_row(instruction, state)
    except Refutation as refusal:
        allowed = code_name(instruction.code).startswith(REFUSED) and instruction.has_op_mask
        return [] if allowed else [f"{instruction}: {refusal}"]
    return [f"{instruction}: {d}" for d in cases.differences(machine, state.memory, *after)]  # type: ignore[arg-type]


def run_native(todo: list[tuple[Instruction, bytes, cases.State]], folder: Path) -> list[str]:
    source, blob = folder / "row.asm", folder / "row.bin"
    source.write_text(native.SOURCE)
    nasm = [*find_nasm().command, "-f", "bin", str(source), "-o", str(blob)]
    subprocess.run(nasm, check=True)
    sent = [(data, context_of(state), state.memory) for _, data, state in todo]
    done = subprocess.run(
        [sys.executable, native.__file__, str(blob)],
        input=pickle.dumps(sent),
        capture_output=True,
        check=True,
    )
    wrong: list[str] = []
    for (instruction, _, state), (context, memory, at) in zip(
        todo, pickle.loads(done.stdout), strict=True
    ):
        words = [int.from_bytes(context[k : k + 8], "little") for k in range(0, 200, 8)]
        vectors = [
            int.from_bytes(context[k : k + 64], "little") for k in range(256, len(context), 64)
        ]
        wrong += compare(
            instruction, state, words[:16], words[16], words[17:25], vectors, memory, at
        )
    return wrong


def need_harness() -> None:
    missing = [f for f in HARNESS if not runs_here([f])]
    if missing:
        pytest.skip(f"this CPU lacks {', '.join(missing)}, which the test harness needs")


def test_rows_match_this_cpu(tmp_path: Path) -> None:
    need_harness()
    todo = list(all_cases(True, INSTANCES))
    assert len({instruction.code for instruction, _, _ in todo}) > 700
    assert run_native(todo, tmp_path) == []


def test_rows_match_this_cpu_for_every_immediate(tmp_path: Path) -> None:
    """One form of each mnemonic: the others share its function, and random immediates test them."""
    need_harness()
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
    assert len(seen) > 40
    assert run_native(todo, tmp_path) == []


def mnemonic_name(code: int) -> str:
    return code_name(code).removeprefix("EVEX_").removeprefix("VEX_").split("_")[0]


def run_emulated(todo: list[tuple[Instruction, bytes, cases.State]]) -> list[str]:
    """Return how the emulator differs from the rows; flags are not compared."""
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
                cases.initial_flags(state),
                list(after.k),
                list(after.zmm),
                result.buffers["buffer"],
                after["rsi"],
            )
    return wrong


def test_rows_match_the_emulator_where_the_cpu_lacks_the_instruction() -> None:
    todo = list(all_cases(False, 8))
    if not todo:
        pytest.skip("this CPU has every instruction that has a row")
    assert run_emulated(todo) == []


def test_the_emulator_agrees_on_what_this_cpu_has() -> None:
    """The rows stand between: CPU = row (above) and row = emulator. Flags aside."""
    need_harness()
    todo = [t for t in all_cases(True, 2) if not (t[0].rflags_modified or t[0].rflags_read)]
    todo = [t for t in todo if not code_name(t[0].code).startswith(BOCHS_DIFFERS)]
    forms = {instruction.code for instruction, _, _ in todo}
    assert len(forms) > 500
    assert run_emulated(todo) == []


def test_a_planted_mistake_in_a_row_is_found(tmp_path: Path) -> None:
    need_harness()
    todo = [t for t in all_cases(True, 3) if code_name(t[0].code) == "VEX_VPADDD_XMM_XMM_XMMM128"]
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
            terms = Terms(lambda kind, power: Form(128))
            machine = cases.machine_of(state, terms, named)
            step_of(instruction)(machine)
            concrete = cases.run_row(instruction, state)
            values = {
                f"{name}{k}": state.vec[index][k] for index, name in named.items() for k in range(4)
            }
            for k in range(32):
                for lane, number in zip(machine.vec[k], concrete.vec[k], strict=True):
                    if not isinstance(lane, Term):
                        assert lane == number, str(instruction)
                        continue
                    try:
                        form = terms.form(lane)
                    except NotPolynomialError:
                        continue  # a control, a count or a carry that is a variable
                    assert form.evaluate(values) == number, str(instruction)
                    checked.add(code)
    assert len(checked) > 350


def test_every_row_has_its_place_in_the_manual() -> None:
    assert all(row.manual for row in rows().values())


def test_an_instruction_without_a_row_is_refused_by_name() -> None:
    instruction = Decoder(64, bytes.fromhex("f30fb8c1"), ip=0).decode()  # popcnt eax, ecx
    with pytest.raises(Refutation, match="POPCNT_R32_RM32") as caught:
        step_of(instruction)
    assert caught.value.category is Category.UNSUPPORTED
