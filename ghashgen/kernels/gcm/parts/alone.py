"""A text of one to four blocks in one register, without loops: encrypt and decrypt of few bytes.

One or two blocks go in a register of two lanes. Four lanes would take longer for the same work,
because a CPU may need two steps for one operation. Each round reads its key in the context.
"""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes import aggregate
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem
from ghashgen.kernels.aes.cipher import RoundKeys, add_text, rounds
from ghashgen.kernels.aes.text import IN_TEXT
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.parts.interface import (
    entries,
    finish_group,
    key_sum,
    load_block,
    store_block,
    to_register,
)
from ghashgen.kernels.hash.parts.tail import walk
from ghashgen.kernels.memory import BYTE_SWAP


def text_alone(b: Builder, kernel: GcmKernel, encrypts: bool, done: str) -> None:
    """Record encrypt or decrypt of texts of one register, and jumps to `done`; go on for others."""
    least = 1
    for lanes in (2, kernel.lane_count):
        numbers = range(least, BLOCK_BYTES * lanes + 1)
        least = numbers.stop
        b.branch("not_below", b.params[-1], least, f"from_{least}")
        with b.part(f"in_{lanes}"):
            _register(b, kernel, encrypts, Exact.of(b, b.params[-1], numbers, lanes))
        b.emit("jump", Label(done))
        b.label(f"from_{least}")


def _register(b: Builder, kernel: GcmKernel, encrypts: bool, exact: Exact) -> None:
    context, counter, x, source, out, length = b.params
    hashing, keys, lanes, place = (
        kernel.hash,
        RoundKeys(b, kernel, context),
        exact.lanes,
        Mem(counter),
    )
    swap, numbers = b.const(BYTE_SWAP, "byte_swap"), [*range(kernel.lane_count)]
    first = b.shuffle_bytes(b.load_spread(place, lanes, "counter block"), swap, "last word first")
    each = b.add32(first, b.const_lanes(numbers, "lane_numbers"), "lane l is l blocks ahead")
    (state,) = rounds(b, keys, [b.shuffle_bytes(each, swap, "counter blocks")])
    raw = exact.load("given", Mem(base=source, within=IN_TEXT))
    written = add_text(b, state, keys.operand(keys.rounds, lanes), raw, "the other text")
    C = to_register(b, hashing, exact.first(written) if encrypts else raw, "C")
    A = b.xor(C, load_block(b, hashing, x, name="X"), "A = X + C")
    key_at, top = walk(b, hashing, context, length), hashing.layout.top
    powers, scheme = entries(hashing, key_at, top), (hashing.multiplier, hashing.bit_order)
    sums = aggregate.accumulate(b, *scheme, {}, A, powers)
    X = finish_group(b, hashing, sums, key_sum(hashing, key_at, top))
    exact.store("written", Mem(base=out, within=IN_TEXT), written)
    blocks = b.gpr("gpr_shr", b.gpr("gpr_add", length, BLOCK_BYTES - 1), 4, note="blocks")
    after = b.add32(b.first_lane(first), b.from_gpr(blocks), "blocks done")
    b.store(place, b.shuffle_bytes(after, swap, "counter block"), "counter block")
    store_block(b, hashing, x, X)
