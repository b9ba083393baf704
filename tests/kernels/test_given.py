"""Kernels in a host's layout: BoringSSL's symbols and prototypes, planted faults, statements."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import gcm_faults as planting
from helpers.cpus import AS_FOUND, need

from ghashgen.check.claims.given import GivenFile, stated
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec, statement_text
from ghashgen.check.validation import given
from ghashgen.check.validation.runners import native
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.given.interface import interfaces
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.target import runnable
from ghashgen.output.artefact import make
from ghashgen.output.hosts.registry import hosts
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.prove import prove_object
from ghashgen.verify.search.certified import Certified, Searching
from ghashgen.verify.statements.given import GivenSpec

KEYS = tuple(f"key{k}" for k in range(15))
LINUX = GivenKernel("linux", "avx512", "middle", "clmul1", 16)
NARROW = GivenKernel("boringssl", "avx2", "schoolbook", "clmul2", 2)
WIDE = GivenKernel("boringssl", "avx512", "k", "clmul1", 4)
PAIRED = GivenKernel("boringssl", "avx512", "middle", "clmul1", 8)

PROTOTYPES = (
    "void gcm_init_vpclmulqdq_avx2(void *Htable, const uint8_t H[16])",
    "void gcm_gmult_vpclmulqdq_avx2(uint8_t Xi[16], const void *Htable)",
    "void gcm_ghash_vpclmulqdq_avx2(uint8_t Xi[16], const void *Htable, const uint8_t *in, "
    "size_t len)",
    *(
        f"void aes_gcm_{way}_update_vaes_avx2(const uint8_t *in, uint8_t *out, size_t len, "
        "const uint8_t key[244], const uint8_t ivec[16], const void *Htable, uint8_t Xi[16])"
        for way in ("enc", "dec")
    ),
)


def test_functions_are_called_as_boringssl_calls_them() -> None:
    own = functions_of(NARROW).values()
    assert tuple(f.prototype(f.symbol_in(NARROW.name)) for f in own) == PROTOTYPES
    wide = {f.symbol_in(WIDE.name) for f in functions_of(WIDE).values()}
    assert wide == {line.split("(")[0][5:].replace("avx2", "avx512") for line in PROTOTYPES}


def test_aws_lc_has_other_symbols_and_calls_alike() -> None:
    own = functions_of(replace(WIDE, interface="aws-lc")).values()
    assert [f.symbol for f in own] == [
        *("gcm_init_avx512", "gcm_gmult_avx512", "gcm_ghash_avx512"),
        *("ghashgen_encrypt_avx512", "ghashgen_decrypt_avx512"),
    ]
    assert [f.params for f in own] == [f.params for f in functions_of(WIDE).values()]


def test_what_the_host_has_no_room_or_symbols_for_is_refused() -> None:
    for host in (kernel for kernel in hosts()["boringssl"].wanted.made()):  # type: ignore[union-attr]
        assert host.layout.size <= 256
    with pytest.raises(GhashgenError, match="the table takes 320 bytes, and BoringSSL has 256"):
        replace(NARROW, multiply="k", reduce="clmul1", blocks=10)
    with pytest.raises(GhashgenError, match=r"Linux uses the table too, .* B12 B11 .* 0 0 0"):
        GivenKernel("linux", "avx512", "schoolbook", "clmul2", 12)
    with pytest.raises(GhashgenError, match="BoringSSL has no symbols for isa 'avx'"):
        replace(NARROW, isa="avx")
    with pytest.raises(GhashgenError, match="unknown interface 'other'"):
        replace(NARROW, interface="other")


# Planted faults.


PLANTED = tuple(
    planting.Planted(name, told, NARROW, refused=refused, **how)
    for name, told, refused, how in (
        ("H as one number", "init of subkey .*: Htable from byte",
         "gcm_init_vpclmulqdq_avx2.* table entry",
         {"old": "0x4e                    ; H", "new": "0xe4                    ; H"}),
        ("the rounds of another key", "encrypt of 1 bytes.*: out from byte 0",
         "aes_gcm_enc_update_vaes_avx2", {"old": "r10, 0x09", "new": "r10, 0x0b"}),
        ("a round key twice", "of 1 bytes.*: out from byte 0", "the output at 0 is wrong",
         {"plant": planting._keys_of_the_round_before}),
        ("lanes backwards", "crypt of 17 bytes.*: out from byte 0", "the output at 0 is wrong",
         {"plant": planting._lanes_backwards}),
    )
)  # fmt: skip
every_fault = pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)


@pytest.mark.cpu(AS_FOUND)
@every_fault
def test_a_planted_fault_is_told(
    planted: planting.Planted,
    monkeypatch: pytest.MonkeyPatch,
    nasm: Tool,
    tmp_path: Path,
    harness_folder: Path,
) -> None:
    built = planting.made(planted, monkeypatch, nasm, tmp_path)
    need(built.features)
    found = given.validate_one(native([built], harness_folder, 16), built)
    assert any(re.search(planted.words, line) for line in found.failures), found.failures[:3]


@every_fault
def test_a_planted_fault_is_not_proved(
    planted: planting.Planted, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    built = planting.made(planted, monkeypatch, nasm, tmp_path)
    spec = statement(built.kernel, built.symbol, built.abi, built.table_align)
    refutation = prove_object(built.obj, spec).refutation
    assert refutation is not None
    assert re.search(planted.refused, str(refutation)), str(refutation)


# What is right.


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("kernel", [NARROW, WIDE, PAIRED, LINUX], ids=lambda kernel: kernel.name)
def test_a_right_kernel_passes(kernel: GivenKernel, tmp_path: Path, harness_folder: Path) -> None:
    (built,) = build([kernel], runnable("sysv"), tmp_path / "none", tmp_path)
    need(built.features)
    found = given.validate_one(native([built], harness_folder, 16), built)
    assert found.ok, found.failures[:3]
    assert found.cases > 6 * found.longest_tail


@pytest.mark.parametrize(
    ("kernel", "abi"), [(NARROW, "sysv"), (WIDE, "sysv"), (NARROW, "win64")], ids=str
)
def test_a_right_kernel_is_proved_for_each_size_of_a_key(
    kernel: GivenKernel, abi: str, tmp_path: Path
) -> None:
    (built,) = build([kernel], runnable(abi), tmp_path / "none", tmp_path)
    spec = statement(kernel, built.symbol, built.abi, built.table_align)
    certified = Certified()
    proof = prove_object(built.obj, spec, certified.search)
    assert proof.proved, str(proof.refutation)
    assert all({*found["keys"]} == {"128", "192", "256"} for found in certified.found.values())
    # Another host has another number of rounds there, and at another place.
    certificates = Certified(dict(certified.found), Searching.NOWHERE)
    for other in ({"rounds_less": 0}, {"rounds_at": 256}):
        refused = prove_object(built.obj, replace(spec, **other), certificates.search).refutation
        assert refused is not None
        assert refused.symbol == functions_of(kernel)["encrypt"].symbol


# Registers in pairs, and keys counted from the last.


@pytest.mark.parametrize(
    ("pattern", "new", "refused"),
    [
        (r"(vpxorq +zmm\d+, (zmm\d+)), zmm\d+( +; C1, C2: F)", r"\1, \2\3", ""),
        (r"(vpxorq +zmm\d+, (zmm\d+)), zmm\d+( +; S)", r"\1, \2\3", ""),
        (r"\[r11 - 48\]", "[r11 - 64]", "the output at 0 is wrong"),
        (r"(cmp +r10, 0x)0b", r"\g<1>0d", ""),
        (r"(cmp +r\w+, 0x)40(\s+jae +\.powers)", r"\g<1>30\2", "of table"),
    ],
)
def test_a_fault_in_wide_text_is_not_proved(
    nasm: Tool, pattern: str, new: str, refused: str
) -> None:
    text = make(PAIRED, runnable("sysv"), nasm).text
    at = text.index("aes_gcm_enc_update_vaes_avx512:")
    planted, count = re.subn(pattern, new, text[at:], count=1)
    assert count == 1
    spec = statement(PAIRED, PAIRED.name, "sysv", 1)
    one = tuple(f for f in spec.functions if f.operation == "encrypt")
    obj = assemble_text(nasm, "planted", text[:at] + planted, "elf64")
    refutation = prove_object(obj, replace(spec, functions=one)).refutation
    assert refutation is not None
    assert refutation.symbol == "aes_gcm_enc_update_vaes_avx512"
    assert refused in str(refutation)


def test_a_table_without_zeros_ends_with_its_powers() -> None:
    """BoringSSL's has 256 bytes, and Linux's own code wants zeros behind the powers."""
    whole = replace(PAIRED, blocks=16)
    assert (whole.layout.size, whole.layout.cells[-1]) == (256, "B1")
    assert LINUX.layout.cells[-1] == "0"


# A key that has the table.


@pytest.fixture(scope="module")
def of_linux(nasm: Tool, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, GivenSpec]:
    """Return a kernel of Linux's key: its object, its text, and the statement of what is short."""
    folder = tmp_path_factory.mktemp("linux")
    (built,) = build([LINUX], runnable("sysv"), folder / "none", folder)
    spec = statement(LINUX, built.symbol, built.abi, built.table_align)
    some = tuple(f for f in spec.functions if f.operation in ("init", "update", "final"))
    text = make(LINUX, runnable("sysv"), nasm).text
    return built.obj.read_bytes(), text, replace(spec, functions=some)


