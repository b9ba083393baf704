"""The part `programs` of the attack: quick, and shown to see a prover with a hole open again."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, features

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack import program_run, program_trap
from ghashgen.check.attack.core import Options
from ghashgen.check.attack.long_messages import Hashed
from ghashgen.check.attack.parts import programs as part
from ghashgen.check.attack.program_abi import CONVENTIONS
from ghashgen.check.attack.program_make import KINDS, Program, program
from ghashgen.check.attack.program_run import QUICK, STATE, SUBKEY, assembled, judge, run
from ghashgen.check.attack.program_trap import Step
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.values import Linear, Pointer, Value
from ghashgen.verify.machine import flags
from ghashgen.verify.search import telling
from ghashgen.verify.x86_64 import operands
from ghashgen.verify.x86_64.rows import general as semantics_general

SEED = 1


def some(kind: str, numbers: range) -> list[Program]:
    """Those of the programs that are of a kind and were changed."""
    made = (program(SEED, number) for number in numbers)
    return [one for one in made if one.kind == kind and one.changed]


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("abi", CONVENTIONS)
@pytest.mark.parametrize("count", [20, 60])
def test_a_sample_of_programs(count: int, abi: str) -> None:
    fates = judge([program(SEED, number, abi) for number in range(count)], features(), QUICK)
    outcome = part.outcome(fates, SEED)
    assert [finding.wrong for finding in outcome.findings] == []
    assert outcome.tried == count
    accepted = outcome.right + sum(outcome.not_run.values())
    assert count // 10 < accepted < count // 2
    assert any(fate.refutation is None and fate.program.changed for fate in fates)


def test_programs_are_the_same_again_and_of_every_kind() -> None:
    assert program(5, 77) == program(5, 77)
    assert {program(SEED, number).kind for number in range(200)} == set(KINDS)
    drawn = [part.convention(number, Options(1, Path()).abis) for number in range(10)]
    assert {drawn.count(abi) for abi in CONVENTIONS} == {5}
    # A convention surrounds a body, and changes nothing in it.
    assert program(5, 77, "win64").kind == program(5, 77).kind


def test_hashes_of_long_messages() -> None:
    known = Hashed(SUBKEY, STATE, "a test", 300)
    for length in (0, 1, 15, 16, 17, 160, 299):
        assert known.after(length) == ghash_padded(SUBKEY, STATE, known.message[:length])
    for length in (0, 16, 17, 160):
        assert known.after_zeros(length) == ghash_padded(SUBKEY, STATE, bytes(length))


Hole = Callable[[pytest.MonkeyPatch], None]


def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arithmetic on an unknown length in 8, 16 or 32 bits is that in 64."""
    narrow = operands.narrow
    monkeypatch.setattr(
        operands, "narrow", lambda m, v, bits: v if isinstance(v, Linear) else narrow(m, v, bits)
    )
    for name in ("of_sum", "of_difference", "of_result"):
        real = getattr(flags, name)

        def in_64(*given: object, real: Callable[..., object] = real, at: int = 3) -> object:
            words = list(given)
            if any(isinstance(value, Linear) for value in given):
                words[at] = 64
            return real(*words)

        if name == "of_result":
            monkeypatch.setattr(semantics_general, name, lambda *given, f=in_64: f(*given, at=2))
        else:
            monkeypatch.setattr(semantics_general, name, in_64)


