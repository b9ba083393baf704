"""Bytes that can be read in two ways are refused; what is refused of the rows' own is listed."""

import random
from collections.abc import Iterator, Mapping
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from helpers.compiling import Assembled
from iced_x86 import Decoder, Instruction, InstructionInfoFactory, Register

from ghashgen.check.attack import row_cases as cases
from ghashgen.verify.machine.image import Image
from ghashgen.verify.x86_64 import decoding
from ghashgen.verify.x86_64.decoding import NOPS, address_registers, decode, doubt
from ghashgen.verify.x86_64.elf import load_image
from ghashgen.verify.x86_64.rows.table import code_name, rows

MISREAD = {"EVEX_VMOVQ_RM64_XMM": "capstone scales a displacement of a byte by 16, not 8"}
"""Forms of which the second decoder misreads some instances: refused, not wrong."""

IGNORED = "meaningless bits set in its immediate"


def instances() -> Iterator[tuple[str, Any, bytes]]:
    for code in rows():
        name = code_name(code)
        rng = random.Random(name)
        for k in range(12):
            # Bit 0 of an immediate always means something.
            made = cases.instance(code, rng, imm=1 if k % 2 else None)
            if made is not None:
                data = cases.encode(made)
                yield name, Decoder(64, data).decode(), data


def test_both_decoders_know_every_row() -> None:
    read: set[str] = set()
    tested: set[str] = set()
    for name, instruction, data in instances():
        tested.add(name)
        why = doubt(data)
        if not why:
            read.add(name)
        elif name in MISREAD:
            assert why.startswith("capstone reads"), (name, why)
            assert instruction.memory_displacement
        else:
            assert why == IGNORED, (name, data.hex(), why)
    assert read == tested
    assert len(tested) > 600


def test_what_is_ignored_in_an_immediate_is_stated_for_names_that_exist() -> None:
    names = {
        name.split("_")[1] if "VEX" in name else name.split("_")[0] for name, *_ in instances()
    }
    assert set(decoding.MEANING) | set(decoding.BY_WIDTH) <= names


REFUSED = {
    # Near branches and returns with 66h, F2h, F3h, a segment.
    "66e900000000": "Intel and AMD",
    "66e800000000": "Intel and AMD",
    "660f8400000000": "Intel and AMD",
    "66eb00": "Intel and AMD",
    "667400": "Intel and AMD",
    "66c3": "capstone|Intel and AMD",
    "f2e900000000": "does not ask for",
    "f3e900000000": "does not ask for",
    "f2c3": "does not ask for",
    "f3c3": "does not ask for",
    "2e7400": "does not ask for",
    "3e7400": "does not ask for",
    "3effe0": "does not ask for",
    # Branches by a counter whose size 67h changes.
    "67e300": "does not ask for",
    "67e200": "does not ask for",
    # Sizes on which vendors differ, or did.
    "6663c0": "capstone reads",
    "660fb200": "capstone reads",
    "480fb200": "Intel and AMD",
    "480fb400": "Intel and AMD",
    "0f05": "",
    # Operands that the opcode implies.
    "a4": "",
    "48ab": "capstone reads stosq",
    "6c": "",
    # Prefixes twice, in another order, or overridden.
    "66660fefc0": "does not ask for",
    "f2660fefc0": "not exactly one instruction|does not ask for",
    "66f20fefc0": "not exactly one instruction|does not ask for",
    "48660fefc0": "overrides",
    "4040b001": "not exactly one instruction|overrides|usual encoding",
    "66480fefc0": "usual encoding",
    "4089c0": "usual encoding",
    "67660fefc0": "does not ask for",
    "66c5f9efc0": "not exactly one instruction|overrides",
    "f3c5f9efc0": "not exactly one instruction|overrides",
    "48c5f9efc0": "not exactly one instruction|overrides",
    "f083c001": "not exactly one instruction|does not ask for",
    "f00100": "does not ask for",
    "f2f00100": "does not ask for",
    # Longer forms of VEX, ignored bits of VEX and EVEX.
    "c4e179efc0": "usual encoding",
    "c4e1f9efc0": "usual encoding",
    "c4e1f96f06": "usual encoding",
    "62f17d48efc0": "",
    "62f17d68efc0": "not exactly one instruction",
    "62f57d48efc0": "not exactly one instruction",
    "62f97d48efc0": "not exactly one instruction",
    "62f17948efc0": "not exactly one instruction",
    "62f17d58efc0": "not exactly one instruction",
    "62f17dc8efc0": "not exactly one instruction",
    # ModRM and SIB in more bytes than are needed, without a meaning of their own.
    "488b0424": "",
    "488b0420": "usual encoding",
    "488b0425001000f0": "",
    # Hints that newer CPUs give a meaning, and reserved NOPs.
    "f30f1ec8": "",
    "0f1ec0": "capstone does not know it",
    "0f0d00": "capstone reads prefetch",
    "f390": "",
    # Immediates.
    "660f3a44c002": IGNORED,
    "660f3a44c080": IGNORED,
    "c4e37d46c044": IGNORED,
    "62f3fd2843c004": IGNORED,
    # Longer than an instruction may be.
    "666666666666666666660f1f440000": "does not ask for",
    "2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e90": "not exactly one instruction",
}
"""Bytes, and why they are refused; "" where they can be read in one way only (a row decides)."""


