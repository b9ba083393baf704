"""Encrypt or decrypt a whole text: whole groups in a loop, then the rest.

Encryption hashes a group of n blocks while it encrypts the next one. It reads the group back from
`out`, so that no register has to hold it; but see `kept` for wide registers. There is nothing to
hash beside the first group. The last group is hashed beside the cipher over the rest. Decryption
hashes each group while it decrypts it. Kernels that do not stitch hash a group after encryption, or
before decryption.
"""

from collections.abc import Callable
from functools import partial

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.aes.rest import kept_rest
from ghashgen.kernels.bytes.load import load_partial
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.alone import text_alone
from ghashgen.kernels.gcm.parts.groups import Groups, held_keys, keeps
from ghashgen.kernels.gcm.parts.kept import encrypt_kept
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.hash.parts.group import Keys, add_group, group_keys
from ghashgen.kernels.hash.parts.interface import GROUP, load_block, store_block
from ghashgen.kernels.hash.parts.tail import add_tail

LAG = 0.15
"""The part of a group's time in which cipher or hash runs alone, at either end."""


def build_text(b: Builder, kernel: GcmKernel, record: Callable[[Text, VReg, str], None]) -> None:
    """Record a whole function: a text of any length, its counter and its hash as they are left."""
    context, counter, x, source, out, length = b.params
    b.branch("equal", length, 0, "done")
    if kernel.short and kernel.key_lanes > 1:
        text_alone(b, kernel, record is encrypt_text, "done")
    X = b.variable(load_block(b, kernel.hash, x, name="X"), "X")
    place = Mem(base=counter)
    held = held_keys(kernel, True) if keeps(kernel, record is encrypt_text) else None
    counters = Counters.at(b, kernel, place)
    text = Text.at_entry(b, kernel, context, counters, source, out, length, held=held)
    record(text, X, "store")
    text.counters.store(place)
    store_block(b, kernel.hash, x, X)
    b.label("done")


def encrypt_text(text: Text, X: VReg, done: str) -> None:
    """Record out = in + keystream, with X continued over out. Needs 1 byte. Ends at `done`."""
    wide = text.kernel.instruction_set.partial_registers
    (encrypt_kept if wide else _encrypt_read_back)(text, X, done)


def _encrypt_read_back(text: Text, X: VReg, done: str) -> None:
    b, kernel, context, group_bytes = text.b, text.kernel, text.context, text.group_bytes
    _branch_to_rest(text)
    keys = group_keys(b, kernel.hash, context)
    (_encrypt_stitched if kernel.stitch else _encrypt_apart)(text, X, keys)
    b.label("rest")
    at, left = b.gpr("gpr_copy", text.out), b.gpr("gpr_copy", text.length)
    if kernel.stitch:
        # The last group is not hashed yet: its GHASH runs beside the cipher over the rest.
        if text.has_rest:
            b.branch("below", left, group_bytes, "fewer")
        text.move(text.out, group_bytes)
        text.shorten(group_bytes)
        b.label("fewer")
    last = kept_rest(text)
    if kernel.stitch:
        if text.has_rest:
            b.branch("below", left, group_bytes, "tail")
        b.assign(X, add_group(b, kernel.hash, context, X, at, keys))
        text.move(at, group_bytes)
        b.assign(left, b.gpr("gpr_sub", left, group_bytes))
        b.label("tail")
    if text.has_rest:
        b.branch("equal", left, 0, done)
        _hash_rest(text, X, at, left, lambda: last)
    b.label(done)
    b.about("")


def decrypt_text(text: Text, X: VReg, done: str) -> None:
    """Record out = in + keystream, with X continued over in. Needs 1 byte. Ends at `done`."""
    b, kernel, context = text.b, text.kernel, text.context
    _branch_to_rest(text)
    b.label("groups")
    if kernel.instruction_set.partial_registers:
        groups = Groups(text, X, False)
        groups.ready()
        with b.loop(GROUP):
            groups.turn()
            b.branch("not_below", text.length, text.group_bytes, GROUP)
    else:
        keys = group_keys(b, kernel.hash, context)
        group_loop(text, X, keys, False, text.group_bytes)
    if text.has_rest:
        b.branch("equal", text.length, 0, done)
        b.label("rest")
        _decrypt_rest(text, X)
    b.label(done)
    b.about("")


def _branch_to_rest(text: Text) -> None:
    if text.has_rest:
        text.b.branch("below", text.length, text.group_bytes, "rest")


def _decrypt_rest(text: Text, X: VReg) -> None:
    """Record the rest. GHASH comes first, since the output may overwrite its input."""
    b = text.b
    at, left = b.gpr("gpr_copy", text.source), b.gpr("gpr_copy", text.length)
    # Jumps follow, and a NOP before them may name a general register.
    last = None
    if not text.kernel.instruction_set.partial_registers:
        last = partial(load_partial, b, at, left, "padded", forget=True)
    _hash_rest(text, X, at, left, last)
    kept_rest(text)


def _hash_rest(text: Text, X: VReg, at: VReg, left: VReg, last: Callable[[], VReg] | None) -> None:
    b, hashing = text.b, text.kernel.hash
    with b.part("tail"):
        b.assign(X, add_tail(b, hashing, text.context, X, at, left, text.whole, last))


def _encrypt_stitched(text: Text, X: VReg, keys: Keys) -> None:
    """Record whole groups. The last one is not hashed.

    `out` stays at the last group, and the length still counts it.
    """
    b, kernel, group_bytes = text.b, text.kernel, text.group_bytes
    b.label("first")
    text.add_keystream(kernel.registers)
    text.move(text.source, group_bytes, "next group")
    b.branch("below", text.length, 2 * group_bytes, "rest")
    group_loop(text, X, keys, True, 2 * group_bytes)


def _encrypt_apart(text: Text, X: VReg, keys: Keys) -> None:
    b, kernel = text.b, text.kernel
    with b.loop(GROUP):
        text.add_keystream(kernel.registers)
        b.assign(X, add_group(b, kernel.hash, text.context, X, text.out, keys))
        _next_group(text, text.group_bytes)


def group_loop(text: Text, X: VReg, keys: Keys, encrypts: bool, least: int) -> None:
    """Record the loop over whole groups, while `least` bytes are left.

    Encrypting, `out` stands at the previous group. Its last blocks were written just now, so GHASH
    begins a little later than the cipher, which ends a little earlier.
    """
    b, kernel, lag = text.b, text.kernel, LAG if encrypts else 0.0
    at, ahead = (text.out, text.group_bytes) if encrypts else (text.source, 0)
    with b.loop(GROUP):
        with stream(text, "hash", start=lag):
            b.assign(X, add_group(b, kernel.hash, text.context, X, at, keys))
        with stream(text, "cipher", end=1 - lag, lean=False):
            text.add_keystream(kernel.registers, ahead)
        _next_group(text, least)


def _next_group(text: Text, least: int) -> None:
    """Go back for another group if `least` bytes are left."""
    text.advance(text.group_bytes, "next group")
    text.b.branch("not_below", text.length, least, GROUP)
