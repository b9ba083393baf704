"""Counts, from the bytes: the paper's two kernels, and every scheme's own budget."""

import json
from collections.abc import Mapping

import pytest
from helpers.compiling import Assembled
from iced_x86 import Decoder

from ghashgen.algebra.ops.integers import IntegerOps
from ghashgen.algebra.schemes.core import Multiply
from ghashgen.arch.decoder import CLASSES
from ghashgen.arch.x86_64 import ARCH
from ghashgen.cost.audit import region

DECODER = ARCH.decoder
classify, mnemonic = DECODER.audit_class, DECODER.mnemonic


PAPER = {
    "paper_baseline": {"vpclmulqdq": 7, "vpxor": 6, "vpslldq": 2, "vpsrldq": 3},
    "paper_optimized": {"vpclmulqdq": 5, "vpxor": 4, "vpshufd": 1},
}
"""papers/intel-2023, Table 11: 18 and 10 instructions between load and store."""


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_kernels_cost_what_its_table_says(
    name: str, shipped: Mapping[str, Assembled]
) -> None:
    single = shipped[name].audit.single
    shifts = {"vpslldq", "vpsrldq"}
    counted = {k: v for k, v in single.mnemonics.items() if k not in shifts}
    assert counted == {k: v for k, v in PAPER[name].items() if k not in shifts}
    in_shifts = sum(v for k, v in single.mnemonics.items() if k in shifts)
    assert in_shifts == (5 if name == "paper_baseline" else 0)
    assert single.instructions == (18 if name == "paper_baseline" else 10)


def contributions(multiply: Multiply, order: object) -> int:
    """How many products are added to accumulators for one block."""
    entries = [0] * len(multiply.entries)
    return len(multiply.products(IntegerOps(), 0, entries, order))  # type: ignore[arg-type]


def budget(item: Assembled) -> dict[str, int]:
    """What the schemes allow for one group of n blocks, one register a block."""
    kernel = item.kernel
    multiply, reduce, n = kernel.multiplier, kernel.reducer, kernel.blocks
    total = dict.fromkeys(("clmul", "xor", "shuffle", "shift"), 0)
    for part, times in ((multiply.budget.block, n), (multiply.budget.group, 1)):
        for key, count in part.items():
            total[key] += times * count
    for key, count in reduce.budget.group.items():
        total[key] += count
    added = n * contributions(multiply, kernel.bit_order) - len(multiply.accumulators)
    # The state joins once, and the key terms leave once.
    total["xor"] += added + 1 + bool(multiply.key_term)
    swaps = 0 if kernel.op == "polyval" else n
    shuffles = total["shuffle"] + total["shift"] + swaps
    return {"clmul": total["clmul"], "xor": total["xor"], "shuffle": shuffles}


def test_a_group_costs_what_its_schemes_allow(shipped: Mapping[str, Assembled]) -> None:
    seen = 0
    for item in shipped.values():
        if item.kernel.isa in ("sse", "avx") and item.kernel.swap == "register":
            counted = item.audit.group.classes
            assert {key: counted[key] for key in ("clmul", "xor", "shuffle")} == budget(item), (
                item.symbol
            )
            seen += 1
    assert seen > 15


def test_a_wide_group_multiplies_a_register_at_a_time(shipped: Mapping[str, Assembled]) -> None:
    seen = 0
    for item in shipped.values():
        kernel = item.kernel
        if kernel.lane_count == 1 or kernel.blocks % kernel.lane_count:
            continue
        registers = kernel.blocks // kernel.lane_count
        multiply, reduce = kernel.multiplier.budget, kernel.reducer.budget
        group = multiply.group.get("clmul", 0) + reduce.group.get("clmul", 0)
        wanted = registers * multiply.block["clmul"] + group
        assert item.audit.group.classes["clmul"] == wanted, item.symbol
        seen += 1
    assert seen > 30


