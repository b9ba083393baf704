"""Arithmetic and flags of unknown lengths against brute force, at every width, sign and condition.

An unknown takes every value of its range in turn, and the same row runs on that number: what it
makes of the unknown must be right for each, in every register, byte and flag, or be refused. The
rows on numbers are compared with the CPU by test_verify_semantics.py.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from iced_x86 import Code, Decoder, Encoder, Instruction, OpKind, Register

from ghashgen.verify.core.lengths import Claim, contains
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import (
    M64,
    Affine,
    Number,
    Pointer,
    UndecidedError,
    Value,
    fits,
    shift_number,
)
from ghashgen.verify.x86_64 import flags as flags_module
from ghashgen.verify.x86_64.elf import Image
from ghashgen.verify.x86_64.flags import CONDITIONS, Flags
from ghashgen.verify.x86_64.machine import Machine
from ghashgen.verify.x86_64.memory import Access, Memory, Region
from ghashgen.verify.x86_64.rows.table import code_name, rows, step_of

WIDTHS = (8, 16, 32, 64)
SEED, ROUNDS = 1, 60
"""Rounds for every instruction form; more of them find no more, but cost more."""

RAX, RCX, RDX, RSI = 0, 1, 2, 6
FIRST = {8: Register.AL, 16: Register.AX, 32: Register.EAX, 64: Register.RAX}

TWO = ("ADD", "SUB", "CMP", "AND", "OR", "XOR", "TEST")
ONE = ("INC", "DEC", "NEG", "NOT")
SHIFTS = ("SHL", "SHR", "SAR", "ROL", "ROR")


def forms() -> Iterator[int]:
    """Yield the codes of all forms on general registers that take an unknown."""
    for bits in WIDTHS:
        names = [f"{name}_RM{bits}_R{bits}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM{min(bits, 32)}" for name in TWO]
        names += [f"{name}_RM{bits}_IMM8" for name in TWO if bits > 8 and name != "TEST"]
        names += [f"{name}_RM{bits}" for name in ONE]
        names += [f"{name}_RM{bits}_{count}" for name in SHIFTS for count in ("IMM8", "1", "CL")]
        names += [f"MOV_RM{bits}_R{bits}"]
        if bits >= 32:
            names += [f"LEA_R{bits}_M", f"BSWAP_R{bits}", f"VEX_BZHI_R{bits}_RM{bits}_R{bits}"]
            names += [f"VEX_{name}X_R{bits}_RM{bits}_R{bits}" for name in ("SHL", "SHR")]
            names += [f"MOVZX_R{bits}_RM{small}" for small in (8, 16)]
        for name in names:
            yield getattr(Code, name)
    yield Code.MOVSXD_R64_RM32


def width(code: int) -> int:
    name = code_name(code)
    return next(b for b in (64, 32, 16, 8) if any(f"{r}{b}" in name for r in ("RM", "R")))


def edge(rng: random.Random, bits: int) -> int:
    """Return a number near a bound of the width, or any."""
    near = rng.choice((0, 1 << bits - 1, 1 << bits, (1 << bits) - 64))
    pick = near + rng.randrange(-9, 10) if rng.randrange(3) else rng.getrandbits(bits)
    return pick & (1 << bits) - 1


def unknown(rng: random.Random, bits: int) -> Affine:
    """Return an unknown of a few values that fit in `bits` bits, often close to a bound."""
    while True:
        scale = rng.choice((1, 1, 2, 16, 64, 96, -1, -16, 1 << rng.randrange(bits)))
        low = rng.choice((0, 1, rng.randrange(40), rng.getrandbits(bits)))
        start = edge(rng, bits)
        value = Affine(scale, start - scale * low, low, low + rng.randrange(1, 20), "u")
        if fits(value, bits):
            return value


def operand(rng: random.Random, bits: int, u: Affine) -> Number:
    """Return a second operand: a number, or something of the same unknown."""
    if rng.randrange(2):
        return edge(rng, bits)
    shift = rng.choice((0, 1, -1, 16, -16, edge(rng, bits)))
    other = Affine(rng.choice((u.scale, u.scale, 1, 16, -u.scale)), 0, u.low, u.high, u.unknown)
    other = other.plus(u.least - other.least + shift)
    return other if fits(other, 64) else edge(rng, bits)


def instruction(code: int, rng: random.Random) -> Instruction:
    """Return the form on rax and rdx, with a count in cl, or an address from rax."""
    i = Instruction()
    i.code = code
    name, bits = code_name(code), width(code)
    i.set_op_kind(0, OpKind.REGISTER)
    i.set_op_register(0, FIRST[bits] + RAX)
    if name.startswith("VEX"):
        i.set_op_register(1, FIRST[bits] + RAX)
        i.set_op_register(2, FIRST[bits] + RDX)
    elif name.startswith("LEA"):
        i.set_op_kind(1, OpKind.MEMORY)
        i.memory_base, i.memory_index = Register.RAX, Register.RDX
        i.memory_index_scale = rng.choice((1, 2, 4, 8))
        i.memory_displacement, i.memory_displ_size = rng.choice((0, 16, M64 - 15)), 1
    elif name.startswith("MOVZX"):
        i.set_op_register(1, FIRST[8 if name.endswith("8") else 16] + RDX)
    elif name.startswith("MOVSXD"):
        i.set_op_register(1, Register.EDX)
    elif name.endswith("CL"):
        i.set_op_register(1, Register.CL)
    elif name.endswith("IMM8") and name.split("_")[0] in SHIFTS:
        i.set_op_kind(1, OpKind.IMMEDIATE8)
        i.immediate8 = rng.choice((0, 1, 4, 6, bits - 1, bits, rng.randrange(256)))
    elif name.endswith("_1"):
        i.set_op_kind(1, OpKind.IMMEDIATE8)
        i.immediate8 = 1
    elif "IMM" in name:
        _immediate(i, bits, name.endswith("IMM8") and bits > 8, rng)
    elif name.endswith(f"_R{bits}"):
        same = rng.randrange(8) == 0
        i.set_op_register(1, FIRST[bits] + (RAX if same else RDX))
    encoder = Encoder(64)
    encoder.encode(i, 0x1000)
    decoded = Decoder(64, bytes(encoder.take_buffer()), ip=0x1000).decode()
    assert decoded.code == code, (code_name(code), code_name(decoded.code))
    return decoded


def _immediate(i: Instruction, bits: int, short: bool, rng: random.Random) -> None:
    masks = (15, 16, 63, 64, -16, -64, -1)
    value = rng.choice(masks) if rng.randrange(2) else edge(rng, 8 if short else min(bits, 32))
    top = 1 << (7 if short else min(bits, 32) - 1)
    value = (value & 2 * top - 1 ^ top) - top
    kinds = {
        (8, False): (OpKind.IMMEDIATE8, "immediate8"),
        (16, False): (OpKind.IMMEDIATE16, "immediate16"),
        (32, False): (OpKind.IMMEDIATE32, "immediate32"),
        (64, False): (OpKind.IMMEDIATE32TO64, "immediate32to64"),
        (16, True): (OpKind.IMMEDIATE8TO16, "immediate8to16"),
        (32, True): (OpKind.IMMEDIATE8TO32, "immediate8to32"),
        (64, True): (OpKind.IMMEDIATE8TO64, "immediate8to64"),
    }
    kind, field = kinds[bits, short]
    i.set_op_kind(1, kind)
    signed_field = "to" in field
    setattr(i, field, value if signed_field else value & 2 * top - 1)


def machine(gpr: dict[int, Value], before: tuple[int, int]) -> Machine:
    """Return a machine with these registers, and flags from a comparison of two numbers."""
    terms = Terms(lambda kind, power: NotImplemented)
    region = Region("buffer", 0, 64, Access.UPDATE, lambda index: 0, 64)
    m = Machine(
        terms,
        Memory(terms, Image((), {}, {}), [region]),
        [gpr.get(k, 0) for k in range(16)],
        [(0, 0, 0, 0)] * 32,
        [0] * 8,
    )
    m.flags = flags_module.of_difference(*before, 64, m.memory.inside)
    return m


def at(value: Value, u: int) -> Value:
    if isinstance(value, Affine):
        return value.at(u)
    if isinstance(value, Pointer) and isinstance(value.offset, Affine):
        return Pointer(value.region, value.offset.at(u))
    return value


def condition(flags: Flags, name: str) -> bool | None:
    """Return a condition, None if it is refused."""
    try:
        return CONDITIONS[name](flags, 0)
    except (Refutation, UndecidedError):
        return None


def differences(
    code: int, i: Instruction, gpr: dict[int, Value], before: tuple[int, int], seen: Counter[str]
) -> list[str]:
    """Return where the row on unknowns says what is not so for one of their values."""
    step = step_of(i)
    low, high = next((v.low, v.high) for v in gpr.values() if isinstance(v, Affine))
    concrete = []
    for u in range(low, high + 1):
        m = machine({k: at(v, u) for k, v in gpr.items()}, before)
        assert step(m) is None
        concrete.append((u, m))
    symbolic = machine(gpr, before)
    try:
        step(symbolic)
    except (Refutation, UndecidedError):
        seen["refused"] += 1
        return []
    seen["run"] += 1
    wrong = [
        f"{i} at {u}: register {k} is {symbolic.gpr[k]!r}, not {m.gpr[k]!r}"
        for u, m in concrete
        for k in range(16)
        if at(symbolic.gpr[k], u) != m.gpr[k]
    ]
    for name in CONDITIONS:
        said = condition(symbolic.flags, name)
        truth = {condition(m.flags, name) for _, m in concrete}
        if said is None:
            seen[
                "open although all agree" if len(truth) == 1 and None not in truth else "open"
            ] += 1
        elif truth - {said, None}:
            wrong.append(f"{i}: {name} is said to be {said}, with {gpr}")
        else:
            seen["decided"] += 1
    return wrong


@cache
def codes() -> tuple[int, ...]:
    return tuple(forms())


def rounds(count: int) -> Iterator[tuple[int, Instruction, dict[int, Value], tuple[int, int]]]:
    rng = random.Random(SEED)
    for code in codes():
        for _ in range(count):
            i, bits = instruction(code, rng), width(code)
            u = unknown(rng, bits)
            gpr: dict[int, Value] = {RAX: u, RDX: operand(rng, bits, u)}
            if rng.randrange(4) == 0:
                gpr[RAX], gpr[RDX] = gpr[RDX], u
            gpr[RCX] = rng.randrange(70)
            if code_name(code).startswith("VEX") and isinstance(gpr[RAX], Affine):
                gpr[RDX] = rng.randrange(70)
            yield code, i, gpr, (rng.getrandbits(64), rng.getrandbits(64))


def test_every_form_has_a_row() -> None:
    assert len(set(codes())) == len(codes()) > 150
    assert all(code in rows() for code in codes())


def test_unknowns_are_exact_or_refused() -> None:
    seen: Counter[str] = Counter()
    wrong = []
    for code, i, gpr, before in rounds(ROUNDS):
        wrong += differences(code, i, gpr, before, seen)
    assert wrong == []
    # It is not by refusing everything that nothing is wrong.
    assert seen["run"] > 4 * len(codes())
    assert seen["decided"] > 8 * seen["open although all agree"], seen


PLANTED: dict[str, Callable[[Number, int], bool | None]] = {
    "the sign bit of a difference for less-than": lambda a, k: (
        a.greatest < 0 if isinstance(a, Affine) else bool(a >> k & 1)
    ),
    "the sign of 64 bits at every width": lambda a, k: (
        False if isinstance(a, Affine) and a.greatest >> 63 == 0 else flags_bit(a, k)
    ),
}

flags_bit = flags_module.bit


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags_module, "bit", PLANTED[name])
    seen: Counter[str] = Counter()
    assert any(differences(*case, seen) for case in rounds(8))


def test_a_result_that_is_not_narrowed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from ghashgen.verify.core import values

    monkeypatch.setattr(values, "reduced", lambda a, bits: a)
    seen: Counter[str] = Counter()
    found = []
    for case in rounds(8):
        try:
            found += differences(*case, seen)
        except Refutation:
            # The register file or the memory has refused it.
            found.append("refused")
    assert found


# Addresses: compared as their offsets are only while they lie in their buffer.


def pointers(rng: random.Random) -> tuple[Pointer, Pointer]:
    offsets = [rng.choice((0, 1, 16, 63, 64, 65, -1, -16, 1000, -(1 << 63))) for _ in range(2)]
    first, second = (Pointer("buffer", offset) for offset in offsets)
    return first, second


def test_addresses_compare_wherever_the_buffer_lies() -> None:
    rng = random.Random(SEED)
    seen: Counter[str] = Counter()
    code = Code.CMP_RM64_R64
    for _ in range(400):
        a, b = pointers(rng)
        i = instruction(code, rng)
        if i.op0_register == i.op1_register:
            continue
        symbolic = machine({RAX: a, RDX: b}, (0, 0))
        step_of(i)(symbolic)
        for start in (0, 16, 1 << 32, (1 << 63) - 32, (1 << 63) + 5, M64 - 64):
            concrete = machine({RAX: a.offset + start & M64, RDX: b.offset + start & M64}, (0, 0))
            step_of(i)(concrete)
            for name in CONDITIONS:
                said = condition(symbolic.flags, name)
                seen["open" if said is None else "decided"] += 1
                assert said in (None, condition(concrete.flags, name)), (a, b, start, name)
    assert seen["decided"] > 1000
    assert seen["open"] > 1000


def test_an_address_is_neither_zero_nor_not_zero() -> None:
    for code in (Code.TEST_RM64_R64, Code.CMP_RM64_IMM8, Code.ADD_RM64_IMM8, Code.OR_RM64_IMM8):
        i = Instruction()
        i.code = code
        i.set_op_register(0, Register.RAX)
        if code == Code.TEST_RM64_R64:
            i.set_op_register(1, Register.RAX)
        else:
            i.set_op_kind(1, OpKind.IMMEDIATE8TO64)
            i.immediate8to64 = 0
        m = machine({RAX: Pointer("buffer", 0)}, (0, 0))
        step_of(i)(m)
        assert all(condition(m.flags, name) is None for name in ("e", "ne", "s", "ns", "le", "g"))


# Claims: what is claimed is what was shown.


def test_a_claim_is_divided_without_a_gap() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        step = rng.choice((1, 16))
        claim = Claim(step, rng.randrange(2000, 4000), "u")
        group = rng.choice((16, 32, 64, 96, 128))
        first = rng.randrange(1, 5)
        numbers = range(0, first * group, step)
        assert claim.missing(numbers, [claim.above(first * group)]) is None
        pieces = list(claim.split(group, first))
        assert claim.missing(numbers, pieces) is None
        shown = {n for p in pieces for n in range(p.least, p.greatest + 1, group)} | set(numbers)
        assert shown == set(range(0, claim.last + 1, step))


def test_a_gap_in_a_claim_is_found() -> None:
    rng = random.Random(SEED)
    for _ in range(300):
        claim = Claim(rng.choice((1, 16)), rng.randrange(2000, 4000), "u")
        pieces = list(claim.split(64, 2))
        at_piece = rng.randrange(len(pieces))
        old = pieces[at_piece]
        pieces[at_piece] = rng.choice(
            (
                Affine(64, old.offset, old.low, old.high - 1, "u"),
                Affine(64, old.offset, old.low + 1, old.high, "u"),
                Affine(64, old.offset, old.high - 1, old.high, "u"),
            )
        )
        numbers = range(0, 128, claim.step)
        missing = claim.missing(numbers, pieces)
        assert missing is not None
        assert missing <= claim.last
        assert missing % claim.step == 0
        assert missing not in numbers
        assert not any(contains(p, missing) for p in pieces)


def test_the_greatest_lengths_are_claimed_and_covered() -> None:
    claim = Claim(1, (1 << 62) - 1, "u")
    assert claim.missing(range(128), list(claim.split(64, 2))) is None
    short = [Affine(64, p.offset, p.low, claim.bound // 64 - 1, "u") for p in claim.split(64, 2)]
    assert claim.missing(range(128), short) == (1 << 62) - 64
    assert shift_number(claim.above(128), 0) == Affine(1, 0, 128, claim.bound, "u")
