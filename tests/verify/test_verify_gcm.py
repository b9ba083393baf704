"""Key set-up of AES-GCM by hand: proved for every key; planted faults are refused, and named."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.gcm_by_hand import WAYS, source, spec
from helpers.verify_objects import ASM, assembled

from ghashgen.check.statements import load_spec, statement_text
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import THEOREMS, Proof, prove_object
from ghashgen.verify.statements.gcm import GcmFunction, parse_cell


def proved(text: str, bits: int, **changes: object) -> Proof:
    proof = prove_object(assembled(text), spec(bits, **changes))
    explain(proof.refutation)
    return proof


def planted(way: str, bits: int, old: str, new: str) -> Proof:
    text = source(way, bits)
    assert text.count(old) == 1, old
    return proved(text.replace(old, new), bits)


@pytest.mark.parametrize(("way", "bits"), WAYS)
def test_it_is_proved_for_every_key(way: str, bits: int) -> None:
    proof = proved(source(way, bits), bits)
    assert proof.refutation is None, str(proof.refutation)
    shown = {(t.what, t.symbol) for t in proof.theorems}
    assert shown == {(what, "gcm_init") for what in THEOREMS}
    assert {(t.lengths, t.method) for t in proof.theorems} == {("none", "certificate")}


FUNCTION, MEMORY = Category.FUNCTION, Category.MEMORY

SUBKEY = "no value is E_K(0)"

SWAPPED = "(round ^ 7 * (round / 3 == 1) * (round < 5))"
"""3 for 4 and 4 for 3."""

LAST_ROUND_EARLY = """%if round == 5
    aesenclast  xmm0, [KEYS + 16 * round]
%else
    aesenc      xmm0, [KEYS + 16 * round]