def test_vex_needs_no_copies_in_a_group(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        if item.kernel.isa == "avx":
            assert "vmovdqa" not in item.audit.group.mnemonics


def test_counts_add_up(shipped: Mapping[str, Assembled]) -> None:
    for item in shipped.values():
        counted = item.audit
        for part in (counted.group, counted.single, *counted.functions.values()):
            assert set(part.classes) == set(CLASSES)
            assert sum(part.classes.values()) == part.instructions
            assert sum(part.mnemonics.values()) == part.instructions
        assert counted.per_block["clmul"] * item.kernel.blocks == counted.group.classes["clmul"]
        assert counted.group.instructions < counted.functions["update"].instructions
        assert counted.table_bytes == item.kernel.table_bytes
        for name, size in counted.code_bytes.items():
            # The assembler's own label, which no tool looks at.
            start = item.code.symbols[f"{item.symbol}_{name}"]
            assert item.code.symbols[f"{item.symbol}_{name}.end"] - start == size


@pytest.mark.parametrize(
    ("code", "cls"),
    [
        ("c4e37144c201", "clmul"),
        ("660f3a44c111", "clmul"),
        ("c5f1efc2", "xor"),
        ("660febc1", "xor"),
        ("62f3f548 25c296", "xor"),
        ("c4e27100c2", "shuffle"),
        ("c5f173d108", "shuffle"),
        ("c5f970c14e", "shuffle"),
        ("c5fa6f06", "load"),
        ("f3410f6f06", "load"),
        ("0fb606", "load"),
        ("c5fa7f06", "store"),
        ("c4e37d390601", "store"),
        ("c4e37d39c101", "shuffle"),
        ("660f6fc1", "other"),
        ("66480f6ec0", "other"),
        ("4883c010", "other"),
        ("488d4610", "other"),
        ("c3", "other"),
        ("f30f1efa", "other"),
    ],
)
def test_instructions_fall_into_the_classes_of_the_paper(code: str, cls: str) -> None:
    (instruction,) = Decoder(64, bytes.fromhex(code.replace(" ", "")))
    assert classify(instruction) == cls


def test_memory_operands_of_computing_instructions_are_counted_beside_the_classes() -> None:
    # vpxor xmm0, xmm1, [rsi]; vmovdqu xmm0, [rsi]; vmovdqu [rsi], xmm0; lea rax, [rsi + 16]
    code = bytes.fromhex("c5f1ef06c5fa6f06c5fa7f06488d4610")
    counted = region(DECODER, list(Decoder(64, code)))
    assert counted.memory_operands == 1
    assert json.loads(json.dumps(dict(counted.classes))) == {
        **dict.fromkeys(CLASSES, 0),
        "xor": 1,
        "load": 1,
        "store": 1,
        "other": 1,
    }


MOVES = {
    "c5fbf007": ("vlddqu xmm0, [rdi]", "load"),
    "f20ff007": ("lddqu xmm0, [rdi]", "load"),
    "660f382a07": ("movntdqa xmm0, [rdi]", "load"),
    "660fe707": ("movntdq [rdi], xmm0", "store"),
    "0f1007": ("movups xmm0, [rdi]", "load"),
    "660f2907": ("movapd [rdi], xmm0", "store"),
    "488b07": ("mov rax, [rdi]", "load"),
    "488907": ("mov [rdi], rax", "store"),
    "4889c7": ("mov rdi, rax", "other"),
    "480f38f007": ("movbe rax, [rdi]", "load"),
    "c4e27d5907": ("vpbroadcastq ymm0, [rdi]", "load"),
    "c4e27d59c1": ("vpbroadcastq ymm0, xmm1", "shuffle"),
    "c5fb12c1": ("vmovddup xmm0, xmm1", "shuffle"),
    "c5fb1207": ("vmovddup xmm0, [rdi]", "load"),
    "0f1607": ("movhps xmm0, [rdi]", "shuffle"),
    "0f1707": ("movhps [rdi], xmm0", "store"),
    "0f16c1": ("movlhps xmm0, xmm1", "shuffle"),
    "c4e1f89007": ("kmovq k0, [rdi]", "load"),
    "c4e1fb92c7": ("kmovq k0, rdi", "other"),
    "0f57c1": ("xorps xmm0, xmm1", "xor"),
    "660f14c1": ("unpcklpd xmm0, xmm1", "shuffle"),
    "660f3a22c001": ("pinsrd xmm0, eax, 1", "shuffle"),
    "c4e37d390701": ("vextracti128 [rdi], ymm0, 1", "store"),
}
"""Bytes by hand from the Intel SDM: instructions of other libraries, which no kernel here uses."""


@pytest.mark.parametrize("code", MOVES)
def test_moves_of_other_libraries_have_a_class(code: str) -> None:
    spelled, wanted = MOVES[code]
    (instruction,) = Decoder(64, bytes.fromhex(code))
    assert mnemonic(instruction) == spelled.split()[0]
    assert classify(instruction) == wanted
