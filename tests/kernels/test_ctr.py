"""AES-CTR: its catalogue, what validation and the prover tell of planted faults, its statement."""

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import gcm_faults as planting
from helpers.cpus import AS_FOUND, need
from helpers.emulating import needs_emulator

from ghashgen.check.claims.ctr import CtrFile, stated
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec, statement_text
from ghashgen.check.validation import ctr, pyca
from ghashgen.check.validation.ciphers import stepped
from ghashgen.check.validation.runners import Runner, native
from ghashgen.check.validation.trials import faults, together
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes import cipher, counters, text
from ghashgen.kernels.ctr.catalogue import catalogue
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object
from ghashgen.verify.search.certified import Certified, Searching
from ghashgen.verify.statements.ctr import CtrSpec, parse_cell

AVX = CtrKernel(128, "avx", 2)
WIDE = CtrKernel(192, "avx512", 8)


def test_the_catalogue_has_each_set_and_key_size() -> None:
    plain = [kernel for kernel in catalogue() if not kernel.wipe]
    sets = ("sse", "avx", "avx2", "avx512")
    assert {(k.isa, k.key) for k in plain} == {(i, k) for i in sets for k in (128, 192, 256)}
    assert [k.isa for k in catalogue() if k.wipe] == list(sets)
    assert all(list(functions_of(kernel)) == ["init", "crypt"] for kernel in catalogue())
    assert {k.registers for k in catalogue()} == {8}


@pytest.mark.parametrize(
    ("kernel", "cells", "held"),
    [
        (CtrKernel(128, "sse", 8), 11, 3),
        (CtrKernel(256, "avx512", 32), 15, 15),
        (CtrKernel(192, "avx2", 16, "memory"), 13, 0),
    ],
)
def test_the_context_is_the_round_keys(kernel: CtrKernel, cells: int, held: int) -> None:
    assert kernel.layout.cells == tuple(f"key{i}" for i in range(cells))
    assert kernel.held_keys == held


@pytest.mark.parametrize(
    ("axes", "cause"),
    [
        ((128, "avx512", 6), "blocks 6 do not fill registers of 4 lanes; choose a multiple of 4"),
        ((128, "avx", 12), "a group of 12 blocks would take 12 of 16 vector registers"),
        ((128, "avx", 11, "memory"), "keeps all round keys in memory anyway"),
        ((100, "avx", 8), "unknown key '100'"),
        ((128, "pmull", 8), "isa 'pmull' has no AES instructions"),
    ],
)
def test_what_makes_no_sense_is_refused(axes: tuple[object, ...], cause: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        CtrKernel(*axes)  # type: ignore[arg-type]
    assert cause in str(refusal.value)


# What is right.


@pytest.mark.parametrize("size", [16, 24, 32])
def test_the_oracle_wraps_32_bits_and_knows_the_standards_example(size: int) -> None:
    key, text, prefix = bytes(range(size)), bytes(5 * 16 + 3), b"\xff" * 12
    found = ctr.other_text(key, prefix + b"\xff\xff\xff\xfe", text)
    blocks = [prefix + n.to_bytes(4, "big") for n in (2**32 - 2, 2**32 - 1, 0, 1, 2, 3)]
    assert found == b"".join(pyca.encrypt_block(key, block) for block in blocks)[: len(text)]
    assert stepped(prefix + b"\xff\xff\xff\xfe", 6) == prefix + b"\x00\x00\x00\x04"
    for trial in ctr.known(size):
        given = bytes(trial.given["in"])
        assert ctr.other_text(trial.key, ctr.KNOWN_COUNTER, given) == trial.parts[0].wanted


def test_answers_that_differ_from_the_specification_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ctr, "other_text", lambda key, counter, text: bytes(len(text)))
    ctr.every_length.cache_clear()
    with pytest.raises(GhashgenError, match="pyca and the specification differ on 1 bytes"):
        ctr.every_length(16, 3)


# Planted faults.


def _counter_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(counters.Counters, "store", lambda self, place: None)


def _written_before_it_is_read(patch: pytest.MonkeyPatch) -> None:
    """Store the keystream, then what is read plus it: wrong in place alone."""
    right = text.add_text

    def add(b: Builder, state: VReg, key: VReg, source: Value, note: str) -> VReg:
        b.store(planting.Mem(base=b.params[3]), b.aes_last(state, key, "the keystream"))
        return right(b, state, key, source, note)

    patch.setattr(text, "add_text", add)


PLANTED = tuple(
    planting.Planted(name, told, kernel, plant, refused=refused)
    for name, told, refused, plant, kernel in (
        ("counter off by one", r"crypt of .*: .*counter from byte \d+ on",
         "function: .*crypt.* is wrong", planting._skip_one_more, AVX),
        ("counter not advanced", "counter from byte", "the counter block", _counter_stays, AVX),
        ("lanes backwards", "crypt of 17 bytes.*: out from byte 0", "the output at 0 is wrong",
         planting._lanes_backwards, WIDE),
        ("a round key twice", "of 1 bytes.*: out from byte 0", "the output at 0 is wrong",
         planting._keys_of_the_round_before, AVX),
        ("Rcon of step 9", r"init of key 0+: ctx from byte \d+ on", "round key 9 is wrong",
         planting.another_rcon, AVX),
        ("a round less", "of 1 bytes.*: out from byte 0", "the output at 0 is wrong",
         planting._a_round_less, AVX),
        ("a block where a part is due", "past the end", "memory: .*store to 16 bytes of output",
         planting._store_sixteen, AVX),
        ("written before it is read", "in place: out from byte",
         "input read where output has been written", _written_before_it_is_read, AVX),
    )
)  # fmt: skip
WIDER = planting.Planted(
    "counter of 64 bits", "crypt of .*: (out|counter) from", AVX, old="vpaddd", new="vpaddq"
)
every_fault = pytest.mark.parametrize(
    "planted", [*PLANTED, WIDER], ids=lambda planted: planted.name
)