%endif"""

PLANTED = [
    # The key expansion.
    ("aesni", 128, "xmm1, xmm0, rcon", "xmm1, xmm0, rcon + (round == 7)", "round key 7 is wrong"),
    ("aesni", 128, "xmm1, xmm1, 0xff\n    P", "xmm1, xmm1, 0xaa\n    P", "round key 1 is wrong"),
    ("aesni", 128, "16 * round], xmm0", f"16 * {SWAPPED}], xmm0", "round key 3 is wrong"),
    ("aesni", 192, "xmm2, xmm2, 0x55", "xmm2, xmm2, 0xff", "round key 1 is wrong"),
    ("aesni", 192, "xmm2, xmm1, rcon\n    pshufd      xmm2, xmm2, 0x55",
        "xmm2, xmm1, rcon + (step == 7)\n    pshufd      xmm2, xmm2, 0x55", "round key 12 is"),
    ("aesni", 192, "xmm3, xmm0, 0xff", "xmm3, xmm0, 0xaa", "round key 2 is wrong"),
    ("aesni", 256, "xmm2, xmm2, 0xaa", "xmm2, xmm2, 0xff", "round key 3 is wrong"),
    ("aesni", 256, "xmm2, xmm1, rcon\n    pshufd      xmm2, xmm2, 0xff",
        "xmm2, xmm1, 1\n    pshufd      xmm2, xmm2, 0xff", "round key 4 is"),
    ("vaes", 128, "db 13, 14, 15, 12", "db 12, 13, 14, 15", "round key 1 is wrong"),
    ("vaes", 256, "db 12, 13, 14, 15", "db 13, 14, 15, 12", "round key 3 is wrong"),
    ("vaes", 256, "mov         eax, %3", "mov         eax, %3 | 0x100", "round key 2 is wrong"),
    # H = E_K(0).
    ("aesni", 128, "aesenc      xmm0, [KEYS + 16 * round]", LAST_ROUND_EARLY, SUBKEY),
    ("aesni", 192, "%rep ROUNDS - 1\n", "%rep ROUNDS - 2\n", SUBKEY),
    ("aesni", 256, "[KEYS + 16 * ROUNDS]", "[KEYS + 16 * ROUNDS - 16]", SUBKEY),
    ("aesni", 256, "xmm0, [KEYS]\n", "xmm0, [KEYS]\n    pxor xmm0, [top_bits]\n", SUBKEY),
    ("aesni", 128, "aesenclast  xmm0", "aesenc      xmm0", SUBKEY),
    ("vaes", 256, "zmm1, [KEYS + 16 * ROUNDS]", "zmm1, [KEYS + 16 * (ROUNDS - 4)]", SUBKEY),
    # The other half of the lanes holds it.
    ("vaes", 128, "vinserti64x4 zmm0, zmm0, ymm0, 1", "nop", "table entry B of H^1 is wrong"),
    # The powers of H.
    ("aesni", 128, "%%power:\n", "    pxor xmm0, xmm1\n%%power:\n",
        "table entry B of H^2 is wrong"),
]  # fmt: skip
"""Kernel, key, a text in it, what stands there instead, and a word of the refusal."""


@pytest.mark.parametrize(("way", "bits", "old", "new", "said"), PLANTED)
def test_a_planted_fault_is_refused_and_named(
    way: str, bits: int, old: str, new: str, said: str
) -> None:
    proof = planted(way, bits, old, new)
    assert proof.refutation is not None
    assert proof.refutation.category is FUNCTION
    assert said in str(proof.refutation)


def test_the_key_is_read_within_its_bytes() -> None:
    old, new = "movq        xmm1, [rsi + 16]", "movdqu xmm1, [rsi + 16]"
    proof = planted("aesni", 192, old, new)
    assert proof.refutation is not None
    assert proof.refutation.category is MEMORY


def test_operands_in_memory_are_aligned() -> None:
    """AESENC without VEX faults where its operand is not, VAESENC does not."""
    proof = proved(source("aesni", 128), 128, table_align=8)
    assert proof.refutation is not None
    assert proof.refutation.category is MEMORY
    assert "movdqa" in str(proof.refutation)


def test_round_keys_and_key_sizes_that_there_are_not_are_refused() -> None:
    stated = spec(192)
    with pytest.raises(GhashgenError, match="a key of 160 bits"):
        replace(stated, key_bits=160)
    with pytest.raises(GhashgenError, match=r"round keys 0, .*, 12 in the table"):
        replace(stated, key_bits=256)
    with pytest.raises(GhashgenError, match="round keys none in the table"):
        replace(stated, cells=stated.cells[:4])
    with pytest.raises(GhashgenError, match="no table entry Q1"):
        replace(stated, cells=(("Q", 1), *stated.cells[1:]))
    with pytest.raises(GhashgenError, match="no operation 'mul'"):
        GcmFunction("mul", "gcm_mul", ("table", "state"))
    with pytest.raises(GhashgenError, match="init has exactly table, key"):
        GcmFunction("init", "gcm_init", ("table", "subkey"))
    for text in ("key01", "key", "key-1", "Key1"):
        with pytest.raises(GhashgenError, match="no table cell"):
            parse_cell(text)


def test_a_statement_from_a_file(tmp_path: Path) -> None:
    text = (ASM / "gcm.toml").read_text()
    assert load_spec(ASM / "gcm.toml") == spec(128, name="gcm")
    path = tmp_path / "again.toml"
    for stated in (spec(128), spec(256, abi="win64", wipe=True, table_align=64)):
        path.write_text(statement_text(stated))
        assert load_spec(path) == stated
    wrong = [
        (
            'family = "gcm"',
            'family = "gmc"',
            "the prover does not know family 'gmc'; it knows ctr, gcm, given, hash",
        ),
        ('family = "gcm"\n', "", "unknown key 'key_bits'|'key0' no table cell"),
        ("key_bits = 128", "", "lacks 'key_bits'"),
        ("key_bits = 128", "key_bits = 256", "a key of 256 bits has 0 to 14"),
        ('"reflected"', '"sideways"', "order: 'sideways' is not one of"),
        ('"key"]', '"subkey"]', "init has exactly table, key"),
    ]
    for old, new, message in wrong:
        path = tmp_path / "spec.toml"
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(GhashgenError, match=message):
            load_spec(path)
