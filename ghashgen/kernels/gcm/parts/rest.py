"""The last m blocks, fewer than a group, the last perhaps partial: one aggregated sum of GHASH.

Runs of registers by powers of two, those that m has in binary: the blocks of a run go through the
cipher side by side, without a loop. What does not fill a register is loaded and stored under byte
masks, or comes as a whole block and a partial one (`kernels.hash.parts.tail` has the same cases).
"""

from collections.abc import Callable, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts.cipher import add_text, rounds
from ghashgen.kernels.gcm.parts.partial import first_bytes, store_partial
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import finish_group, load_block, to_register
from ghashgen.kernels.hash.parts.partial import load_partial
from ghashgen.kernels.hash.parts.tail import Tail


class Rest:
    """The sums that the rest carries."""

    def __init__(self, text: Text, X: VReg, encrypts: bool) -> None:
        self.text, self.encrypts = text, encrypts
        self.tail = Tail(text.b, text.kernel.hash, text.context, X, text.source, text.length)
        self.tail.clear()

    def run(self, count: int) -> None:
        """Take so many whole registers."""
        text, b, lanes = self.text, self.text.b, self.text.kernel.lane_count
        if self.encrypts:
            written = text.add_keystream(count)
            self._add([to_register(b, text.kernel.hash, each, "C") for each in written], "C·H^i")
        else:
            with b.stream("hash"):
                self._add([self._load(i) for i in range(count)], "C·H^i")
            with b.stream("cipher", lean=False):
                text.add_keystream(count)
        b.emit("zero", self.tail.X, note="X counts once")
        self.advance(BLOCK_BYTES * lanes * count, count * lanes)

    def _load(self, i: int) -> VReg:
        """Load register i of a run in register form."""
        text, lanes = self.text, self.text.kernel.lane_count
        at = BLOCK_BYTES * lanes * i
        return load_block(text.b, text.kernel.hash, text.source, at, lanes=lanes)

    def _add(self, hashed: Sequence[VReg], subject: str) -> None:
        """Add the products of registers, the first of which X may still have to join."""
        first, *others = hashed
        self.tail.multiply(first, subject)
        self.text.b.about(subject)
        for i, C in enumerate(others, 1):
            self.tail.add(C, i * self.text.kernel.lane_count)
        self.text.b.about("")

    def advance(self, by: int, blocks: int) -> None:
        """Move on by some whole blocks."""
        self.tail.advance(blocks)
        self.text.move(self.text.out, by)

    def whole_block(self) -> None:
        """Take one block of a wide register."""
        text, b = self.text, self.text.b
        state = rounds(b, text.keys, [text.counters.partial(1)])[0]
        text.counters.skip(1)
        raw = b.load(text.at(text.source), "text, bytes as in memory")
        written = add_text(b, state, text.keys.last(1), raw, "other text")
        b.store(text.at(text.out), written, "written")
        C = written if self.encrypts else raw
        self._add([to_register(b, text.kernel.hash, C, "C")], "C·H^i")
        b.emit("zero", self.tail.X, note="X counts once")
        self.advance(BLOCK_BYTES, 1)

    def partial_block(self) -> None:
        """Take a partial block, 1 to 15 bytes."""
        text, b = self.text, self.text.b
        state = rounds(b, text.keys, [text.counters.partial(1)])[0]
        if text.counters.kept:
            text.counters.skip(1)
        raw = load_partial(b, text.source, text.length, "padded")
        written = add_text(b, state, text.keys.last(1), raw, "other text")
        C = first_bytes(b, written, text.length) if self.encrypts else raw
        self._add([to_register(b, text.kernel.hash, C, "C_last")], "C·H")
        store_partial(b, text.out, text.length, written)

    def masked(self) -> None:
        """Take all that is left, 1 to 16·L - 1 bytes."""
        text, b = self.text, self.text.b
        lanes = text.kernel.lane_count
        state = rounds(b, text.keys, [text.counters.partial(lanes)])[0]
        mask = b.byte_mask(text.length)
        raw = b.load_bytes(text.at(text.source), mask, "text, zero-padded", lanes)
        key = text.keys.last(lanes)
        written = add_text(b, state, key, raw, "other text")
        b.store_bytes(text.at(text.out), mask, written, "written")
        C = b.keep_bytes(mask, written, "C, zero-padded") if self.encrypts else raw
        self._add([to_register(b, text.kernel.hash, C, "C")], "C·H^i")
        if text.whole:
            text.move(text.source, text.length, "behind the text")
            text.move(text.out, text.length)
        if text.counters.kept:
            rounded = b.gpr("gpr_add", text.length, BLOCK_BYTES - 1)
            text.counters.skip(b.gpr("gpr_shr", rounded, 4, note="blocks, the partial one too"))


def add_rest(text: Text, X: VReg, encrypts: bool) -> VReg:
    """Record what is left after whole groups, 1 to 16·n - 1 bytes; return the new state.

    Of whole blocks alone nothing is recorded for a partial one.
    """
    b, lanes = text.b, text.kernel.lane_count
    rest = Rest(text, X, encrypts)
    run = 1 << (text.kernel.registers - 1).bit_length()
    while run > 1:
        run //= 2
        b.branch("below", text.length, run * lanes * BLOCK_BYTES, f"under_{run}")
        rest.run(run)
        b.label(f"under_{run}")
    if not (text.whole and lanes == 1):
        b.branch("equal", text.length, 0, "reduce")
        last = _WHOLE if text.whole else _LAST
        last[text.kernel.instruction_set.masked, lanes](b, rest)
    b.label("reduce")
    b.about("reduce")
    return finish_group(b, text.kernel.hash, rest.tail.acc, rest.tail.R)


def _masked(b: Builder, rest: Rest) -> None:
    rest.masked()


def _single(b: Builder, rest: Rest) -> None:
    rest.partial_block()


def _pair(b: Builder, rest: Rest) -> None:
    b.branch("below", rest.text.length, BLOCK_BYTES, "under_block")
    rest.whole_block()
    b.branch("equal", rest.text.length, 0, "reduce")
    b.label("under_block")
    rest.partial_block()


def _block(b: Builder, rest: Rest) -> None:
    rest.whole_block()


_LAST: dict[tuple[bool, int], Callable[[Builder, Rest], None]] = {
    (True, 2): _masked,
    (True, 4): _masked,
    (False, 2): _pair,
    (False, 1): _single,
}
"""What takes the blocks that do not fill a register, by (byte masks, lanes)."""

_WHOLE: dict[tuple[bool, int], Callable[[Builder, Rest], None]] = {
    (True, 2): _masked,
    (True, 4): _masked,
    (False, 2): _block,
}
"""The same where no block is partial."""
