"""Every instruction row against the real assembler and against the decoder's own knowledge."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass

import pytest
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
from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.arch.rows import Isa, Row
from ghashgen.arch.syntax import Names
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.arch.x86_64.sets.avx import ISA as AVX
from ghashgen.arch.x86_64.syntax.nasm import SYNTAX
from ghashgen.ir.program import (
    Label,
    Mem,
    Op,
    Operand,
    PReg,
    Reg,
    RegClass,
)
from ghashgen.support.toolchain import Tool, assemble_text

WIDTHS = {
    "vextracti64x4": (512,),
    "vextracti64x2": (256,),
    "vextracti64x2.lane": (256, 512),
    "vinserti64x2": (256, 512),
    "vshufi64x2": (256, 512),
    "vextracti128": (256,),
    "vbroadcasti64x2": (256, 512),
    "vbroadcasti128": (256,),
    "vinserti128": (256,),
    "vperm2i128": (256,),
    "vpshufb.ymm": (256,),
    "vmovdqu.load256": (256,),
    "vmovdqu.store256": (256,),
    "vextracti128.store": (256,),
}
"""Widths of the forms that do not have every width of their set."""

BASE = {
    "INTEL8086",
    "INTEL186",
    "INTEL286",
    "INTEL386",
    "INTEL486",
    "X64",
    "CET_IBT",
    "MULTIBYTENOP",
}
"""What every x86-64 CPU has; ENDBR64 is a no-op on those without CET."""

IMPLICIT = {"rsp"}
"""Moved by push, pop and ret themselves."""

MEMORY_BYTES = {"m128": 16, "m128a": 16, "m64": 8, "m32": 4, "m16": 2, "m8": 1}

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


@dataclass(frozen=True)
class Form:
    """One row with one choice of operand kinds, and operands for it."""

    isa: Isa
    row: Row
    kinds: tuple[str, ...]
    op: Op

    def __str__(self) -> str:
        return f"{self.isa.name}-{self.row.key}-{'-'.join(self.kinds)}-{self.op.width}"

    def memory_bytes(self, kind: str) -> int:
        """Bytes of memory behind an operand of this kind; 0 if it is none."""
        return self.op.width // 8 if kind == "mv" else MEMORY_BYTES.get(kind, 0)


def sample(row: Row, kinds: tuple[str, ...], width: int, first: int) -> Op:
    """Operands that are all different, but for those that an idiom names twice."""
    vectors = iter((first + 3, first + 9, first + 5, first + 14))
    generals = iter((1, 10, 6))
    operands: list[Operand] = []
    for spec, kind in zip(row.operands, kinds, strict=True):
        if spec.role == "n":
            operands.append(operands[0])
        elif kind in ("x", "v", "h"):
            operands.append(PReg(RegClass.VEC, next(vectors)))
        elif kind in ("q", "d"):
            operands.append(PReg(RegClass.GPR, next(generals)))
        elif kind in MEMORY_BYTES or kind in ("addr", "mv"):
            base, index = PReg(RegClass.GPR, 7), PReg(RegClass.GPR, 11)
            operands.append(Mem(base=base, index=index, disp=32, align=16))
        else:
            operands.append(3 if kind == "i" else Label("here"))
    return Op(row.key, tuple(operands), width)


def widths(isa: Isa, row: Row) -> tuple[int, ...]:
    if not any({"v", "h"} & set(spec.kinds) for spec in row.operands):
        return (128,)
    return WIDTHS.get(row.key, tuple(w for w in (128, 256, 512) if w <= 128 * isa.lanes))


FORMS = [
    Form(isa, row, kinds, sample(row, kinds, width, first))
    for isa in isas(DEFAULT).values()
    for row in isa.written.values()
    for width in widths(isa, row)
    # Registers above 15 make the assembler choose the EVEX form, the others VEX where there is one.
    for first in range(0, isa.vector_registers, 16)
    for kinds in itertools.product(*(spec.kinds for spec in row.operands))
]
each_isa = pytest.mark.parametrize("isa", isas(DEFAULT).values(), ids=lambda isa: isa.name)
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
    return {
        GPR_NAMES[reg.index] if reg.cls is RegClass.GPR else f"zmm{reg.index}" for reg in registers
    }


@each_isa
def test_rows_assemble_to_their_own_mnemonics_and_operands(isa: Isa, decoded: Decoded) -> None:
    for form, found in decoded[isa.name]:
        assert NAMES[Mnemonic][found.mnemonic].lower() == form.row.mnemonic, form
        assert found.op_count == len(form.kinds), form
        assert not found.has_op_mask, form


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