@pytest.mark.parametrize("code", REFUSED)
def test_an_encoding_that_can_be_read_in_two_ways_is_refused(code: str) -> None:
    why = doubt(bytes.fromhex(code))
    expected = REFUSED[code]
    assert bool(why) is bool(expected), why
    assert any(part in why for part in expected.split("|")), why


def test_nops_that_assemblers_write_are_the_only_exceptions() -> None:
    assert sorted(len(nop) for nop in NOPS) == [10, 11, 12, 13, 14, 15]
    for nop in NOPS:
        read = Decoder(64, nop).decode()
        assert (code_name(read.code), read.len) == ("NOP_RM16", len(nop))
        assert doubt(nop)


def test_a_difference_between_the_decoders_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    code = bytes.fromhex("660f3a440611")
    assert doubt.__wrapped__(code) == ""
    right = "xmm0, xmmword ptr [rsi], 0x11"
    for mnemonic, operands in (
        ("pclmulqdq", "xmm0, xmmword ptr [rsi]"),
        ("pclmulqdq", "xmm0, xmmword ptr [rsi + rax], 0x11"),
        ("pclmulqdq", "xmm0, xmmword ptr [rsi], 0x10"),
        ("pclmulqdq", "xmm0, qword ptr [rsi], 0x11"),
        ("pclmulqdq", "xmmword ptr [rsi], xmm0, 0x11"),
        ("aeskeygenassist", right),
    ):
        other = SimpleNamespace(disasm_lite=lambda *_, m=mnemonic, o=operands: [(0, 6, m, o)])
        monkeypatch.setattr(decoding, "_capstone", lambda other=other: other)
        assert doubt.__wrapped__(code) == f"capstone reads {mnemonic} {operands}"
    short = SimpleNamespace(disasm_lite=lambda *_: [(0, 5, "pclmulqdq", right)])
    monkeypatch.setattr(decoding, "_capstone", lambda: short)
    assert doubt.__wrapped__(code) == "capstone does not know it"


def test_every_memory_operand_has_its_registers() -> None:
    factory = InstructionInfoFactory()
    found = {}
    for code in (
        "0f180c07",
        "0f1f0407",
        "488b0407",
        "488d0407",
        "50",
        "c3",
        "c9",
        "62f17f287f0407",
    ):
        i = Decoder(64, bytes.fromhex(code)).decode()
        found[code] = address_registers(i, factory)
    both, stack = (Register.RAX, Register.RDI), (Register.RSP,)
    assert found == {
        "0f180c07": both, "0f1f0407": both, "488b0407": both, "488d0407": (), "50": stack,
        "c3": stack, "c9": (Register.RBP,), "62f17f287f0407": both,
    }  # fmt: skip


def test_random_bytes_are_read_or_refused() -> None:
    rng = random.Random(7)
    starts = [
        bytes.fromhex(x) for x in ("", "66", "f2", "f3", "48", "0f", "660f", "c5", "c4", "62")
    ]
    seen = 0
    for _ in range(20_000):
        window = (rng.choice(starts) + rng.randbytes(15))[:15]
        i = Decoder(64, window).decode()
        if not i.is_invalid:
            seen += 1
            assert isinstance(doubt.__wrapped__(window[: i.len]), str)
    assert seen > 5_000


def decoded(image: Image, symbol: str, size: int) -> list[Instruction]:
    address, out = image.symbol(symbol), []
    end = address + size
    while address < end:
        out.append(decode(image, address))
        address = int(out[-1].next_ip)
    return out


def test_the_catalogue_has_one_reading(shipped: Mapping[str, Assembled]) -> None:
    """Every instruction of a kernel of every family, those that no way leads to included."""
    count = 0
    for item in shipped.values():
        image = load_image(item.elf)
        table = ELFFile(BytesIO(item.elf)).get_section_by_name(".symtab")
        sizes = {symbol.name: symbol["st_size"] for symbol in table.iter_symbols()}
        assert all(sizes[name] for name in image.exported)
        count += sum(len(decoded(image, name, sizes[name])) for name in image.exported)
    assert count > 10_000
