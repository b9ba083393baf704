"""Texts of few blocks on straight paths: `narrow`, and `short` in wide registers.

J_0 goes through the cipher in the last register's last lane if that is free, and otherwise in a
register of its own. `short` takes a last register of two lanes if that holds the blocks, because a
CPU may need two steps for an operation on four, and for J_0 alone one lane:

    blocks of text    of `narrow`, two lanes             of `short`, four lanes
    0, 1              C_1, J_0                           C_1, J_0
    2                 C_1, C_2            J_0            C_1, C_2                     J_0
    3                 C_1, C_2            C_3, J_0       C_1, C_2, C_3, J_0
    4                 C_1, C_2  C_3, C_4  J_0            C_1, C_2, C_3, C_4           J_0
    5, 6                                                 C_1 … C_4  C_5, C_6          J_0

Calls of `short` overlap while the schedulers have room. An operation that waits for the cipher
occupies a scheduler entry for long; one that is ready at once does not. So all registers go through
a round together, and each has as little as possible after the cipher: k_0 joins the IV before the
numbers of the counter blocks do, and sums are swapped to memory order before their lanes are added,
so that E_K(J_0) joins in one operation.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import inner_rounds, rounds
from ghashgen.kernels.bytes.exact import Exact, cut
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts import ends
from ghashgen.kernels.gcm.parts.plan import (
    NARROW,
    ONE,
    SHORT,
    SINGLE,
    Path,
    Plan,
    States,
    accumulators,
    assign,
    choose,
    products,
)
from ghashgen.kernels.gcm.parts.text import Place, Text
from ghashgen.kernels.hash.parts.interface import (
    close_group,
    entries,
    finish_group,
    finish_lanes,
    key_sum,
    to_register,
)

MOST_REGISTERS = 4
"""Registers of a short text. Each number of them has its own code, twice."""


def most_bytes(kernel: GcmKernel) -> int:
    """Return the bytes of the longest text whose powers are in the table."""
    if not kernel.instruction_set.partial_registers:
        return BLOCK_BYTES * kernel.hash.straight
    return BLOCK_BYTES * kernel.lane_count * min(kernel.registers, MOST_REGISTERS)


def _behind(text: Place) -> tuple[VReg, VReg, VReg | None]:
    """Return -16·m, the address of H^(m+2), and the key terms of the powers from there on."""
    b, top = text.b, text.kernel.layout.top
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
    back = b.gpr("gpr_neg", rounded, note="-16·m")
    place = Mem(base=text.context, index=back, disp=BLOCK_BYTES * (top - 2))
    powers = b.gpr("gpr_address", place, note="H^(m+2)")
    R = key_sum(text.kernel.hash, powers, top)
    terms = None if R is None else b.variable(R, "R", "the key terms of H^(m+2) … H")
    return back, powers, terms


def _far_and_near(text: Place, powers: VReg) -> list[Value]:
    """Record the entries of H^(m+2), where `powers` stands, and of H, one lane each."""
    b, kernel = text.b, text.kernel
    far = entries(kernel.hash, powers, kernel.layout.top)
    near = entries(kernel.hash, text.context, 1)
    return [
        b.insert_lane(b.load(a, "H^(m+2)"), 1, b.load(c, "H"), 2, "both")
        for a, c in zip(far, near, strict=True)
        if isinstance(a, Mem) and isinstance(c, Mem)
    ]


def narrow(text: Text, S: VReg, lengths: VReg, encrypts: bool) -> VReg:
    """Record a text of at most `most_bytes` in narrow registers; return the tag.

    The power that S meets depends on m; those of the text are fixed in the code.
    """
    b, hashing, lanes = text.b, text.kernel.hash, text.kernel.lane_count
    _, powers, R = _behind(text)
    acc, mask = accumulators(text), b.register("E_K(J_0)")

    def cipher(count: int, free: bool) -> States:
        taken = text.counters.last_blocks(count)
        if free:
            taken[-1] = b.insert_lane(taken[-1], 1, text.counters.first, lanes, "and J_0")
            return rounds(b, text.keys, taken), None
        *states, J0 = rounds(b, text.keys, [*taken, text.counters.first])
        return states, J0

    def path(m: int, end: Callable[[], ends.End], plan: Plan = NARROW) -> None:
        of = plan, text, encrypts, acc, cipher, mask, -(-m // lanes), end(), text.context
        Path(*of, m + 1, lambda: acc, free=m % lanes > 0).record()
        b.emit("jump", Label("reduce"))

    b.about("S, lengths")
    if lanes == 1:
        sums = products(b, hashing, {}, S, entries(hashing, powers, text.kernel.layout.top))
        sums = products(b, hashing, sums, lengths, entries(hashing, text.context, 1))
    else:
        keys = _far_and_near(text, powers)
        A = b.insert_lane(S, 1, lengths, lanes, "S, the lengths")
        sums = products(b, hashing, {}, A, keys)
    assign(b, acc, sums)
    b.about("")
    b.branch("below", text.length, BLOCK_BYTES, "under_block")
    cases = {BLOCK_BYTES: partial(path, 1, partial(ends.block, text), SINGLE)}
    for m in range(2, hashing.straight + 1):
        cases[BLOCK_BYTES * (m - 1) + 1] = partial(path, m, partial(ends.overlapping, text, m))
    choose(b, text.length, cases, lambda least: f"over_{least // BLOCK_BYTES}", lambda count: 1)
    b.label("under_block")
    b.branch("equal", text.length, 0, "none")
    path(1, partial(ends.few, text), SINGLE)
    b.label("none")
    _, J0 = cipher(0, False)
    assert J0 is not None
    key = text.keys.last(1)
    b.assign(mask, b.aes_last(b.first_lane(J0), key, "E_K(J_0)"))
    b.label("reduce")
    b.about("reduce")
    X = finish_group(b, hashing, acc, R)
    b.about("")
    return b.xor(to_register(b, hashing, X, "as in memory"), mask, "the tag")


_LAST: Mapping[int, tuple[tuple[int, int, bool], ...]] = {
    2: ((1, 2, True), (2, 2, False)),
    4: ((1, 2, True), (2, 2, False), (3, 4, True), (4, 4, False)),
}
"""The last register of a short text, by the lanes of the widest: for up to so many blocks it has so
many lanes, and J_0 goes in its last lane or in a register of its own. Behind other registers one
block goes as two do.
"""


def short(text: Place, iv: VReg, S: VReg, lengths: VReg, encrypts: bool) -> VReg:
    """Record a text of at most `most_bytes` in wide registers; return the tag.

    `iv` is IV || 0 in every lane. Counter blocks are IV || j: each is one sum with a constant, and
    none waits for another. In an open, S, C_1 …, C_m and the lengths are the lanes of one register
    if they fit.
    """
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    hashing, top, step = kernel.hash, kernel.layout.top, BLOCK_BYTES * lanes
    back, powers, R = _behind(text)
    whitened = b.xor(iv, text.keys.key(0, lanes), "(IV || 0) + k_0")
    acc, mask = accumulators(text), b.register("E_K(J_0)")

    def cipher(width: int, count: int, free: bool) -> States:
        rows = [[*range(lanes * i + 2, lanes * i + lanes + 2)] for i in range(count)]
        rows[-1] = rows[-1][:width]
        if free:
            rows[-1][-1] = 1
        else:
            rows.append([1])
        states = inner_rounds(b, text.keys, [_numbered(b, whitened, row) for row in rows])
        return (states, None) if free else (states[:-1], states[-1])

    def one(numbers: range) -> None:
        exact = Exact.of(b, text.length, numbers, lanes)
        names = f"one_{numbers[0]}", f"one_written_{numbers[0]}"
        end = ends.wide(exact, names, text.at(text.source), lambda: text.at(text.out))
        behind = b.lanes_up(end.given, 1, "the text, behind lane 0")
        C = to_register(b, hashing, behind, "C")
        A = b.xor(_lengths_behind(b, lengths, lanes, back), S, "S in lane 0")
        A = b.xor(C, A, "S, C_1 …, the lengths")
        sums = products(b, hashing, {}, A, entries(hashing, powers, top))
        alone = partial(cipher, 2 if numbers[-1] <= BLOCK_BYTES else lanes)
        of = ONE, text, encrypts, acc, alone, mask, 1, end, powers
        Path(*of, top, lambda: sums, True).record()
        b.emit("jump", Label("reduce"))

    def path(count: int, width: int, free: bool, numbers: range) -> None:
        least, left, before = numbers[0], text.length, step * (count - 1)
        if before:
            left = b.gpr("gpr_address", Mem(base=left, disp=-before))
            numbers = range(least - before, numbers[-1] - before + 1)
        exact = Exact.of(b, left, numbers, width, count > 1)
        names, given = (f"given_{least}", f"written_{least}"), text.at(text.source, before)
        end = ends.wide(exact, names, given, lambda: text.at(text.out, before))
        of = SHORT, text, encrypts, acc, partial(cipher, width), mask, count, end, powers
        Path(*of, top - 1, lambda: sums, free).record()
        once_more = key_sum(hashing, text.context, 1)
        if R is not None and once_more is not None:
            # The first lane after C_m meets H once more.
            term = exact.if_lane_free(once_more, "that of H")
            if term is not None:
                b.assign(R, b.xor(R, term, "those of H"))
        b.emit("jump", Label("reduce"))

    least = 0
    if not encrypts and lanes > 2:
        least = step - 2 * BLOCK_BYTES + 1
        b.branch("not_below", text.length, least, "over_one")
        first, *others = cut(range(least), lanes)
        for numbers in reversed(others):
            b.branch("below", text.length, numbers[0], f"under_{numbers[0]}")
            one(numbers)
            b.label(f"under_{numbers[0]}")
        one(first)
        b.label("over_one")
    b.about("S, lengths")
    A = b.insert_lane(S, 1, lengths, 2, "S, the lengths")
    sums = products(b, hashing, {}, A, _far_and_near(text, powers))
    b.about("")
    cases: dict[int, Callable[[], None]] = {}
    for count in range(1, most_bytes(kernel) // step + 1):
        for blocks, width, free in _LAST[lanes][lanes > 2 and count > 1 :]:
            numbers = range(least, step * (count - 1) + BLOCK_BYTES * blocks + 1)
            parts = cut(numbers, lanes) if count == 1 and numbers else [numbers]
            cases |= {p[0]: partial(path, count, width, free, p) for p in parts if p}
            least = max(least, numbers.stop)
    choose(b, text.length, cases, lambda least: f"from_{least}", lambda count: count // 2)
    b.label("reduce")
    X = finish_lanes(b, hashing, acc, None)
    if R is not None:
        mask = b.xor(mask, to_register(b, hashing, R, "as in memory"), "minus the terms")
    return b.xor(close_group(b, to_register(b, hashing, X, "as in memory"), None), mask, "the tag")


def _numbered(b: Builder, whitened: VReg, row: Sequence[int]) -> VReg:
    """Record the counter blocks IV || j, with k_0 added, for a register's numbers j."""
    name = f"numbers_{row[0]}" + ("_1" if row[-1] == 1 else "")
    if len(row) < b.lanes_of(whitened):
        name += f"_of_{len(row)}"
    # The last four bytes of a block hold the number, big-endian.
    numbers = [int.from_bytes(bytes(12) + j.to_bytes(4, "big"), "little") for j in row]
    start = b.first_lanes(whitened, len(row))
    return b.xor(start, b.const_lanes(numbers, name), "IV || j, + k_0")


def _lengths_behind(b: Builder, lengths: VReg, lanes: int, back: VReg) -> VReg:
    """Record the length block in the lane after the text, zeros elsewhere."""
    place, size = BLOCK_BYTES * (lanes - 1), 2 * BLOCK_BYTES * lanes
    window = bytes(place) + b"\xff" * BLOCK_BYTES + bytes(size - place - BLOCK_BYTES)
    at = b.gpr("gpr_address", b.const_bytes(window, "one_lane"))
    spread = b.spread_lane(lengths, lanes, "the lengths in every lane")
    return b.and_(spread, Mem(base=at, index=back, disp=place - BLOCK_BYTES), "in theirs")
