"""The cipher over the rest of a text after whole groups. The last block may be partial.

Runs of registers have power-of-two sizes, from the binary digits of the number of registers. The
blocks of a run go through the cipher side by side, without a loop, and runs do not wait for each
other. Bytes that do not fill a register go in one partly filled register (AVX-512), or as a whole
block and a partial one (`kernels.hash.parts.tail` has the same cases).
"""

from collections.abc import Callable, Sequence
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import add_text, rounds
from ghashgen.kernels.aes.text import Text, TextKernel
from ghashgen.kernels.bytes.exact import Exact, numbers_left
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.bytes.store import first_bytes, store_partial


def cipher_rest(text: Text[Any]) -> None:
    """Record the cipher over fewer blocks than a group, perhaps none. Advances the text."""
    _record(text, None)


def kept_rest(text: Text[Any], kept: Sequence[VReg] = ()) -> VReg:
    """Record the same, and return the output of the partly filled register, or of the partial block
    in kernels without such registers, zero-padded: GHASH need not read it back. `kept` takes that
    of the runs (`runs`), one behind another.
    """
    b, kernel = text.b, text.kernel
    partly = kernel.instruction_set.partial_registers
    last = b.zero("C_last", lanes=kernel.lane_count if partly else 1)
    _record(text, last, kept)
    return last


def runs(kernel: TextKernel) -> list[int]:
    """Return the registers of each run, the longest first."""
    digits = range((kernel.registers - 1).bit_length())
    return [1 << digit for digit in reversed(digits)]


def _record(text: Text[Any], last: VReg | None, kept: Sequence[VReg] = ()) -> None:
    b, kernel = text.b, text.kernel
    lanes, partly = kernel.lane_count, kernel.instruction_set.partial_registers
    if not text.has_rest:
        return
    b.branch("equal", text.length, 0, "written")
    for run in runs(kernel):
        size = run * lanes * BLOCK_BYTES
        b.branch("below", text.length, size, f"under_{run}")
        outs = text.add_keystream(run)
        for register, out in zip(kept[:run], outs, strict=False):
            b.assign(register, out)
        kept = kept[run:]
        text.advance(size)
        b.label(f"under_{run}")
    if not (text.whole and lanes == 1):
        b.branch("equal", text.length, 0, "written")
        b.about("AES")
        (_WHOLE if text.whole else _LAST)[partly, lanes](b, text, last)
        b.about("")
    b.label("written")


def _register(b: Builder, text: Text[Any], last: VReg | None) -> None:
    """Take the rest, 1 to 16·L - 1 bytes."""
    lanes = text.kernel.lane_count
    exact = Exact.of(b, text.length, numbers_left(lanes, text.whole), lanes)
    raw = exact.load("given", text.at(text.source))
    (state,) = rounds(b, text.keys, [text.counters.partial(lanes)])
    written = add_text(b, state, text.keys.last(lanes), raw, "last round: the other text")
    if last is not None:
        b.assign(last, exact.first(written))
    exact.store("written", text.at(text.out), written)
    if text.whole:
        text.move(text.source, text.length, "behind the text")
        text.move(text.out, text.length)
    if text.counters.kept:
        rounded = b.gpr("gpr_add", text.length, BLOCK_BYTES - 1)
        text.counters.skip(b.gpr("gpr_shr", rounded, 4, note="blocks, the partial one too"))


def _pair(b: Builder, text: Text[Any], last: VReg | None) -> None:
    """Take at most one whole block and one partial one, 1 to 31 bytes."""
    b.branch("below", text.length, BLOCK_BYTES, "under_block")
    _block(b, text, last)
    b.branch("equal", text.length, 0, "written")
    b.label("under_block")
    _single(b, text, last)


def _block(b: Builder, text: Text[Any], last: VReg | None) -> None:
    """Take one whole block."""
    del last
    (state,) = rounds(b, text.keys, [text.counters.partial(1)])
    text.counters.skip(1)
    raw = b.load(text.at(text.source), "text, bytes as in memory")
    written = add_text(b, state, text.keys.last(1), raw, "last round: the other text")
    b.store(text.at(text.out), written, "written")
    text.advance(BLOCK_BYTES)


def _single(b: Builder, text: Text[Any], last: VReg | None) -> None:
    """Take a partial block, 1 to 15 bytes."""
    (state,) = rounds(b, text.keys, [text.counters.partial(1)])
    if text.counters.kept:
        text.counters.skip(1)
    raw = load_partial(b, text.source, text.length, "padded", forget=True)
    written = add_text(b, state, text.keys.last(1), raw, "last round: the other text")
    if last is not None:
        b.assign(last, first_bytes(b, written, text.length))
    store_partial(b, text.out, text.length, written)


_LAST: dict[tuple[bool, int], Callable[[Builder, Text[Any], VReg | None], None]] = {
    (True, 2): _register,
    (True, 4): _register,
    (False, 2): _pair,
    (False, 1): _single,
}
"""Loads the blocks that do not fill a register, by (registers partly filled, lanes)."""

_WHOLE: dict[tuple[bool, int], Callable[[Builder, Text[Any], VReg | None], None]] = {
    (True, 2): _register,
    (True, 4): _register,
    (False, 2): _block,
}
"""The same for texts without a partial block."""
