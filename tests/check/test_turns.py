"""Many turns of a loop: running them finds wrong objects that an earlier prover called proved."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.attacking import source
from helpers.attacking import statement as statement_of
from helpers.compiling import emitted_text
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, need
from helpers.emulating import needs_emulator, pooled
from helpers.parked import WRONG_FROM, assembled, stated, toml
from helpers.verify_objects import ASM
from helpers.verify_objects import assembled as assembled_text

from ghashgen.check import running
from ghashgen.check.running import run
from ghashgen.check.sampled.cells import cell
from ghashgen.check.stated import stated as callee_of
from ghashgen.check.statements import load_spec
from ghashgen.check.validation import hash as hash_validator
from ghashgen.check.validation import hashes, turns
from ghashgen.check.validation.gcm import turns as gcm_turns
from ghashgen.check.validation.hashes import Hash
from ghashgen.check.validation.runners import Emulated, Runner, native
from ghashgen.check.validation.trials import Part, Trial, faults
from ghashgen.check.validation.trials import run as run_trials
from ghashgen.cli.verbs.prove_object import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.run.built import build
from ghashgen.run.emulate import Emulator
from ghashgen.support.errors import GhashgenError
from ghashgen.verify import prove as proving
from ghashgen.verify.checking import Way
from ghashgen.verify.search.certified import Certified

objects = pytest.mark.parametrize("name", ["seal", "aad", "over_read"])
NEEDS = ("aesni", "avx", "pclmulqdq")

TOLD = {
    "seal": r"seal of \d+ bytes, AAD of .*: (out|tag) from byte \d+ on: got .*, expected ",
    "aad": r"aad of \d+ bytes after \d+: state from byte 0 on: got .*, expected ",
    "over_read": r"seal of \d+ bytes, AAD of .*: read .*1 byte past the end",
}


@pytest.fixture
def uncured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every function be proved, as by a checker with a hole."""
    monkeypatch.setattr(
        proving, "check_function", lambda image, spec, f, data: Way("0..1", 1, 1, 1)
    )
    monkeypatch.setattr(Certified, "search", lambda self, image, spec, f, check: check({}))


def written(folder: Path, data: bytes) -> Path:
    path = folder / "object.o"
    path.write_bytes(data)
    return path


def prove(obj: Path, spec: Path, *more: str) -> Result:
    return CliRunner().invoke(COMMAND, [str(obj), "--spec", str(spec), *more])


# The plan.


