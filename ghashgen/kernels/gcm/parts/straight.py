"""Any text on straight paths in wide registers (AVX-512): whole groups, then the rest.

Groups are as in `directions`, but a last whole group is not one of them: 1 to n blocks remain for
the rest, which hashes the length block with them. J_0 goes through the cipher beside the first
group, or beside a text without groups, which hides its latency.

A rest of many registers is sealed in two halves (`plan.half`), as a group is (`groups`): the first
half is hashed beside the cipher of the second.
"""

from collections.abc import Callable, Mapping
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import inner_rounds, rounds
from ghashgen.kernels.bytes.exact import Exact, cut
from ghashgen.kernels.gcm.kernel import ENTRY_BYTES
from ghashgen.kernels.gcm.parts import ends
from ghashgen.kernels.gcm.parts.groups import Groups
from ghashgen.kernels.gcm.parts.plan import (
    WIDE,
    Path,
    States,
    Sums,
    accumulators,
    choose,
    half,
    products,
)
from ghashgen.kernels.gcm.parts.tag import MASK, add_mask
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.hash.parts.interface import GROUP, entries, finish_group, key_sum, times_h


def wide(text: Text, S: VReg, J0: VReg, lengths: Callable[[], VReg], encrypts: bool) -> VReg:
    """Record any text in wide registers; return the tag. `lengths` records the length block.

    Groups are as in `directions`, but a last whole group is not one of them: 1 to n blocks remain
    for the rest, which hashes the length block with them. J_0 goes through the cipher beside the
    first group.
    """
    b, kernel, group_bytes = text.b, text.kernel, text.group_bytes
    hashing = kernel.hash
    acc = accumulators(text)
    R = b.register("R") if hashing.multiplier.key_term else None
    rest = partial(_rest, text, encrypts, acc, R)
    b.branch("not_below", text.length, group_bytes + 1, "groups")
    tag = b.variable(rest("alone", S, lengths(), J0), "the tag")
    b.emit("jump", Label("tagged"))
    b.label("groups")
    X = b.register("X")
    groups = Groups(text, X, encrypts)
    with stream(text, "hash"):
        b.assign(X, times_h(b, hashing, text.context, S) if encrypts else first_group(text, acc, S))
    with stream(text, "cipher", lean=False):
        groups.cipher(partial(encipher, text, J0))
    text.advance(group_bytes, "next group")
    b.branch("below", text.length, group_bytes + 1, "rest")
    groups.ready()
    with b.loop(GROUP):
        groups.turn()
        b.branch("not_below", text.length, group_bytes + 1, GROUP)
    b.label("rest")
    b.assign(tag, rest("rest", X, lengths(), group=groups.hash if encrypts else None))
    b.label("tagged")
    return tag


def first_group(text: Text, acc: Mapping[str, VReg], S: VReg) -> VReg:
    """Record GHASH of the first group as read, with S·H^(n+1) in its sum; return X."""
    b, hashing, n = text.b, text.kernel.hash, text.kernel.blocks
    sums = products(b, hashing, {}, S, entries(hashing, text.context, n + 1), "S")
    of = WIDE, text, False, acc, _beside(text, None), None, text.kernel.registers, None
    path = Path(*of, text.context, n)
    sums = path.hash(sums, path.given())
    b.about("reduce")
    X = finish_group(b, hashing, sums, key_sum(hashing, text.context, n + 1))
    b.about("")
    return X


