"""What `--backend peachpy` writes: PeachPy's instructions, proved from the file and run."""

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helpers.calling import here
from helpers.cpus import AS_FOUND, lacking

from ghashgen.arch.x86_64.assemblers import find_gas, find_nasm
from ghashgen.check.proofs import statement
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.validate import validate
from ghashgen.compiler.pairing import AllocationError
from ghashgen.ir.program import PReg, Program, RegClass, VReg
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import BACKENDS, OWN, Target, runnable, target
from ghashgen.output import generate
from ghashgen.output.artefact import finish, make
from ghashgen.output.backends import PREPARE
from ghashgen.output.peachpy import emit
from ghashgen.output.peachpy.homes import homes
from ghashgen.output.peachpy.instructions import Encoded, body, decode
from ghashgen.output.peachpy.tool import WORKER, find
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.prove import prove_object

SMALL = Kernel("avx", "k", "clmul1", 1)
SAMPLE = (
    Kernel("avx", "schoolbook", "clmul3", 2),
    Kernel("avx", "karatsuba", "shift-xor", 4, segments=True, wipe=True),
    Kernel("avx", "winograd", "clmul1", 8),
    Kernel("avx", "k", "clmul1", 6, op="polyval"),
    Kernel("avx", "karatsuba", "clmul2", 8, pipeline="ahead"),
    Kernel("avx", "k", "clmul1", 8, schedule="zen4"),
)
WHERE = target(backend="peachpy")

needs_peachpy = pytest.mark.skipif(find() is None, reason="PeachPy is not installed")


def refused(out: Path, *words: str) -> str:
    """Return the one line with which `generate --backend peachpy` refuses, writing nothing."""
    result = here("generate", *words, "--backend", "peachpy", "--out", str(out))
    assert result.returncode == 2
    assert not out.exists()
    (line,) = result.stderr.splitlines()
    return line


def test_every_back_end_has_its_code_and_the_own_one_leaves_no_trace() -> None:
    assert PREPARE.keys() == BACKENDS.keys()
    own = make(SMALL, target(), find_nasm())
    assert "backend" not in own.text
    entry = generate.manifest_entry(own, find_nasm())
    assert entry.backend == OWN
    assert "backend" not in manifest.dump([entry], {})


@needs_peachpy
@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)
def test_emitted_files_are_proved_and_run(
    kernel: Kernel, tmp_path: Path, harness_folder: Path
) -> None:
    generate.generate([kernel], WHERE, tmp_path / "out")
    where = runnable("sysv", backend="peachpy")
    (built,) = build([kernel], where, tmp_path / "out", tmp_path / "obj")
    assert built.source == f"avx/{kernel.name}.asm"
    proof = prove_object(built.obj, statement(kernel, kernel.name, "sysv"))
    assert proof.proved, str(proof.refutation)
    if missing := lacking(built.features):
        pytest.skip(f"proved; not run: this CPU has no {', '.join(missing)}")
    here = native([built], harness_folder)
    (result,) = validate([built], lambda _: here)
    assert (result.how, result.failures) == ("native", ())


@needs_peachpy
def test_the_file_holds_peachpys_registers_and_not_the_own_ones() -> None:
    kernel = SAMPLE[0]
    found = make(kernel, WHERE, find_nasm())
    own = make(kernel, target(), find_nasm())
    assert {f.name: f.registers for f in found.functions} != {
        f.name: f.registers for f in own.functions
    }
    prepared = PREPARE["peachpy"](kernel, WHERE)
    assert prepared.hold is not None
    for name, function in prepared.hold.args[2].items():  # type: ignore[attr-defined]
        items, faults = body(decode(function))
        assert faults == []
        theirs = {r for item in items for r in (*item.registers, *item.address) if r}
        written = set(found.audit.registers[name])
        assert {r for r in written if r.startswith("xmm")} <= theirs