def sign_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign flag of a comparison with an unknown says less-than."""
    real = flags.of_difference

    def guessed(
        facts: Facts, a: Value, b: Value, bits: int, inside: Callable[[Pointer], bool]
    ) -> flags.Flags:
        out = real(facts, a, b, bits, inside)
        unknown = isinstance(a, Linear) or isinstance(b, Linear)
        return replace(out, sign=out.carry) if unknown else out

    monkeypatch.setattr(semantics_general, "of_difference", guessed)
    # Runs at chosen lengths, where nothing is unknown, would tell before the search goes on.
    monkeypatch.setattr(telling.Runs, "go_on", lambda *given: None)


HOLES: dict[str, tuple[Hole, str, range]] = {
    "narrow is wide": (wide, "width", range(80, 100)),
    "sign is less": (sign_is_less, "trap", range(1005, 1015)),
}
"""Holes that were closed, each with programs of SEED that see it open again."""


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("name", sorted(HOLES))
def test_an_open_hole_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hole, kind, numbers = HOLES[name]
    programs = some(kind, numbers)
    assert not [f for f in judge(programs, features(), QUICK) if f.wrong]
    hole(monkeypatch)
    fates = judge(programs, features(), QUICK)
    if any(fate.lacking for fate in fates) and not features() >= {"pclmulqdq", "ssse3"}:
        pytest.skip("this CPU lacks pclmulqdq or ssse3")
    outcome = part.outcome(fates, SEED)
    assert outcome.findings
    assert "expected" in outcome.findings[0].wrong


WRONG = {
    "a register that is kept": ("mov rbx, 5\n ret", "registers to be kept"),
    "a store before the state": ("mov byte [rdi - 1], 0\n ret", "before the state"),
    "the input written": ("test rcx, rcx\n jz .e\n mov byte [rdx], 0\n.e: ret", "signal 11"),
    "a load beyond the end": ("mov al, [rdx + rcx]\n ret", "signal 11"),
    "a direction": ("std\n ret", "registers to be kept"),
    "nothing done": ("ret", "expected"),
}


@pytest.mark.cpu(AS_FOUND)
def test_what_computes_without_end_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_run, "SECONDS", 0.3)
    one = replace(program(SEED, 0), name="p0", text="global p0\np0: jmp p0\n", multiple=16)
    fate = run(assembled([one]), [one], QUICK)["p0"]
    assert fate.wrong == "0 bytes: it does not return"


@pytest.mark.cpu(AS_FOUND)
def test_what_waits_for_a_busy_machine_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is the program's own: here it waits for twice as long in the kernel."""
    monkeypatch.setattr(program_run, "SECONDS", 0.3)
    sleeps = "mov qword [rdi], 0\n mov qword [rdi + 8], 600000000\n mov eax, 35\n xor esi, esi\n"
    text = f"global p0\np0:\n test rcx, rcx\n jnz .e\n {sleeps} syscall\n.e: ret\n"
    one = replace(program(SEED, 0), name="p0", text=text, multiple=16)
    fate = run(assembled([one]), [one], QUICK)["p0"]
    assert fate.wrong is not None
    assert "expected" in fate.wrong


WRONG_ON_WINDOWS = {
    "rsi": ("mov rsi, r8\n ret", "registers to be kept"),
    "rdi": ("xor edi, edi\n ret", "registers to be kept"),
    "the low half of xmm6": ("pxor xmm6, xmm6\n ret", "registers to be kept"),
    "the high half of xmm15": ("movq xmm15, xmm15\n ret", "registers to be kept"),
    "the caller's stack": ("mov qword [rsp + 40], 0\n ret", "registers to be kept"),
    "a store before the state": ("mov byte [rcx - 1], 0\n ret", "before the state"),
    "a load beyond the end": ("mov al, [r8 + r9]\n ret", "signal 11"),
    # Bytes that are the function's own, and registers that it may leave as it likes.
    "nothing but the result": ("mov qword [rsp + 32], 0\n pxor xmm5, xmm5\n ret", "expected"),
}


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("abi", "name"),
    [*(("sysv", name) for name in WRONG), *(("win64", name) for name in WRONG_ON_WINDOWS)],
)
def test_what_running_sees(abi: str, name: str) -> None:
    body, words = (WRONG if abi == "sysv" else WRONG_ON_WINDOWS)[name]
    text = f"global p0\np0:\n {body}\n"
    wrong = replace(program(SEED, 0, abi), name="p0", text=text, multiple=16)
    fate = run(assembled([wrong]), [wrong], QUICK)["p0"]
    assert fate.wrong is not None
    assert words in fate.wrong


@pytest.fixture(scope="module")
def stepped() -> Callable[[str, int], tuple[int, int]]:
    """Runs one instruction on rdi; returns the register and the flags."""
    import mmap

    pages = []

    def run_one(text: str, value: int) -> tuple[int, int]:
        code = assemble_text(
            find_nasm(),
            "step",
            f"bits 64\nmov rax, rdi\n{text}\npushfq\npop rcx\nmov [rsi], rcx\nret\n",
            "bin",
        )
        page = mmap.mmap(-1, 4096, prot=7)
        pages.append(page)
        page[: len(code)] = code
        at = ctypes.addressof(ctypes.c_char.from_buffer(page))
        function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(at)
        word = ctypes.c_uint64()
        return function(value, ctypes.addressof(word)), word.value

    return run_one


def test_the_steps_of_a_trap_are_what_the_cpu_does(
    stepped: Callable[[str, int], tuple[int, int]],
) -> None:
    import random

    rng = random.Random(9)
    bits = (0, 6, 7, 11)
    for _ in range(60):
        step: Step = program_trap._step(rng, rng.random() < 0.6)
        value = rng.choice((0, 64, 128, 1 << 31, (1 << 62) - 16, rng.getrandbits(62)))
        got, word = stepped(step.text("rax"), value)
        result, found = step.run(value, (None,) * 4)
        assert got == result, step
        for bit, flag in zip(bits, found, strict=True):
            assert flag is None or flag == bool(word >> bit & 1), (step, bit)
