"""A message's next piece, of any number of bytes: AAD or text.

    1. the bytes that a begun block still takes; if it is full then, or if AAD ends, X = X·H
    2. whole blocks, as `encrypt` and `decrypt` or the hash family's `update` take them; a few of
       text on paths of their own (`several`)
    3. the bytes of a new partial block; for text, its keystream stays in the state

A piece that ends inside a begun block costs no product and no AES.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import RoundKeys, rounds
from ghashgen.kernels.aes.counters import Counters, next_block
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.begun import crypt_piece, load_piece, moved_down, moved_up
from ghashgen.kernels.gcm.parts.directions import decrypt_text, encrypt_text
from ghashgen.kernels.gcm.parts.groups import held_keys, keeps
from ghashgen.kernels.gcm.parts.lengths import MOST_OTHERS, MOST_TEXT
from ghashgen.kernels.gcm.parts.params import DONE, MISPLACED, REFUSED
from ghashgen.kernels.gcm.parts.several import Several, most_bytes
from ghashgen.kernels.gcm.parts.stream import (
    AAD_LENGTH,
    ASSOCIATED,
    COUNTER,
    KEYSTREAM,
    PHASE,
    TEXT,
    TEXT_LENGTH,
    Stream,
)
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.absorb import Message, absorb, state_of
from ghashgen.kernels.hash.parts.interface import to_register

IN_BLOCK = BLOCK_BYTES - 1
"""The bits of a length that give the bytes in the begun block."""


@dataclass(frozen=True)
class Piece:
    """What remains of a piece: `length` bytes. The code changes these registers."""

    stream: Stream
    X: VReg
    source: VReg
    out: VReg | None
    length: VReg

    def add(self, block: VReg) -> None:
        """Add the bytes of a block, as in memory, to X."""
        b, kernel = self.stream.b, self.stream.kernel
        b.assign(self.X, b.xor(self.X, to_register(b, kernel.hash, block, "C"), "X + C"))

    def fill(self, place: VReg, take: Callable[[VReg], VReg], ended: str) -> None:
        """Record the bytes that complete a block of `place` (1..15) bytes.

        `take` records a given number of bytes, and returns them zero-padded. If the block is still
        not full, the piece is used up: go to `ended`.
        """
        b = self.stream.b
        room = b.gpr("gpr_minus", b.gpr("gpr_const", BLOCK_BYTES), place, note="16 - p")
        count = b.gpr("gpr_copy", self.length)
        b.branch("above", room, count, "inside")
        b.assign(count, room)
        b.label("inside")
        with b.part("filling"):
            C = take(count)
        self.add(moved_up(b, C, place))
        self.advance(count)
        b.assign(self.length, b.gpr("gpr_minus", self.length, count))
        filled = b.gpr("gpr_address", Mem(base=place, index=count), note="bytes of the block")
        b.branch("not_equal", filled, BLOCK_BYTES, ended)

    def advance(self, count: VReg) -> None:
        """Advance the pointers by `count` bytes."""
        b = self.stream.b
        for pointer in (self.source, self.out):
            if pointer is not None:
                b.assign(pointer, b.gpr("gpr_address", Mem(base=pointer, index=count)))

    def split(self) -> tuple[VReg, VReg]:
        """Return the bytes in whole blocks, and in the partial block after them."""
        b = self.stream.b
        begins = b.gpr("gpr_and", self.length, IN_BLOCK, note="bytes of a block that begins")
        return b.gpr("gpr_and", self.length, -BLOCK_BYTES, note="bytes of whole blocks"), begins


def _end(b: Builder, stream: Stream, X: VReg) -> None:
    """Record the ends of all paths."""
    b.label("store")
    stream.store_x(X)
    b.label("done")
    b.give(DONE)
    b.label("refused")
    b.give(REFUSED)
    b.label("misplaced")
    b.give(MISPLACED)


def build_aad(b: Builder, kernel: GcmKernel) -> None:
    """Record a piece of AAD."""
    context, state, source, length = b.params
    stream = Stream(b, kernel, context, state)
    phase = stream.phase("misplaced")
    b.branch("not_equal", phase, ASSOCIATED, "misplaced")
    before = stream.lengthen(AAD_LENGTH, MOST_OTHERS, length, "refused", "done")
    piece = Piece(stream, stream.load_x(), source, None, length)
    place = b.gpr("gpr_and", before, IN_BLOCK, note="p, bytes of a begun block")
    b.branch("equal", place, 0, "blocks")
    piece.fill(place, lambda count: load_piece(b, kernel, source, count), "store")
    stream.close(piece.X, "the full block")
    b.label("blocks")
    whole, begins = piece.split()
    b.branch("equal", whole, 0, "begins")
    behind = b.gpr("gpr_address", Mem(base=source, index=whole), note="behind whole blocks")
    with b.part("whole"):
        X = state_of(b, kernel.hash, piece.X)
        X = absorb(Message(b, kernel.hash, context, source, whole, whole=True), X, "done")
        b.assign(piece.X, X)
    b.assign(source, behind)
    b.label("begins")
    b.branch("equal", begins, 0, "store")
    with b.part("begun"):
        piece.add(load_piece(b, kernel, source, begins))
    _end(b, stream, piece.X)


def build_text(b: Builder, kernel: GcmKernel, encrypts: bool) -> None:
    """Record a piece of text."""
    context, state, source, out, length = b.params
    stream = Stream(b, kernel, context, state)
    phase = stream.phase("misplaced")
    before = stream.lengthen(TEXT_LENGTH, MOST_TEXT, length, "refused", "done")
    piece = Piece(stream, stream.load_x(), source, out, length)
    b.branch("equal", phase, TEXT, "text")
    stream.set_number(PHASE, b.gpr("gpr_const", TEXT), "text has come")
    aad = stream.number(AAD_LENGTH, "bytes of AAD")
    b.branch("equal", b.gpr("gpr_and", aad, IN_BLOCK), 0, "blocks")
    b.emit("jump", Label("full"))
    b.label("text")
    place = b.gpr("gpr_and", before, IN_BLOCK, note="p, bytes of a begun block")
    b.branch("equal", place, 0, "blocks")

    def take(count: VReg) -> VReg:
        def keystream() -> VReg:
            return moved_down(b, b.load(stream.at(KEYSTREAM), "its keystream"), place)

        return crypt_piece(b, kernel, (source, out, count), keystream, encrypts)

    piece.fill(place, take, "store")
    b.label("full")
    stream.close(piece.X, "the full block, or the last of AAD")
    b.branch("equal", length, 0, "store")
    b.label("blocks")
    _crypt_blocks(piece, encrypts)
    _end(b, stream, piece.X)


def _crypt_blocks(piece: Piece, encrypts: bool) -> None:
    """Record whole blocks and the partial block after them. Needs 1 byte."""
    stream, X = piece.stream, piece.X
    b, kernel, context = stream.b, stream.kernel, stream.context
    assert piece.out is not None
    whole, begins = piece.split()
    N = b.variable(b.load(stream.at(COUNTER), "counter block"), "N")

    b.branch("equal", whole, 0, "begins")
    b.branch("not_below", whole, most_bytes(kernel) + 1, "many")
    with b.part("several"):
        Several(stream, X, N, piece.source, piece.out, whole, encrypts).record()
    b.branch("equal", begins, 0, "counted")
    piece.advance(whole)
    b.emit("jump", Label("begins"))
    b.label("many")
    counters = Counters.at(b, kernel, stream.at(COUNTER))
    given = (piece.source, piece.out, whole)
    held = held_keys(kernel, True) if keeps(kernel, encrypts) else None
    text = Text.at_entry(b, kernel, context, counters, *given, whole=True, held=held)
    with b.part("whole"):
        (encrypt_text if encrypts else decrypt_text)(text, X, "done")
    b.assign(N, counters.partial(1))
    b.branch("equal", begins, 0, "counted")
    b.label("begins")

    def keystream() -> VReg:
        keys = RoundKeys(b, kernel, context)
        (state,) = rounds(b, keys, [N])
        b.assign(N, next_block(b, N))
        E = b.aes_last(state, keys.last(1), "its keystream")
        b.store(stream.at(KEYSTREAM), E, "kept")
        return E

    with b.part("begun"):
        text_of = (piece.source, piece.out, begins)
        piece.add(crypt_piece(b, kernel, text_of, keystream, encrypts))
    b.label("counted")
    b.store(stream.at(COUNTER), N, "counter block")
