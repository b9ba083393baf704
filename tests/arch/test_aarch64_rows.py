"""AArch64: every row against an assembler and a decoder, addresses, and lowerings as they run."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.aarch64 import ISA, SYNTAX, gas, lines, machine, run

from ghashgen.algebra.ops.integers import IntegerOps
from ghashgen.arch.aarch64 import ARCH
from ghashgen.arch.aarch64.address import address
from ghashgen.arch.decoder import FLAGS
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.rows import Row
from ghashgen.arch.syntax import Names
from ghashgen.compiler.pipeline import compile_programs
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import CODES, Label, Mem, Op, Operand, PReg, RegClass, VReg
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.machine import Machine
from ghashgen.support.toolchain import Tool, assemble_text

__all__ = ["gas", "machine"]

DECODER = ARCH.decoder
FILE = Names("start", "constants", ARCH.default_format)
LACKS = {
    # Registers of one lane, and no matrix to reverse bits.
    *("high_half", "insert_lane", "spread_lane", "lanes_down", "lanes_up", "take_lane"),
    *("lanes_joined", "store_high", "clear_upper", "reverse_bits", "load_spread"),
    # AES, which no kernel asks of it.
    *("aes_round", "aes_last", "add32", "bytes_above"),
    *("store64", "store32", "store16", "store8"),
    # Whole messages of AES-GCM.
    *("branch_above", "branch_differs", "gpr_const64", "to_gpr"),
    # In pieces; many messages in one call.
    *("gpr_store64", "gpr_or", "gpr_xor", "mask", "masked", "load_mask", "load_masked"),
    *("store_masked", "shuffle_masked", "merge_words", "spread_word"),
    *("differing", "mask_bits", "gpr_low"),
    *("pick_lanes", "store_lane"),
    # FEAT_SHA3.
    "xor3",
}
"""Abstract operations that the set knowingly cannot do."""

MEMORY = {"m128": 32, "m64": 16, "m32": 8, "m8": 3, "addr": 40}
"""A displacement for every kind of memory."""

CAPSTONE_WRONG = {"cmp", "tbl", "lsl", "lsr", "sshr", "ushr", "shl", "cbz", "cbnz"}
"""Mnemonics of whose registers capstone 5 says what the manual does not."""


def sample(row: Row) -> Op:
    """Return a row on operands that are all different."""
    vectors, generals = iter((19, 9, 5, 30)), iter((1, 10, 6))
    operands: list[Operand] = []
    for spec in row.operands:
        if spec.memory:
            operands.append(Mem(base=PReg(RegClass.GPR, 7), disp=MEMORY[spec.memory]))
        elif "i" in spec.kinds:
            operands.append(34 if row.key == "hint" else 3)
        elif "l" in spec.kinds:
            operands.append(Label("here"))
        elif spec.vector:
            operands.append(PReg(RegClass.VEC, next(vectors)))
        else:
            operands.append(PReg(RegClass.GPR, next(generals)))
    if row.key == "adrp":
        operands[1] = Mem(symbol="c")
    return Op(row.key, tuple(operands))


@pytest.fixture(scope="module")
def decoded(gas: Tool) -> list[tuple[Row, Op, object]]:
    """Return what an assembler makes of every row, decoded."""
    rows = [(row, sample(row)) for row in ISA.written.values()]
    text = [SYNTAX.opening, ".Lconstants_c:", "start:", ".Lstart_here:"]
    text += [SYNTAX.instruction(op, row, FILE) for row, op in rows]
    code = read_object(assemble_text(gas, "rows", "\n".join([*text, ""]), "elf64")).code
    found = DECODER.decode(code)
    return [(row, op, found[4 * i]) for i, (row, op) in enumerate(rows)]


def test_every_row_assembles_to_itself(decoded: list[tuple[Row, Op, object]]) -> None:
    assert len(decoded) == len(ISA.written) > 40
    files = ARCH.registers
    for row, op, instruction in decoded:
        reads, writes = (
            {files[reg.cls].names[reg.index] for reg in regs} for regs in row.effects(op)
        )
        effect = DECODER.effect(instruction)
        assert set(effect.reads) - {FLAGS} == reads, row.key
        assert set(effect.writes) - {FLAGS} == writes, row.key
        assert effect.overwrites == effect.writes
        assert (FLAGS in effect.reads, FLAGS in effect.writes) == (
            "r" in row.flags,
            "w" in row.flags,
        ), row.key
        assert DECODER.audit_class(instruction) == row.audit_class, row.key
        assert DECODER.flow(instruction) is row.flow, row.key
        assert set(row.features) <= set(DECODER.features([instruction])), row.key
        stores = [spec for spec in row.operands if spec.memory not in ("", "addr")]
        assert [(access.writes, access.reads) for access in effect.memory] == [
            ("w" in spec.role, "r" in spec.role) for spec in stores
        ], row.key


def test_the_library_agrees_on_what_is_read_and_written(
    decoded: list[tuple[Row, Op, object]],
) -> None:
    """Where it is known to be wrong, it is wrong still, or the list above is too long."""
    wrong = set()
    for _, _, instruction in decoded:
        native = instruction.native  # type: ignore[attr-defined]
        theirs = [
            {_whole(native.reg_name(reg)) for reg in regs} - {"nzcv"}
            for regs in native.regs_access()
        ]
        effect = DECODER.effect(instruction)
        ours = [set(effect.reads) - {FLAGS}, set(effect.writes) - {FLAGS}]
        flags = [
            "nzcv" in {native.reg_name(reg) for reg in regs} for regs in native.regs_access()
        ] == [FLAGS in effect.reads, FLAGS in effect.writes]
        if theirs != ours or not flags:
            wrong.add(native.mnemonic)
    assert wrong <= CAPSTONE_WRONG
    assert {"cmp", "tbl"} <= wrong


def _whole(name: str) -> str:
    return name if name == "nzcv" else ("x" if name[0] in "xw" else "v") + name[1:]


def _asked(code: ObjectCode) -> None:
    """Ask the decoder what an audit asks."""
    for instruction in code.instructions.values():
        DECODER.effect(instruction)
        DECODER.lowers_stack(instruction)


def test_what_no_kernel_has_is_refused(gas: Tool) -> None:
    for text, words in (
        ("br x3", "not an instruction of any kernel"),
        ("mov v0.d[1], x1", "a part of a register"),
        ("stp x29, x30, [sp, #-16]!", "followed"),
        ("ldr x0, [sp, x1]", "followed"),
        ("mov sp, x1", "followed"),
    ):
        code = read_object(assemble_text(gas, "line", f".text\nstart: {text}\n", "elf64"))
        with pytest.raises(ValueError, match=words):
            _asked(code)


def test_the_numbers_of_operand_kinds_are_the_librarys() -> None:
    from capstone import arm64_const as const

    from ghashgen.arch.aarch64 import decoder

    kinds = const.ARM64_OP_REG, const.ARM64_OP_IMM, const.ARM64_OP_MEM
    assert kinds == (decoder._REGISTER, decoder._IMMEDIATE, decoder._MEMORY)


def test_steps_and_the_stack(gas: Tool) -> None:
    """As an audit asks for them: by how much registers move, the shifted immediate included."""
    text = """
        .text
        start: add x1, x1, #48
        sub x2, x2, #1, lsl #12
        add x3, x1, #48
        sub sp, sp, #32
        add sp, sp, #1, lsl #12
        add w4, w4, #4
    """
    found = read_object(assemble_text(gas, "steps", text, "elf64")).instructions.values()
    assert [DECODER.steps(i) for i in found] == [48, 4096, 0, 0, 0, 0]
    assert [DECODER.lowers_stack(i) for i in found] == [0, 0, 0, 32, -4096, 0]


def test_only_a_page_of_the_files_own_makes_a_constant(gas: Tool) -> None:
    text = """
        .text
        start: adrp x1, c
        ldr q0, [x1, :lo12:c]
        mov x1, x2
        ldr q0, [x1]
        adrp x3, c
        there: ldr q0, [x3]
        cbz x0, there
        adrp x3, c
        ret
        ldr q0, [x3]
    """
    code = read_object(assemble_text(gas, "pages", text, "elf64"))
    loads = [i for i in code.instructions.values() if DECODER.mnemonic(i) == "ldr"]
    constant = [access.constant for i in loads for access in DECODER.effect(i).memory]
    assert constant == [True, False, False, False]


def test_a_set_lacks_what_it_knowingly_lacks() -> None:
    assert set(CODES) - ISA.supported == LACKS


class _Sums:
    """Runs the operations that compute an address."""

    def __init__(self, base: int, index: int) -> None:
        self.made = 0
        self.held: dict[object, int] = {VReg(RegClass.GPR, 1): base, VReg(RegClass.GPR, 2): index}

    def new(self) -> VReg:
        self.made += 1
        return VReg(RegClass.GPR, 100 + self.made)

    def run(self, op: Op) -> None:
        target, first, second = op.operands
        if op.code == "add":
            value = self.held[first] + self.held[second]
        else:
            assert isinstance(second, int)
            assert 0 < second < 4096
            value = self.held[first] + (second if op.code == "add.imm" else -second)
        self.held[target] = value

    def at(self, memory: Mem) -> int:
        index = self.held[memory.index] if memory.index else 0
        return self.held[memory.base] + memory.disp + index


def test_an_address_is_what_it_was_and_one_that_instructions_can_say() -> None:
    rng = random.Random(5)
    sizes = {"m128": 16, "m64": 8, "m32": 4, "m8": 1, "addr": 1}
    for kind, size in sizes.items():
        for _ in range(300):
            disp = rng.choice((0, 1, -1, 8, size, -size, 255, 256, -256, -257, 4095, 4096))
            disp = rng.choice((disp, disp * size, rng.randrange(-(1 << 17), 1 << 17)))
            index = rng.choice((None, VReg(RegClass.GPR, 2)))
            memory = Mem(base=VReg(RegClass.GPR, 1), disp=disp, index=index)
            sums = _Sums(1 << 40, rng.randrange(1 << 20))
            wanted = sums.at(memory)
            ops, left = address(memory, kind, sums.new)
            for op in ops:
                sums.run(op)
            assert sums.at(left) == wanted
            if kind == "addr":
                assert left.index is None
                assert 0 <= left.disp < 4096
            elif left.index is not None:
                assert left.disp == 0
            else:
                scaled = left.disp % size == 0 and 0 <= left.disp < 4096 * size
                assert scaled or -256 <= left.disp < 256
    for bad in (Mem(base=VReg(RegClass.GPR, 1), index=VReg(RegClass.GPR, 2), scale=8), Mem()):
        with pytest.raises(ValueError, match="no address"):
            address(bad, "m128", _Sums(0, 0).new)


INTEGERS = IntegerOps()
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


def _halves(a: int, f: Callable[[int], int]) -> int:
    return (f(a >> 64) & M64) << 64 | f(a & M64) & M64


def test_lowerings_compute_what_their_operations_mean(
    gas: Tool, machine: Machine, tmp_path: Path
) -> None:
    """Each with every immediate, by a function that keeps much alive at once, so that it spills."""
    rng = random.Random(11)
    A, B = rng.getrandbits(128), rng.getrandbits(128) | 1 << 127
    counts = [0, 1, 7, 8, 31, 63, 64, 65, 120, 127]
    b = Builder("subject", ("out", "in"))
    out, given = b.params
    a, c = b.load(Mem(base=given)), b.load(Mem(base=given, disp=16))
    results: list[tuple[str, VReg, int]] = []
    held = a

    def note(what: str, value: object, expected: int) -> None:
        assert isinstance(value, VReg)
        results.append((what, value, expected & M128))

    for i in (0, 1):
        for j in (0, 1):
            note(f"clmul {i}{j}", b.clmul(a, c, (i, j)), INTEGERS.clmul(A, B, (i, j)))
    note("xor", b.xor(a, c), A ^ B)
    note("or", b.or_(a, c), A | B)
    note("and", b.and_const(a, B, "b"), A & B)
    note("swap64", b.swap64(a), INTEGERS.swap64(A))
    for i in range(1, 16):
        note(f"shl_bytes {i}", b.shl_bytes(a, i), A << 8 * i)
        note(f"shr_bytes {i}", b.shr_bytes(a, i), A >> 8 * i)
    for i in (1, 7, 57, 63):
        note(f"shl64 {i}", b.shl64(a, i), _halves(A, lambda h, i=i: h << i))  # type: ignore[misc]
        note(f"shr64 {i}", b.shr64(a, i), _halves(A, lambda h, i=i: h >> i))  # type: ignore[misc]
    for at, i in enumerate(counts):
        count = b.load_part("load64", Mem(base=given, disp=32 + 8 * at))
        left, right = b.shift_by("shl64_by", a, count), b.shift_by("shr64_by", a, count)
        note(f"shl64_by {i}", left, _halves(A, lambda h, i=i: h << i))  # type: ignore[misc]
        note(f"shr64_by {i}", right, _halves(A, lambda h, i=i: h >> i))  # type: ignore[misc]
    note("join_low", b.join_low(a, c), INTEGERS.join_low(A, B))
    note("join_high", b.join_high(a, c), INTEGERS.join_high(A, B))
    note("spread_top", b.spread_top(c), M128)
    swap = int.from_bytes(bytes(range(16)), "big")
    reversed_bytes = int.from_bytes(A.to_bytes(16, "little"), "big")
    note("shuffle_bytes", b.shuffle_bytes(a, b.const(swap, "swap")), reversed_bytes)
    note("mirror_bits", b.mirror_bits(a), int(f"{reversed_bytes:0128b}"[::-1], 2))
    zero = b.zero()
    note("zero", zero, 0)
    note("load64", b.load_part("load64", Mem(base=given, disp=8)), A >> 64)
    note("load32", b.load_part("load32", Mem(base=given, disp=4)), A >> 32 & 0xFFFFFFFF)
    far = b.gpr("gpr_address", Mem(base=given, disp=5000))
    note("far", b.load(Mem(base=far, disp=-5000)), A)
    near = b.gpr("gpr_const", 16)
    note("indexed", b.load(Mem(base=far, index=near, disp=-5000)), B)
    word = b.gpr("gpr_load64", Mem(base=given))
    for what, value, expected in (
        ("gpr_load8", b.gpr("gpr_load8", Mem(base=given, index=near)), B & 255),
        ("gpr_add", b.gpr("gpr_add", word, 9), (A & M64) + 9),
        ("gpr_sub", b.gpr("gpr_sub", word, 9), (A & M64) - 9),
        ("gpr_minus", b.gpr("gpr_minus", near, word), 16 - (A & M64)),
        ("gpr_and", b.gpr("gpr_and", word, -16), A & M64 & ~15),
        ("gpr_shl", b.gpr("gpr_shl", word, 3), A << 3),
        ("gpr_shr", b.gpr("gpr_shr", word, 3), (A & M64) >> 3),
        ("gpr_neg", b.gpr("gpr_neg", word), -A),
    ):
        note(what, b.from_gpr(value), expected & M64)
    # All of them are alive here: far more than there are registers.
    for at, (_, value, _) in enumerate(results):
        b.store(Mem(base=out, disp=16 * at), value)
    b.store(Mem(base=out, disp=16 * len(results)), held)
    data = b"".join(
        (*(v.to_bytes(16, "little") for v in (A, B)), *(c.to_bytes(8, "little") for c in counts))
    )
    kernel = Kernel("pmull", "k", "clmul1", 1)
    (item,) = compile_programs({"subject": b.program()}, kernel, ARCH.default_abi).values()
    assert item.function.spill_slots > 20
    got = run(gas, machine, tmp_path, item.function, data, 16 * (len(results) + 1))
    for at, (what, _, expected) in enumerate(results):
        assert int.from_bytes(got[16 * at : 16 * at + 16], "little") == expected, what
    assert int.from_bytes(got[-16:], "little") == A
    # What unwinders are told is taken by the assembler, and the frame is one.
    text = lines(item.function, "subject")
    assert ".cfi_offset d8" in text
    assert ".cfi_restore d15" in text