def told(runner: Runner, built: Built[CtrKernel]) -> Iterator[str]:
    kernel = built.kernel
    try:
        for suite in ctr.SUITES.values():
            for some in together(suite(kernel.key_bytes, kernel.blocks, 0, runner.sample)):
                yield from faults(runner, built, some)
    except GhashgenError as error:
        yield str(error)


@needs_emulator[0]
@every_fault
def test_a_planted_fault_is_told(
    planted: planting.Planted,
    emulated: Runner,
    monkeypatch: pytest.MonkeyPatch,
    nasm: Tool,
    tmp_path: Path,
) -> None:
    built = planting.made(planted, monkeypatch, nasm, tmp_path)
    lines = list(told(emulated, built))
    assert any(re.search(planted.words, line) for line in lines), lines[:3]


@every_fault
def test_a_planted_fault_is_not_proved(
    planted: planting.Planted, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    built = planting.made(planted, monkeypatch, nasm, tmp_path)
    spec = statement(built.kernel, built.symbol, built.abi, built.table_align)
    proof = prove_object(built.obj, spec)
    assert proof.refutation is not None
    assert re.search(planted.refused, str(proof.refutation)), str(proof.refutation)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(("kernel", "abi"), [(AVX, "sysv"), (WIDE, "sysv"), (AVX, "win64")])
def test_a_right_kernel_passes(
    kernel: CtrKernel, abi: str, tmp_path: Path, harness_folder: Path
) -> None:
    (built,) = build([kernel], runnable(abi), tmp_path / "none", tmp_path)
    need(built.features)
    found = ctr.validator([built])(native([built], harness_folder), built)
    assert found.ok, found.failures[:3]
    assert found.cases > 2 * found.longest_tail


@pytest.mark.parametrize("kernel", [AVX, WIDE, CtrKernel(256, "avx2", 4, "memory", wipe=True)])
def test_a_right_kernel_is_proved_by_certificates_alone(kernel: CtrKernel, tmp_path: Path) -> None:
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    spec = statement(kernel, built.symbol, built.abi, built.table_align)
    certified = Certified()
    proof = prove_object(built.obj, spec, certified.search)
    assert proof.proved, str(proof.refutation)
    methods = {t.method for t in proof.theorems if t.symbol.endswith("crypt")}
    assert methods == {"certificate, apart", "certificate, in place"}
    given = Certified(dict(certified.found), Searching.NOWHERE)
    assert prove_object(built.obj, spec, given.search).proved
    # With an assertion that is a block off it is not.
    symbol = f"{kernel.name}_crypt"
    wrong = copy.deepcopy(certified.found)
    (loop,) = wrong[symbol]["assertions"].values()
    (place,) = (place for place, said in loop["places"].items() if said[:2] == ["p", "input"])
    loop["places"][place][2] += "+16"
    edited = Certified(wrong, Searching.NOWHERE)
    refutation = prove_object(built.obj, spec, edited.search).refutation
    assert refutation is not None
    assert (refutation.symbol, refutation.category) == (symbol, Category.UNSUPPORTED)
    assert f"the certificate of {symbol} is refused" in str(refutation)


# The statement.

FILE = {
    "name": "k",
    "abi": "sysv",
    "family": "ctr",
    "key_bits": 128,
    "blocks": 8,
    "cells": tuple(f"key{i}" for i in range(11)),
    "functions": {},
}


def test_a_statement_of_a_file_is_that_of_a_kernel(tmp_path: Path) -> None:
    spec = stated(CtrFile(**FILE))  # type: ignore[arg-type]
    emitted = statement(CtrKernel(128, "avx", 8), "k", "sysv", 16)
    assert isinstance(emitted, CtrSpec)
    assert spec == replace(emitted, name="k", functions=())
    (tmp_path / "k.toml").write_text(statement_text(emitted), encoding="utf-8")
    back = load_spec(tmp_path / "k.toml")
    assert replace(back, functions=()) == replace(emitted, functions=())
    assert set(back.functions) == set(emitted.functions)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"key_bits": 100}, "a key of 100 bits"),
        ({"cells": ("key0", "-")}, "round keys 0 in the table"),
        ({"abi": "fastcall"}, "no ABI 'fastcall'"),
        ({"blocks": 0}, "0 blocks per group"),
        ({"table_bytes": 16}, "11 cells do not fit in 16 bytes"),
        ({"table_align": 3}, "a table alignment of 3 bytes"),
        ({"cells": ("H1",)}, "no table cell 'H1'"),
    ],
)
def test_a_statement_that_makes_no_sense_is_refused(change: dict[str, object], cause: str) -> None:
    with pytest.raises(GhashgenError, match=re.escape(cause)):
        stated(CtrFile(**{**FILE, **change}))  # type: ignore[arg-type]


def test_a_cell_is_a_round_key_or_nothing() -> None:
    assert (parse_cell("key12"), parse_cell("-")) == (("key", 12), None)
    assert cipher.ROUNDS == {128: 10, 192: 12, 256: 14}
