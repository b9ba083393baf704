"""Every instruction row against the real assembler and against the decoder's own knowledge."""

from collections import defaultdict

import pytest
from helpers.forms import FORMS, MASKS, Form, each_isa
from iced_x86 import (
    CpuidFeature,
    Decoder,
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    Register,
    RegisterExt,
    RflagsBits,
)

from ghashgen.arch.objects import read_object
from ghashgen.arch.rows import Isa
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.arch.x86_64.sets.avx import ISA as AVX
from ghashgen.arch.x86_64.syntax.nasm import SYNTAX
from ghashgen.ir.program import Reg, RegClass
from ghashgen.support.toolchain import Tool, assemble_text

BASE = {
    "INTEL8086", "INTEL186", "INTEL286", "INTEL386", "INTEL486", "X64", "CET_IBT", "MULTIBYTENOP",
}  # fmt: skip
"""What every x86-64 CPU has; ENDBR64 is a no-op on those without CET."""

IMPLICIT = {"rsp"}
"""Moved by push, pop and ret themselves."""

WHOLE_FILE = {"vzeroupper"}
"""Rows that change every vector register at once, above what a convention keeps."""

FILE = Names("start", "constants", FORMATS["elf64"])
"""The file that single lines stand in."""

FACTORY = InstructionInfoFactory()
READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
NAMES = {
    kind: {v: k for k, v in vars(kind).items() if isinstance(v, int) and k.isupper()}
    for kind in (Mnemonic, Register, CpuidFeature)
}


Decoded = dict[str, list[tuple[Form, Instruction]]]


@pytest.fixture(scope="module")
def decoded(nasm: Tool) -> Decoded:
    """The instruction that nasm makes of every form, by ISA."""
    lines = [SYNTAX.instruction(form.op, form.row, FILE) for form in FORMS]
    text = "\n".join(["default rel", "section .text", "start:", ".here:", *lines, ""])
    code = read_object(assemble_text(nasm, "rows", text, "elf64")).code
    instructions = list(Decoder(64, code))
    assert len(instructions) == len(FORMS)
    out: Decoded = {}
    for form, found in zip(FORMS, instructions, strict=True):
        out.setdefault(form.isa.name, []).append((form, found))
    return out


def full_name(register: int) -> str:
    return NAMES[Register][RegisterExt.full_register(register)].lower()


def names(registers: tuple[Reg, ...]) -> set[str]:
    stems = {RegClass.VEC: "zmm", RegClass.MASK: "k"}
    return {
        GPR_NAMES[reg.index] if reg.cls is RegClass.GPR else f"{stems[reg.cls]}{reg.index}"
        for reg in registers
    }


@each_isa
def test_rows_assemble_to_their_own_mnemonics_and_operands(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        assert NAMES[Mnemonic][found.mnemonic].lower() == form.row.mnemonic, form
        masks = [kind for kind in form.kinds if kind in MASKS[1:]]
        assert found.op_count == len(form.kinds) - len(masks), form
        assert found.has_op_mask == bool(masks), form
        assert found.zeroing_masking == ("kz" in masks), form


@each_isa
def test_rows_read_and_write_what_the_instructions_do(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        if form.row.key in WHOLE_FILE:
            continue
        used = FACTORY.info(found).used_registers()
        reads = {full_name(item.register) for item in used if item.access in READS}
        writes = {full_name(item.register) for item in used if item.access in WRITES}
        expected_reads, expected_writes = form.row.effects(form.op)
        assert reads - IMPLICIT == names(expected_reads), form
        assert writes - IMPLICIT == names(expected_writes), form


@each_isa
def test_rows_access_as_much_memory_as_the_instructions(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        accesses = {
            (MemorySizeExt.size(item.memory_size), item.access in WRITES)
            for item in FACTORY.info(found).used_memory()
            if full_name(item.base) not in IMPLICIT
        }
        assert accesses == {
            (size, "w" in spec.role)
            for spec, kind in zip(form.row.operands, form.kinds, strict=True)
            if (size := form.memory_bytes(kind))
        }, form


@each_isa
def test_alignment_is_asked_for_where_the_encoding_faults_without_it(
    isa: Isa, decoded: Decoded
) -> None:
    for form, found in decoded[isa.name]:
        wide = [kind for kind in form.kinds if form.memory_bytes(kind) >= 16]
        legacy = found.encoding == EncodingKind.LEGACY
        faults = "movdqa" in form.row.mnemonic and "movdqa64" not in form.row.mnemonic
        faults |= legacy and form.row.mnemonic != "movdqu"
        assert all((kind == "m128a") == faults for kind in wide), form


@each_isa
def test_rows_say_what_the_instructions_do_with_the_flags(isa: Isa, decoded: Decoded) -> None:
    none = RflagsBits.NONE
    for form, found in decoded[isa.name]:
        flags = "r" * (found.rflags_read != none) + "w" * (found.rflags_modified != none)
        assert form.row.flags == flags, form


@each_isa
def test_rows_say_where_control_goes(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        assert isa.arch.decoder.flow(found) is form.row.flow, form


@each_isa
def test_rows_are_counted_as_the_bytes_are(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        assert isa.arch.decoder.audit_class(found) == form.row.audit_class, form


@each_isa
def test_what_fuses_with_a_branch_sets_the_flags_and_leaves_memory_alone(isa: Isa) -> None:
    fusing = [row for row in isa.written.values() if row.fuses]
    assert {row.mnemonic for row in fusing} == {"add", "and", "cmp", "sub"}
    for row in fusing:
        assert row.flags == "w"
        assert not any(kind[0] == "m" for spec in row.operands for kind in spec.kinds)


def implied(features: set[str]) -> set[str]:
    """These features and what they bring with them, by the manual."""
    out = set(features)
    if any(feature.startswith("AVX512") for feature in out):
        out |= {"AVX512F", "AVX2"}
    return out | {"AVX"} if "AVX2" in out else out


def cpu_features(instruction: Instruction) -> set[str]:
    found = {NAMES[CpuidFeature][number] for number in instruction.cpuid_features()} - BASE
    return {"AESNI" if name == "AES" else name for name in found}


@each_isa
def test_rows_name_the_cpu_features_that_the_instructions_need(isa: Isa, decoded: Decoded) -> None:
    needed: dict[str, set[str]] = defaultdict(set)
    for form, found in decoded[isa.name]:
        named = {name.upper() for name in form.row.features}
        assert cpu_features(found) <= implied(named), form
        needed[form.row.key] |= cpu_features(found)
    for row in isa.written.values():
        assert {name.upper() for name in row.features} <= implied(needed[row.key]), row.key


def test_vex128_clmul_does_not_ask_for_the_flag_of_the_wide_ones() -> None:
    assert set(AVX.rows["vpclmulqdq"].features) == {"pclmulqdq", "avx"}