def test_a_key_that_has_the_table_is_proved(of_linux: tuple[bytes, str, GivenSpec]) -> None:
    obj, _, spec = of_linux
    assert spec.table_bytes == 16 * len(spec.cells) == 832
    proof = prove_object(obj, spec)
    assert proof.proved, str(proof.refutation)


@pytest.mark.parametrize(
    ("change", "operation"),
    [
        ({"rounds_less": 20}, "init"),
        ({"rounds_at": 496}, "init"),
        ({"reverses": False}, "update"),
        ({"reverses": False}, "final"),
    ],
)
def test_another_key_is_not_what_was_proved(
    of_linux: tuple[bytes, str, GivenSpec], change: dict[str, Any], operation: str
) -> None:
    obj, _, spec = of_linux
    one = tuple(f for f in spec.functions if f.operation == operation)
    refutation = prove_object(obj, replace(spec, functions=one, **change)).refutation
    assert refutation is not None
    assert refutation.symbol == f"ghashgen_gcm_{operation}_avx512"


ZEROS = "[rax + 256], zmm0"


@pytest.mark.parametrize(
    ("old", "new", "operation", "refused"),
    [
        ("r8, 0x03", "r8, 0x02", "final", "the tag is wrong"),
        ("rcx, 0x03", "rcx, 0x02", "final", "the tag is wrong"),
        ("ecx, byte [rdi + 480]", "ecx, byte [rdi + 484]", "init", ""),
        (ZEROS, f"{ZEROS}\n vmovdqu64 [rax - 128], zmm0", "init", "something is written"),
    ],
)
def test_a_fault_in_it_is_not_proved(
    of_linux: tuple[bytes, str, GivenSpec],
    nasm: Tool,
    old: str,
    new: str,
    operation: str,
    refused: str,
) -> None:
    _, text, spec = of_linux
    assert old in text
    one = tuple(f for f in spec.functions if f.operation == operation)
    obj = assemble_text(nasm, "planted", text.replace(old, new, 1), "elf64")
    refutation = prove_object(obj, replace(spec, functions=one)).refutation
    assert refutation is not None
    assert refused in str(refutation)