def _rest(
    text: Text,
    encrypts: bool,
    acc: Mapping[str, VReg],
    R: VReg | None,
    name: str,
    state: VReg,
    lengths: VReg,
    J0: VReg | None = None,
    group: Callable[[], None] | None = None,
) -> VReg:
    """Record the rest, a path for each number of registers that it can fill; return the tag.

    After whole groups `state` is X, and at least one byte is left. Without them it is S, and J_0 is
    enciphered beside the text. A seal hashes the last ciphertext from the registers that produced
    it. `group` records the GHASH of a group that is written but not hashed, beside the cipher.
    """
    b, kernel, lanes = text.b, text.kernel, text.kernel.lane_count
    hashing, top, step = kernel.hash, kernel.layout.top, BLOCK_BYTES * lanes
    alone = J0 is not None
    least, most = 2 if alone else 1, kernel.registers

    def path(count: int, end: ends.End | None, key_at: VReg) -> None:
        def before() -> Sums:
            near, far = entries(hashing, text.context, 1), entries(hashing, key_at, top + 1)
            sums = products(b, hashing, {}, lengths, near, "lengths")
            if alone:
                sums = products(b, hashing, sums, state, far, "S")
            if group is not None:
                group()
            return sums

        cipher, begin = _beside(text, J0), None
        if encrypts and half(count):
            cipher, begin = _beside(text, None), partial(_begun, text, J0)
        of = WIDE, text, encrypts, acc, cipher, None, count, end, key_at, top, before
        Path(*of, state=None if alone else state, begin=begin).record()

    def few(numbers: range) -> None:
        exact = end = None
        if numbers[0]:
            exact = Exact.of(b, text.length, numbers, lanes)
            names = f"{name}_in_{numbers[0]}", f"{name}_out_{numbers[0]}"
            end = ends.wide(exact, names, text.at(text.source), lambda: text.at(text.out), True)
        path(int(numbers[0] > 0), end, _power(text, R, alone, exact))
        if end is not None:
            end.finish()
        b.emit("jump", Label(f"{name}_reduce"))

    def more(count: int) -> None:
        path(count, end, key_at)
        if count < most:
            b.emit("jump", Label(f"{name}_written"))

    def last(base: VReg) -> Mem:
        start = b.gpr("gpr_address", Mem(base=base, index=at), note="the last register")
        return text.at(start)

    def label(kind: str, unit: int = 1) -> Callable[[int], str]:
        return lambda least: f"{name}_{kind}_{least // unit}"

    if alone:
        if most > 1:
            b.branch("not_below", text.length, step + 1, f"{name}_more")
        parts = [range(1), *cut(range(1, step + 1), lanes)]
        cases = {part[0]: partial(few, part) for part in parts}
        choose(b, text.length, cases, label("from"), lambda count: count // 2)
        if most > 1:
            b.label(f"{name}_more")
    if least <= most:
        # The last register has at least 1 byte. After whole groups no access begins before it: that
        # text belongs to another turn of the loop.
        left = b.gpr("gpr_and", b.gpr("gpr_sub", text.length, 1), step - 1)
        left = b.gpr("gpr_add", left, 1, note="bytes of the last register")
        exact = Exact.of(b, left, range(1, step + 1), lanes, behind=alone)
        at = b.gpr("gpr_minus", text.length, left, note="bytes before the last register")
        names = f"{name}_in", f"{name}_out"
        end = ends.wide(exact, names, last(text.source), lambda: last(text.out), shared=True)
        key_at = _power(text, R, alone, exact)
        cases = {step * (i - 1) + 1: partial(more, i) for i in range(least, most + 1)}
        choose(b, text.length, cases, label("over", step), lambda count: (count + 1) // 2)
        b.label(f"{name}_written")
        end.finish()
    b.label(f"{name}_reduce")
    b.about("reduce")
    return add_mask(b, kernel, finish_group(b, hashing, acc, R))


def _power(text: Text, R: VReg | None, alone: bool, exact: Exact | None) -> VReg:
    """Record the key terms of all powers used; return the address of H^(m+1) in the first array.

    If the register has a lane after the text, that lane is a zero block at H. Its product is 0, but
    a scheme with key terms adds that of H to the sum.
    """
    b, hashing, top = text.b, text.kernel.hash, text.kernel.layout.top
    rounded = b.gpr("gpr_and", b.gpr("gpr_address", Mem(base=text.length, disp=15)), -16)
    start = b.gpr("gpr_address", Mem(base=text.context, disp=ENTRY_BYTES * (top - 1)))
    key_at = b.gpr("gpr_minus", start, rounded, note="H^(m+1)")
    met, once_more = key_sum(hashing, key_at, top + alone), key_sum(hashing, text.context, 1)
    if R is None or met is None or once_more is None:
        return key_at
    term = exact.if_lane_free(once_more, "the key term of H") if exact else None
    note = "the key terms of all powers that are met"
    b.assign(R, b.load(met, note) if term is None else b.xor(term, met, note))
    return key_at


def _beside(text: Text, J0: VReg | None) -> Callable[[int, bool], States]:
    """Return the cipher of a path, with J_0 if it is pending."""
    return lambda count, _: (encipher(text, J0, text.counters.last_blocks(count)), None)


def _begun(text: Text, J0: VReg | None, count: int) -> list[VReg]:
    """Record the cipher of a path's first half."""
    return encipher(text, J0, text.counters.blocks(count))


def encipher(text: Text, J0: VReg | None, blocks: list[VReg]) -> list[VReg]:
    """Record all rounds but the last of `blocks`, and beside them E_K(J_0), put aside.

    J_0 takes one lane: on Zen 4, operations on 512 bits take two steps.
    """
    b, keys = text.b, text.keys
    if J0 is None:
        return rounds(b, keys, blocks)
    first, last = (keys.key(i, text.kernel.lane_count) for i in (0, keys.rounds))
    *whitened, alone = [b.xor(block, first, "+ k_0") for block in (*blocks, J0)]
    *states, state = inner_rounds(b, keys, [*whitened, b.first_lane(alone)])
    b.store(MASK, b.aes_last(state, b.first_lane(last), "E_K(J_0)"), "E_K(J_0), put aside")
    return states
