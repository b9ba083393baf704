"""Faults in AES-GCM kernels, one a row, with what validation must say of each.

Each is planted in what a kernel is made by, or in its text; the kernel is made and assembled with
it, and given to validation (`test_gcm_validation`) and to the prover (`test_verify_gcm_faults`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes import cipher, counters, expansion, rest
from ghashgen.kernels.bytes import store as partial
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.gcm.functions import open as opening
from ghashgen.kernels.gcm.functions import start as starting
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts import clear, directions, lengths, pieces, start, stream, tag
from ghashgen.kernels.gcm.parts import message as whole
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts import tail as hashed
from ghashgen.kernels.target import runnable
from ghashgen.output.artefact import make
from ghashgen.run.built import Built, build
from ghashgen.support.toolchain import Tool, assemble_text

AVX = GcmKernel(128, "avx", "winograd", "clmul1", 2, messages=False)
WIDE = GcmKernel(192, "avx512", "winograd", "clmul1", 8, messages=False)

Plant = Callable[[pytest.MonkeyPatch], None]


def _skip_one_more(patch: pytest.MonkeyPatch) -> None:
    right = counters.Counters.skip
    patch.setattr(
        counters.Counters,
        "skip",
        lambda self, blocks: right(self, blocks + 1 if isinstance(blocks, int) else blocks),
    )


def _lanes_backwards(patch: pytest.MonkeyPatch) -> None:
    right = Builder.const_lanes
    patch.setattr(
        Builder, "const_lanes", lambda self, lanes, name: right(self, list(lanes)[::-1], name)
    )


def _keys_of_the_round_before(patch: pytest.MonkeyPatch) -> None:
    right = cipher.round_key_cell
    patch.setattr(
        cipher, "round_key_cell", lambda kernel, ctx, i: right(kernel, ctx, 4 if i == 5 else i)
    )


def hash_after_the_write(patch: pytest.MonkeyPatch) -> None:
    """Read what is hashed of the rest only when its other text is written: wrong in place alone."""

    def wrong(text: Text, X: VReg) -> None:
        b = text.b
        at, left = b.gpr("gpr_copy", text.source), b.gpr("gpr_copy", text.length)
        directions.kept_rest(text)
        directions._hash_rest(text, X, at, left, None)

    patch.setattr(directions, "_decrypt_rest", wrong)


def _store_sixteen(patch: pytest.MonkeyPatch) -> None:
    def store(b: Builder, out: VReg, count: VReg, value: VReg) -> None:
        del count
        b.store(Mem(base=out), value)

    patch.setattr(rest, "store_partial", store)


def _fifteen_bytes(patch: pytest.MonkeyPatch) -> None:
    """Compare all of a tag of 16 bytes but the last."""
    right = tag._overlapping

    def take(b: Builder, own: VReg, given: VReg, length: VReg) -> VReg:
        return b.and_(right(b, own, given, length), b.const(2**120 - 1, "fifteen"))

    patch.setattr(tag, "_overlapping", take)


def _lengths_swapped(patch: pytest.MonkeyPatch) -> None:
    right = whole.length_block
    patch.setattr(
        whole, "length_block", lambda b, kernel, first, second: right(b, kernel, second, first)
    )


def _no_length_of_the_iv(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(start, "length_block", lambda b, kernel, first, second: b.zero("no length"))


def _operands_exchanged(patch: pytest.MonkeyPatch) -> None:
    """Take the round key through the round, and add the state."""
    right = Builder.aes_round
    patch.setattr(
        Builder, "aes_round", lambda self, state, key, note="": right(self, key, state, note)
    )


def another_rcon(patch: pytest.MonkeyPatch) -> None:
    """Rcon of step 9, the only one that the polynomial of AES's field is in, is another."""
    right = expansion.key_steps
    patch.setattr(expansion, "key_steps", lambda last: right(last).replace(b"\x1b", b"\x1d"))


def _a_round_less(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cipher.RoundKeys, "rounds", property(lambda self: self._kernel.rounds - 1))
    patch.setattr(
        cipher.RoundKeys, "last", lambda self, lanes: self.key(self._kernel.rounds, lanes)
    )