# The statement.


def test_a_statement_of_a_file_is_that_of_a_kernel(tmp_path: Path) -> None:
    emitted = statement(NARROW, NARROW.name, "sysv", 1)
    (tmp_path / "k.toml").write_text(statement_text(emitted), encoding="utf-8")
    back = load_spec(tmp_path / "k.toml")
    assert replace(back, functions=()) == replace(emitted, functions=())
    assert set(back.functions) == set(emitted.functions)


def test_the_page_has_a_statement_of_boringssls_own_object(tmp_path: Path) -> None:
    page = (project_root() / "docs" / "proof.md").read_text(encoding="utf-8")
    (text,) = (part for part in re.findall(r"```toml\n(.*?)```", page, re.S) if "given" in part)
    (tmp_path / "k.toml").write_text(text, encoding="utf-8")
    own, found = functions_of(WIDE).values(), load_spec(tmp_path / "k.toml").functions
    assert {(f.statement, f.symbol, f.roles) for f in own} == {
        (f.operation, f.symbol, f.parameters) for f in found
    }


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"rounds_at": 239}, "a number of rounds at byte 239"),
        ({"rounds_at": 224}, "a number of rounds at byte 224"),
        ({"rounds_less": 10}, "1·Nr - 10"),
        ({"rounds_times": 0}, "0·Nr - 1"),
        ({"rounds_times": 19}, "19·Nr - 1"),
        ({"cells": ("key0",)}, "round keys 0 in the table"),
        ({"cells": (*KEYS, "B2", "B1"), "rounds_at": 240}, "a number of rounds at byte 240"),
        ({"cells": (*KEYS, "-", "B1"), "rounds_at": 272}, "a number of rounds at byte 272"),
        ({"abi": "fastcall"}, "no ABI 'fastcall'"),
    ],
)
def test_a_statement_that_makes_no_sense_is_refused(change: dict[str, object], cause: str) -> None:
    right = {"name": "k", "abi": "sysv", "family": "given", "key_bits": 256, "blocks": 2}
    right |= {"order": "reflected", "cells": ("B2", "B1"), "functions": {}}
    right |= {"rounds_at": interfaces()["boringssl"].rounds_at, "rounds_less": 1}
    assert stated(GivenFile(**right)).key_sizes.keys() == {"128", "192", "256"}
    with pytest.raises(GhashgenError, match=re.escape(cause)):
        stated(GivenFile(**{**right, **change}))