@needs_peachpy
def test_the_command_in_the_file_emits_it_again(tmp_path: Path) -> None:
    words = ["--isa", "avx", "--multiply", "k", "--reduce", "clmul1", "--blocks", "3"]
    assert here("generate", *words, "--backend", "peachpy", "--out", str(tmp_path)).returncode == 0
    (entry,) = manifest.load(tmp_path).values()
    text = (tmp_path / entry.file).read_text(encoding="utf-8")
    assert entry.backend == "peachpy"
    assert "\n; backend    peachpy: " in text
    assert entry.regenerate.endswith(" --backend peachpy")
    assert f";   {entry.regenerate}\n" in text
    again = here(*entry.regenerate.split()[1:], "--out", "-")
    assert again.stdout == text


@needs_peachpy
def test_every_process_and_every_syntax_has_the_same_bytes() -> None:
    kernel = SAMPLE[0]
    nasm = make(kernel, WHERE, find_nasm())
    again = here("generate", "--backend", "peachpy", "--name", kernel.name, "--out", "-")
    assert again.stdout == nasm.text
    try:
        gas = find_gas()
    except GhashgenError as missing:
        pytest.skip(str(missing))
    for syntax in ("gas", "gas-att"):
        assert make(kernel, target(syntax=syntax, backend="peachpy"), gas).code == nasm.code


@needs_peachpy
def test_files_for_other_containers_are_made(tmp_path: Path) -> None:
    for fmt in ("macho64", "win64"):
        where = target("sysv", fmt, backend="peachpy")
        text = make(SMALL, where, find_nasm()).text
        assert assemble_text(find_nasm(), SMALL.name, text, fmt)


@needs_peachpy
def test_a_file_of_the_other_back_end_is_not_taken_for_the_own(tmp_path: Path) -> None:
    generate.generate([SMALL], WHERE, tmp_path / "out")
    sources = {
        name: build([SMALL], runnable("sysv", backend=name), tmp_path / "out", tmp_path / "obj")[0]
        for name in BACKENDS
    }
    assert {name: built.source for name, built in sources.items()} == {
        "own": "rendered",
        "peachpy": f"avx/{SMALL.name}.asm",
    }


def patched(function: Encoded, old: str, new: str) -> Encoded:
    """Change the first such bytes."""
    a, b = bytes.fromhex(old), bytes.fromhex(new)
    assert function.code.count(a) >= 1
    return replace(function, code=function.code.replace(a, b, 1))


def wrong_constant(function: Encoded) -> Encoded:
    at, data = min(function.constants.items())
    return replace(function, constants={**function.constants, at: data[::-1]})


def wrong_branch(function: Encoded) -> Encoded:
    """Lead the first branch one instruction further."""
    items = decode(function)
    i = next(i for i, item in enumerate(items) if item.target is not None)
    target_at = next(j for j, item in enumerate(items) if item.at == items[i].target)
    end, grown = items[i + 1].at, items[target_at + 1].at - items[target_at].at
    code = bytearray(function.code)
    code[end - 4 : end] = (int.from_bytes(code[end - 4 : end], "little") + grown).to_bytes(
        4, "little"
    )
    return replace(function, code=bytes(code))


FAULTS: Mapping[str, Callable[[Encoded], Encoded]] = {
    # the selector of VPSHUFD; VMOVDQU xmm8, [rsi] from [rdi], into xmm9, as VMOVDQA
    "immediate": lambda f: patched(f, "4e", "4f"),
    "address": lambda f: patched(f, "c57a6f06", "c57a6f07"),
    "register": lambda f: patched(f, "c57a6f06", "c57a6f0e"),
    "mnemonic": lambda f: patched(f, "c57a6f06", "c5796f06"),
    "constant": wrong_constant,
    "branch": wrong_branch,
}


@needs_peachpy
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_assembled_is_held_to_peachpys_instructions(fault: str) -> None:
    prepared = PREPARE["peachpy"](SMALL, WHERE)
    assert prepared.hold is not None
    found = dict(prepared.hold.args[2])  # type: ignore[attr-defined]
    assert finish(SMALL, WHERE, find_nasm(), prepared.compiling, prepared.hold)
    found["update"] = FAULTS[fault](found["update"])
    hold = partial(emit.hold, SMALL, WHERE, found)
    with pytest.raises(GhashgenError, match="_update: the assembled code differs from PeachPy"):
        finish(SMALL, WHERE, find_nasm(), prepared.compiling, hold)