def _a_bit_behind(part: object) -> Plant:
    """Pad a partial block by zeros and a one."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = part.load_partial  # type: ignore[attr-defined]

        def load(b: Builder, source: VReg, rest: VReg, done: str, *, forget: bool = False) -> VReg:
            del forget
            return b.or_(right(b, source, rest, done), b.const(1 << 127, "a_one"), "not zero")

        patch.setattr(part, "load_partial", load)

    return plant


def _text_from_J0(patch: pytest.MonkeyPatch) -> None:
    """Let the first block of text have the counter block of the tag."""
    right = counters.Counters
    patch.setattr(whole, "Counters", lambda b, kernel, block, first, kept: right(b, kernel, block))


def _mask_of_the_first_block(patch: pytest.MonkeyPatch) -> None:
    """Add E_K(inc32(J_0)) to the tag, not E_K(J_0): in both functions alike."""
    right = whole.keep_mask

    def keep(b: Builder, kernel: GcmKernel, context: VReg, J0: VReg) -> None:
        one = b.const(1 << 120, "one_more")
        right(b, kernel, context, b.add32(J0, one, "an IV of 12 bytes: 2"))

    patch.setattr(whole, "keep_mask", keep)


def _a_block_not_cleared(patch: pytest.MonkeyPatch) -> None:
    """Begin with the zeros one block late."""
    right = opening.clear

    def clear(b: Builder, kernel: GcmKernel, out: VReg, length: VReg) -> None:
        b.branch("below", length, 16, "few")
        b.assign(out, b.gpr("gpr_add", out, 16))
        b.assign(length, b.gpr("gpr_sub", length, 16))
        b.label("few")
        right(b, kernel, out, length)

    patch.setattr(opening, "clear", clear)


def _tag_left_behind(patch: pytest.MonkeyPatch) -> None:
    """Leave the tag that would be right where the text was."""
    difference, right, kept = opening.difference, opening.clear, []

    def compare(b: Builder, kernel: GcmKernel, own: VReg, given: VReg, length: VReg) -> VReg:
        kept.append(b.variable(own, "kept"))
        return difference(b, kernel, own, given, length)

    def clear(b: Builder, kernel: GcmKernel, out: VReg, length: VReg) -> None:
        first, size = b.gpr("gpr_copy", out), b.gpr("gpr_copy", length)
        right(b, kernel, out, length)
        b.branch("below", size, 16, "short")
        b.store(Mem(base=first), kept[-1], "the tag")
        b.label("short")

    patch.setattr(opening, "difference", compare)
    patch.setattr(opening, "clear", clear)


def _other(owner: object, name: str, value: object) -> Plant:
    """Put something else in the place of what a module or a class has."""
    return lambda patch: patch.setattr(owner, name, value)


@dataclass(frozen=True)
class Planted:
    """A fault in a kernel of any family, and how it is told."""

    name: str
    words: str
    """What validation says of it."""
    kernel: Any = AVX
    plant: Plant = lambda patch: None
    old: str = ""
    """What is replaced in the text that is assembled."""
    new: str = ""
    functions: tuple[str, ...] = ("init", "encrypt", "decrypt")
    refused: str = ""
    """What the prover says of it, if a test asks."""


def _sealed(name: str, words: str, plant: Plant) -> Planted:
    return Planted(name, words, replace(AVX, messages=True), plant, functions=("seal", "open"))


def _streamed(
    name: str,
    words: str,
    function: str,
    plant: Plant = lambda patch: None,
    old: str = "",
    new: str = "",
) -> Planted:
    kernel = replace(AVX, streams=True)
    return Planted(name, words, kernel, plant, old, new, functions=(function,))


PLANTED = (
    Planted("counter off by one", r"crypt of .*: .*counter from byte \d+ on", plant=_skip_one_more),
    Planted("lanes backwards", "encrypt of 17 bytes.*: out from byte 0", WIDE, _lanes_backwards),
    # A sum of 64 bits: the last word of the counter carries into the word before it.
    Planted("counter of 64 bits", "encrypt of .*: (out|counter) from", old="vpaddd", new="vpaddq"),
    Planted("the last block is not padded", "encrypt of 1 bytes.*: x from byte",
        plant=_other(rest, "first_bytes", lambda b, value, count: value)),
    Planted("the mask is a byte too long", "encrypt of 1 bytes.*: x from byte",
        plant=_other(partial, "POSITIONS", partial.POSITIONS >> 8)),
    Planted("the last register is not padded", "encrypt of 1 bytes.*: x from byte", WIDE,
        _other(Exact, "first", lambda self, value, note="": value)),
    Planted("a round key twice", "of 1 bytes.*: out from byte 0", plant=_keys_of_the_round_before),
    Planted("Rcon of step 9", r"init of key 0+: ctx from byte \d+ on", plant=another_rcon),
    Planted("hashed after it is written", "decrypt of .*, in place: x from byte 0",
        GcmKernel(128, "avx", "winograd", "clmul1", 4, messages=False), hash_after_the_write),
    Planted("operands of a round exchanged", "of 1 bytes.*: out from byte 0",
        plant=_operands_exchanged, functions=("encrypt", "decrypt")),
    Planted("a round less", "of 1 bytes.*: out from byte 0", plant=_a_round_less),
    Planted("another last round", "init of key 0+: ctx from", old="vaesenclast", new="vaesenc"),
    Planted("a block where a part is due", "past the end", plant=_store_sixteen),
    _sealed("fifteen bytes of a tag",
        "open of .*, bit 12[0-7] of it wrong: .*returned 0, expected 1", _fifteen_bytes),
    _sealed("lengths swapped", "seal of 0 bytes, AAD of .*: tag from byte", _lengths_swapped),
    _sealed("lengths in bytes", "seal of 1 bytes.*: tag from byte",
        _other(lengths, "_bits", lambda b, length: b.from_gpr(length))),
    _sealed("not all zero", "open of 1 bytes.* wrong(, in place)?: out from byte 0",
        _other(clear, "PIECES", (8, 4, 2))),
    _sealed("not zero at all", "open of 17 bytes.* wrong(, in place)?: out from byte 0",
        _other(opening, "clear", lambda b, kernel, out, length: None)),
    _sealed("a tag of 9 bytes", "open of .*, a tag of 9: .*returned 0, expected 2",
        _other(tag, "LEAST_TAG", 9)),
    _sealed("a text too long", "past the end|len = 68719476705: returned",
        _other(lengths, "MOST_TEXT", 2**36)),
    _sealed("AAD too long", "past the end|aad_len = 2305843009213693952: returned",
        _other(lengths, "MOST_OTHERS", 2**61)),
    _sealed("AAD padded by a one", "seal of [01] bytes, AAD of [17],.*: tag from byte",
        _a_bit_behind(hashed)),
    _sealed("an IV padded by a one", "IV of [0-9]+: out from", _a_bit_behind(start)),
    _sealed("text from J_0", "seal of 1 bytes.*: out from byte 0", _text_from_J0),
    _sealed("another mask of the tag", "seal of 0 bytes.*: tag from", _mask_of_the_first_block),
    _sealed("a block that is not cleared", "open of .* wrong(, in place)?: out from byte 0",
        _a_block_not_cleared),
    _sealed("the tag shown where it differs", "open of .* wrong(, in place)?: out from byte 0",
        _tag_left_behind),
    _sealed("a wrong tag is right", "open of 0 bytes.* wrong(, in place)?: returned 0, expected 1",
        _other(opening, "DIFFERS", 0)),
    _sealed("a right message is not done", "open of 0 bytes.*: returned 1, expected 0",
        _other(opening, "DONE", 1)),
    _sealed("what is refused is done",
        "no bytes, iv_len = .*: returned 0, expected 2|an IV of no bytes: returned 0, expected 2",
        _other(opening, "REFUSED", 0)),
    _sealed("no length of the IV", "IV of [0-9]+: out from", _no_length_of_the_iv),
    _sealed("the first number is 2", "IV of 12: out from", _other(start, "FIRST", 2 << 120)),
    _streamed("a begun block is not closed by AAD's end",
        r"encrypt_more of 1 bytes after 0, .*: state from byte 0", "encrypt_more",
        old="and         rax, 0x0f", new="and         rax, 0x00"),
    _streamed("the keystream from the block's first byte on",
        r"crypt_more of 1 bytes after .*: out from byte 0", "encrypt_more",
        _other(pieces, "moved_down", lambda b, value, place: value)),
    _streamed("a piece of AAD at the block's first byte",
        r"aad of 1 bytes after .*: state from byte 0", "aad",
        _other(pieces, "moved_up", lambda b, value, place: value)),
    _streamed("the keystream is kept in the mask's place",
        r"encrypt_more of \d+ bytes after .*: state from byte 32", "encrypt_more",
        _other(pieces, "KEYSTREAM", stream.MASK)),
    _streamed("AAD behind text", r"aad of 0 bytes, behind 1 bytes of text: returned 0, expected 3",
        "aad", _other(pieces, "ASSOCIATED", stream.TEXT)),
    _streamed("a message that has not begun",
        r"finish of a tag, the phase being 0: .*returned 0, expected 3", "finish",
        _other(stream, "NONE", 77)),
    _streamed("too much text by a byte",
        r"encrypt_more of \d+ bytes, after .*: returned 0, expected 2|past the end", "encrypt_more",
        _other(pieces, "MOST_TEXT", 2**36 - 31)),
    _streamed("the state outlives its tag", r"finish of .*: state from byte \d+ on: got", "finish",
        _other(stream.Stream, "erase", lambda self: None)),
    _streamed("the text begins at J_0", r"start of an IV of 1: state from byte 31 on", "start",
        _other(starting, "next_block", lambda b, block: block)),
    _streamed("a tag compared by 15 bytes",
        r"verify of .*tag of 16, bit 12[0-7] of it wrong: returned 0, expected 1", "verify",
        _fifteen_bytes),
)  # fmt: skip


def made(planted: Planted, patch: pytest.MonkeyPatch, tool: Tool, folder: Path) -> Built[Any]:
    """Build a kernel with a fault in it."""
    planted.plant(patch)
    (built,) = build([planted.kernel], runnable("sysv"), folder / "none", folder)
    if not planted.old:
        return built
    source = make(planted.kernel, runnable("sysv"), tool).text
    assert planted.old in source
    obj = folder / "planted.o"
    obj.write_bytes(
        assemble_text(tool, "planted", source.replace(planted.old, planted.new), "elf64")
    )
    return replace(built, obj=obj)
