"""The rows of control flow and of the stack against this CPU, in short pieces of code.

A piece moves the stack pointer into the buffer of the harness, so that pushes are bytes to compare,
and leaves it in rdi. The rows run it at the address at which the CPU ran it.
"""

import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.row_checking import INSTANCES, checkable, natively
from iced_x86 import Decoder, Instruction

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack import row_cases as cases
from ghashgen.check.attack import row_child as native
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.machine.memory import is_return_address
from ghashgen.verify.x86_64.conditions import CONDITIONS
from ghashgen.verify.x86_64.machine import GPR_NAMES
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

UNCHECKED: dict[str, str] = {}
"""Rows that neither the CPU nor the emulator checks, each with the reason; SOUNDNESS.md too."""

PLAIN = [name for name in GPR_NAMES if name not in ("rsp", "rsi", "rdi")]
"""Registers that hold numbers; rdi takes the stack pointer at the end."""


@cache
def assembled(text: str) -> bytes:
    """Return the bytes of a few lines that begin at the slot of the harness."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "piece.asm", Path(folder) / "piece.bin"
        source.write_text(f"bits 64\n{text}\n")
        nasm = [*find_nasm().command, "-f", "bin", str(source), "-o", str(out)]
        subprocess.run(nasm, check=True)
        return out.read_bytes()


def piece(body: str) -> bytes:
    return assembled(f"lea rsp, [rsi + 32]\n{body}\nmov rdi, rsp\n")


def branches() -> Iterator[tuple[str, bytes]]:
    for condition in CONDITIONS:
        for size in ("short", "near"):
            body = f"mov eax, 1\nj{condition} {size} there\nmov eax, 2\nthere:"
            yield f"j{condition} {size}", piece(body)
            back = f"mov eax, 1\njmp {size} end\nmov eax, 3\nend: nop"
            yield f"jmp {size}", piece(back)


def stack() -> Iterator[tuple[str, bytes]]:
    for name in [*PLAIN, "rsp", "rsi"]:
        yield f"push {name}", piece(f"push {name}")
        if name != "rsi":
            yield f"push and pop {name}", piece(f"push {name}\npop rax")
    for name in PLAIN:
        yield f"pop {name}", piece(f"pop {name}\npop {name}")
    yield "pop rsp", piece("push rsi\npop rsp")
    yield "pop rsp from a pushed rsp", piece("push rsp\npop rsp\npush rax")
    yield "call", piece("call there\nmov eax, 1\njmp end\nthere: mov ecx, 5\nend:")
    yield "call and ret", piece("call there\njmp end\nthere: mov ecx, 5\nret\nmov edx, 9\nend:")
    yield "call back", piece("jmp start\nthere: mov ecx, 5\nret\nstart: call there\nmov eax, 3")
    yield "calls in calls", piece("call a\njmp end\na: call b\npush rax\npop rbx\nret\nb: push rdx"
                                  "\npop rax\nret\nend:")  # fmt: skip
    yield "leave", piece("lea rbp, [rsi + 8]\nleave")
    yield "a frame", piece("push rbp\nmov rbp, rsp\nsub rsp, 24\nmov [rsp], rax\nleave")


COMPARED = ((0, 0), (1, 2), (2, 1), (1 << 63, 1), ((1 << 63) - 1, (1 << 64) - 1), (9, 9))
"""What set the flags, so that each is met set and clear: less, equal, greater, overflow."""


@cache
def pieces() -> list[tuple[str, bytes]]:
    return [*branches(), *stack()]


def instructions(data: bytes, ip: int) -> list[Instruction]:
    return list(Decoder(64, data, ip=ip))


def follow(data: bytes, state: cases.State, at: int) -> cases.Machine:
    """Run the rows over a piece that lies in the slot; `at` is the address in rsi."""
    m = cases.machine_of(state, Terms(lambda kind, power: NotImplemented))
    slot = at - cases.START - native.BUFFER + native.SLOT
    found = {int(i.ip): i for i in instructions(data, slot)}
    ip, end = slot, slot + len(data)
    for _ in range(64):
        if ip == end:
            return m
        m.terms.at = ip
        following = step_of(found[ip])(m)
        ip = int(found[ip].next_ip) if following is None else following
    raise AssertionError("the piece does not end")


def as_number(value: Value, at: int, after: Mapping[int, int]) -> object:
    """Return what the CPU has there; `after` says what follows the instruction at an address."""
    if isinstance(value, Pointer):
        assert isinstance(value.offset, int)
        return at + value.offset - cases.START
    if is_return_address(value):
        assert isinstance(value, Term)
        return after[value.at]
    return value


def compare(name: str, data: bytes, state: cases.State, *after: object) -> list[str]:
    at = after[-1]
    assert isinstance(at, int)
    m = follow(data, state, at)
    slot = at - cases.START - native.BUFFER + native.SLOT
    following = {int(i.ip): int(i.next_ip) for i in instructions(data, slot)}
    written = m.memory.written[cases.BUFFER]
    for k, (value, byte) in list(written.items()):
        written[k] = (as_number(value, at, following), byte)  # type: ignore[assignment]
    found = cases.differences(m, state.memory, *after)  # type: ignore[arg-type]
    return [f"{name}: {difference}" for difference in found]


def run(todo: list[tuple[str, bytes, cases.State]], folder: Path) -> list[str]:
    left = natively([(data, state) for _, data, state in todo], folder)
    return [
        wrong
        for (name, data, state), after in zip(todo, left, strict=True)
        for wrong in compare(name, data, state, *after)
    ]


def todo(each: int) -> list[tuple[str, bytes, cases.State]]:
    rng = random.Random(23)
    states = [
        (name, data, k, cases.random_state(rng)) for name, data in pieces() for k in range(each)
    ]
    return [
        (name, data, replace(state, flags=COMPARED[k]) if k < len(COMPARED) else state)
        for name, data, k, state in states
    ]


@pytest.mark.cpu
def test_control_flow_and_stack_match_this_cpu(tmp_path: Path) -> None:
    assert max(len(data) for _, data in pieces()) <= native.SLOT_BYTES
    assert run(todo(12), tmp_path) == []


def test_every_condition_is_seen_true_and_false() -> None:
    seen: dict[str, set[bool]] = {condition: set() for condition in CONDITIONS}
    for name, data, state in todo(12):
        if name.startswith("j") and name.split()[0] != "jmp":
            m = follow(data, state, 1 << 20)
            seen[name.split()[0][1:]].add(m.gpr[0] == 1)
    assert all(both == {True, False} for both in seen.values())


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("piece_name", "other"),
    [("push rbx", "push rcx"), ("jb near", "jae near"), ("pop rax", "pop rcx")],
)
def test_a_mistake_in_a_row_would_be_noticed(piece_name: str, other: str, tmp_path: Path) -> None:
    """The CPU runs one piece, the rows another."""
    data, wrong = dict(pieces())[piece_name], dict(pieces())[other]
    state = cases.random_state(random.Random(5))
    assert run([(piece_name, data, state)], tmp_path) == []
    real = follow
    try:
        globals()["follow"] = lambda d, s, at: real(wrong, s, at)
        assert run([(piece_name, data, state)], tmp_path) != []
    finally:
        globals()["follow"] = real


def unchecked() -> list[str]:
    """Rows without an instance in test_verify_py and without a piece here."""
    here = {i.code for _, data in pieces() for i in instructions(data, 0)}
    return [
        code_name(code) for code in rows() if code not in here and not checkable(code, 1, INSTANCES)
    ]


def test_every_row_is_checked_or_listed() -> None:
    assert sorted(unchecked()) == sorted(UNCHECKED)
    soundness = (Path(__file__).parents[2] / "SOUNDNESS.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in soundness for name in UNCHECKED)


def test_a_row_without_a_check_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [(name, data) for name, data in pieces() if "leave" not in name and "frame" not in name]
    monkeypatch.setattr(sys.modules[__name__], "pieces", lambda: kept)
    assert unchecked() == ["LEAVEQ"]


def test_a_masked_affine_map_is_refused() -> None:
    """No CPU here has it, and the emulator masks it by qword: nothing could check the row."""
    masked = unmasked = 0
    for code in rows():
        if "GF2P8AFFINEQB" not in code_name(code):
            continue
        for i, _ in cases.instances(code, 3, 24):
            if i.has_op_mask:
                masked += 1
                with pytest.raises(Refutation, match="masked GF2P8AFFINEQB"):
                    step_of(i)
            else:
                unmasked += 1
                step_of(i)
    assert masked > 10
    assert unmasked > 10