@needs_peachpy
def test_one_register_for_two_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def crowded(selected: Program, items: object) -> dict[VReg, PReg]:
        found = homes(selected, items)  # type: ignore[arg-type]
        return {
            reg: PReg(reg.cls, 8) if reg.cls is RegClass.VEC else home
            for reg, home in found.items()
        }

    monkeypatch.setattr(emit, "homes", crowded)
    with pytest.raises(AllocationError, match="which does not hold it"):
        make(SMALL, WHERE, find_nasm())


@needs_peachpy
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: patched(f, "c57a6f06", "c57a6f0e"), "PeachPy has %v"),
        (lambda f: patched(f, "c57a6f06", "90909090"), "PeachPy made "),
        (lambda f: patched(f, "c5f877c3", "909090c3"), "PeachPy's code has no vzeroupper before"),
    ],
    ids=["register", "instruction", "epilogue"],
)
def test_bytes_that_are_not_the_program_are_refused(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Encoded], Encoded], words: str
) -> None:
    real = emit.encoded

    def wrong(kernel: Kernel, programs: Mapping[str, Program]) -> dict[str, Encoded]:
        found = real(kernel, programs)
        return {**found, "update": change(found["update"])}

    monkeypatch.setattr(emit, "encoded", wrong)
    with pytest.raises(GhashgenError, match=words):
        make(SMALL, WHERE, find_nasm())


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("55 c5f877 5d c3", ""),
        ("53 c5f877 5d c3", "does not restore rbx before ret"),
        ("c3", "has no vzeroupper before ret"),
        ("56 c5f877 5e c3", "saves rsi, which is not callee-saved"),
    ],
)
def test_the_frame_that_is_left_out_is_checked(code: str, fault: str) -> None:
    items, faults = body(decode(Encoded("f", bytes.fromhex(code), {})))
    assert (faults, items[-1].shape[0]) == ([fault] if fault else [], "ret")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--name ghash_sse_k_clmul1_x1", "isa 'avx', not 'sse'; choose isa avx, or backend"),
        ("--isa avx512 --order natural --blocks 4 --multiply k", "isa 'avx', not 'avx512'"),
        ("--name ghash_avx_k_clmul1_x1 --abi win64", "abi 'sysv', not 'win64'; choose abi"),
        ("--name ghash_avx_k_clmul1_x8_stackswap", "does not get; choose swap register"),
        ("--name ghash_*_k_clmul1_x1", "PeachPy builds only kernels of isa 'avx'"),
        (
            "--family gcm --key 128 --isa avx --multiply k --reduce clmul1 --blocks 4",
            "PeachPy builds only kernels of family 'hash'",
        ),
    ],
)
def test_what_it_cannot_encode_is_refused_and_nothing_written(
    tmp_path: Path, words: str, said: str
) -> None:
    assert said in refused(tmp_path / "out", *words.split())


@needs_peachpy
def test_a_kernel_that_would_spill_is_refused_and_nothing_written(tmp_path: Path) -> None:
    words = "--isa avx --multiply schoolbook --reduce shift-xor --blocks 6 --powers registers"
    line = refused(tmp_path / "out", *words.split())
    assert line.endswith("cannot spill; choose fewer blocks or a simpler variant, or backend own")


@pytest.mark.parametrize(
    ("python", "words"),
    [("/nonexistent/python", "No such file"), ("{bare}", "No module named 'peachpy")],
)
def test_a_missing_peachpy_is_said_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python: str, words: str
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    monkeypatch.setenv("GHASHGEN_PEACHPY_PYTHON", python.format(bare=bare))
    assert find() is None
    line = refused(tmp_path / "out", "--name", SMALL.name)
    assert line.startswith("ghashgen: PeachPy not found (")
    assert words in line
    assert line.endswith("; apt-get install python3-peachpy")


def test_the_worker_runs_under_an_old_python_without_this_package() -> None:
    tree = ast.parse(WORKER.read_text(encoding="utf-8"), feature_version=(3, 9))
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"peachpy"}


def test_an_unknown_back_end_is_named() -> None:
    with pytest.raises(GhashgenError, match="unknown backend 'peach'; choose one of own, peachpy"):
        target(backend="peach")
    assert Target().backend == OWN