@pytest.mark.parametrize("blocks", [1, 2, 3, 8, 14, 15, 48])
@pytest.mark.parametrize("multiple", [1, 16])
def test_every_residue_is_run_at_sixteen_turns(blocks: int, multiple: int) -> None:
    group, found = 16 * blocks, turns.lengths(blocks, False, multiple)
    assert list(found) == sorted(set(found))
    assert all(n % multiple == 0 for n in found)
    rests = range(0, 16, min(16, multiple))
    for turn in range(3, 17):
        assert {n % 16 for n in found if n // group == turn} >= {*rests}
    assert {*range(2 * group + 32, 3 * group, multiple)} <= {*found}
    near = [n for n in found if 3 <= n // group <= 16]
    assert {n % group for n in near} >= {
        16 * block + rest for block in range(blocks) for rest in rests
    }
    assert 60 * group < max(found) <= 64 * group
    assert sum(n > 16 * group + group // 2 for n in found) >= turns.DRAWN - 1


@pytest.mark.parametrize("blocks", [1, 2, 8, 48])
def test_few_still_have_every_residue_modulo_16(blocks: int) -> None:
    found = turns.lengths(blocks, True)
    assert {n % 16 for n in found if n // (16 * blocks) in range(3, 17)} == {*range(16)}
    assert len(found) <= 2 * 16 + turns.DRAWN_FEW
    assert max(found) <= 64 * 16 * blocks


@pytest.mark.parametrize("few", [False, True])
def test_calls_meet_pages_on_both_sides_and_in_place(few: bool) -> None:
    trials = [
        Trial("encrypt", str(n), b"", {"in": bytes(n)}, [Part("out", b"")])
        for n in turns.lengths(8, False)
    ]
    made = list(turns.on_both_sides(trials, few))
    ways = {(int(t.what) % 16, t.at_start, t.in_place) for t in made}
    assert ways == {(r, s, p) for r in range(16) for s in (False, True) for p in (False, True)}
    assert len(made) == len(trials) * (1 if few else 2)


# Objects that a prover without the cure calls proved.


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.usefixtures("uncured")
@objects
def test_without_the_cure_running_alone_finds_it(name: str, tmp_path: Path) -> None:
    need(NEEDS)
    wrong = written(tmp_path, assembled(name, True))
    done = prove(wrong, toml(name), "--no-run")
    assert done.exit_code == 0, done.output
    assert "parked: proved" in done.output
    assert "not run: --no-run was given" in done.output
    done = prove(wrong, toml(name))
    assert "parked: proved" in done.output
    assert isinstance(done.exception, GhashgenError)
    with pytest.raises(GhashgenError, match=f"proved, and wrong when run: {TOLD[name]}"):
        raise done.exception
    done = prove(written(tmp_path, assembled(name, False)), toml(name), "--json")
    assert done.exit_code == 0, done.output
    ran = json.loads(done.stdout)["run"]
    assert (ran["how"], ran["wrong"], ran["not_run"]) == ("native", "", "")
    assert ran["calls"] > 1000


def told_by_turns(runner: Runner, obj: Path, name: str) -> tuple[list[str], list[str]]:
    """Return what is told at lengths that the object is right at, and at the others."""
    found = callee_of(stated(name), obj)
    few, (function,) = isinstance(runner, Emulated), {*found.exported} - {"init"}
    right, wrong = list[Trial](), list[Trial]()
    for trial in gcm_turns.trials(function, found.key_bytes, found.blocks, few):
        text = trial.given["aad" if function == "aad" else "in"]
        assert isinstance(text, bytes)
        # A piece of AAD first fills the block that has begun.
        (wrong if len(text) >= WRONG_FROM + 16 else right).append(trial)
    return told(runner, obj, name, [t for t in right if short(t)]), told(runner, obj, name, wrong)


def short(trial: Trial) -> bool:
    return all(len(v) < WRONG_FROM for v in trial.given.values() if isinstance(v, bytes))


def told(runner: Runner, obj: Path, name: str, trials: list[Trial]) -> list[str]:
    try:
        return list(faults(runner, callee_of(stated(name), obj), trials))
    except GhashgenError as stopped:
        return [str(stopped)]


@pytest.mark.cpu(AS_FOUND)
@objects
def test_turns_alone_find_it_natively(name: str, tmp_path: Path, harness_folder: Path) -> None:
    need(NEEDS)
    for fault in (True, False):
        obj = written(tmp_path, assembled(name, fault))
        runner = running.native_runner(callee_of(stated(name), obj), harness_folder)
        near, far = told_by_turns(runner, obj, name)
        assert near == []
        assert bool(far) is fault, far[:3]


@needs_emulator[0]
@objects
def test_turns_alone_find_it_in_the_emulator(name: str, emulator: Emulator, tmp_path: Path) -> None:
    for fault in (True, False):
        near, far = told_by_turns(pooled(emulator), written(tmp_path, assembled(name, fault)), name)
        assert near == []
        assert bool(far) is fault, far[:3]


# Objects of all kinds, by their statements.

FOREIGN = ("foreign", "wide", "lanes", "natural", "stitched")


@needs_emulator[0]
@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("name", FOREIGN)
def test_right_objects_of_others_are_right(name: str, tmp_path: Path, harness_folder: Path) -> None:
    """With and without init, in orders of their own, with lengths in whole blocks."""
    obj = written(tmp_path, assembled_text((ASM / f"{name}.asm").read_text()))
    ran = run(load_spec(ASM / f"{name}.toml"), obj, harness_folder)
    assert (ran.wrong, ran.not_run) == ("", "")
    assert ran.how == ("emulated" if lacking(running.needed(obj)) else "native")
    assert ran.calls > 10


@pytest.mark.cpu(AS_FOUND)
def test_a_length_in_blocks(tmp_path: Path, harness_folder: Path) -> None:
    need(("pclmulqdq", "ssse3"))
    text = (ASM / "foreign.asm").read_text()
    label = "\nforeign_ghash:\n"
    assert text.count(label) == 1
    obj = written(tmp_path, assembled_text(text.replace(label, f"{label}    shl rcx, 4\n")))
    spec = load_spec(ASM / "foreign.toml")
    functions = tuple(
        replace(f, length_unit=16) if f.operation == "update" else f for f in spec.functions
    )
    assert run(replace(spec, functions=functions), obj, harness_folder).wrong == ""
    assert run(spec, obj, harness_folder).wrong


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("name", ["tail_kept", "block_kept", "sign_of_length", "narrow_test"])
def test_hashes_that_are_wrong_at_a_later_turn(
    name: str, tmp_path: Path, harness_folder: Path
) -> None:
    need(("pclmulqdq", "ssse3"))
    spec = statement_of("update", length_multiple=1 if name == "tail_kept" else 16)
    for fault in (True, False):
        obj = written(tmp_path, assembled_text(source(name, fault)))
        ran = run(spec, obj, harness_folder)
        assert ran.not_run == ""
        assert bool(ran.wrong) is fault, ran.text
        if fault:
            assert "update of " in ran.wrong
            assert ": x from byte " in ran.wrong


BROKEN = {
    "jmp $": "does not return|no return|CPU time|endless|time",
    "ud2": "illegal instruction|invalid opcode|#UD",
    "mov rbx, 1": "rbx",
    "std": "direction flag",
    "mov rax, [rdx + rcx]": "1 byte past the end|past the end",
    "mov rax, [rdx - 1]": "read at in",
    "mov byte [rdx], 0": "write",
    "mov byte [rdi + 16], 0": "past the end",
}
"""What is put before the code of a right hash, and how it is told."""


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("line", BROKEN)
def test_what_breaks_is_one_line(line: str, tmp_path: Path, harness_folder: Path) -> None:
    need(("pclmulqdq", "ssse3"))
    text, label = (ASM / "foreign.asm").read_text(), "\nforeign_ghash:\n"
    obj = written(tmp_path, assembled_text(text.replace(label, f"{label}    {line}\n")))
    done = prove(obj, ASM / "foreign.toml")
    assert "not run: it is not proved" in done.output
    done = prove(obj, ASM / "foreign.toml", "--run")
    assert isinstance(done.exception, GhashgenError)
    cause = done.exception.cause
    assert "is wrong when run: update of " in cause
    assert "\n" not in cause
    assert re.search(BROKEN[line], cause), cause


def test_where_nothing_can_run_it_the_verdict_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_cpu(*arguments: object) -> None:
        raise GhashgenError("this CPU lacks avx512f")

    def no_emulator(self: Emulator) -> None:
        raise GhashgenError("bochscpu-python is not installed", "install it")

    monkeypatch.setattr(running, "native_runner", no_cpu)
    monkeypatch.setattr(Emulator, "features", no_emulator)
    obj = written(tmp_path, assembled_text((ASM / "foreign.asm").read_text()))
    done = prove(obj, ASM / "foreign.toml")
    assert done.exit_code == 0, done.output
    words = "this CPU lacks avx512f, and bochscpu-python is not installed; install it"
    assert f"not run: {words}" in done.output
    done = prove(obj, ASM / "foreign.toml", "--run")
    assert isinstance(done.exception, GhashgenError)
    assert f"was not run: {words}" in done.exception.cause


# Kernels of this project.


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    "kernel",
    [
        Kernel("avx", "winograd", "clmul1", 8, op="polyval", segments=True),
        Kernel("avx", "k", "clmul1", 3, segments=True, columns=4),
        Kernel("sse", "karatsuba", "clmul2", 4, segments=True),
    ],
    ids=lambda kernel: kernel.name,
)
def test_the_field_answers_for_every_function_of_a_hash(
    kernel: Kernel, tmp_path: Path, harness_folder: Path
) -> None:
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    need(built.features)
    runner = native([built], harness_folder)
    cells = tuple(cell(text) for text in kernel.layout.cells)
    asked = Hash(kernel.op, kernel.bit_order, kernel.blocks, cells, False)
    assert {*hashes.SUITES} >= {*built.exported}
    for name, own in built.exported.items():
        made, wrong = run_trials(runner, built, hashes.SUITES[name](asked, own))
        assert (made > 0, wrong) == (True, []), name


@pytest.mark.cpu(AS_FOUND)
def test_validation_sees_what_a_seventh_turn_does_wrong(
    tmp_path: Path, harness_folder: Path
) -> None:
    kernel = Kernel("avx", "k", "clmul1", 2)
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    need(built.features)
    text, head = emitted_text(kernel, runnable("sysv")), "\n.group:\n"
    before, found, after = text.partition(f"{kernel.name}_update:\n")
    assert after.count(head) == 1
    # Seven groups are left at some turn: from there on one bit of X is another one.
    planted = f"{head}    cmp rcx, 32 * 7\n    jne .kept\n    vpxor xmm1, xmm1, xmm0\n.kept:\n"
    obj = written(tmp_path, assembled_text(before + found + after.replace(head, planted)))
    wrong = replace(built, obj=obj)
    for each, fault in ((wrong, True), (built, False)):
        runner = native([each], harness_folder)
        _, lines = hash_validator.turned(runner, each)
        assert bool(lines) is fault
        assert all(line.startswith("update of ") for line in lines)
    bound = hash_validator.tail_bound(kernel.blocks)
    validated = hash_validator.validate_one(native([wrong], harness_folder), wrong, bound)
    assert not validated.ok
