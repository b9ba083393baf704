"""Whole messages for `seal` and `open`: combinations of lengths, IVs, tags, forgeries, refusals.

Right answers come from pyca's AES-GCM. An IV that is too short or too long for pyca is replaced by
the 16-byte IV with the same J0 (`oracle`).
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ghashgen.algebra.field.bitorder import (
    BLOCK_BYTES,
    block_from_element,
    element_from_block,
    xor_blocks,
)
from ghashgen.algebra.field.gcm import TAG_BYTES, j0, length_block
from ghashgen.algebra.field.gf128 import mul
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.algebra.field.powers import power
from ghashgen.check.validation import pyca
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.ciphers import CARRIES, LENGTHS_PER_KEY, counter_before, stepped
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.records import USUAL_IV, Record, decryptions, encryptions, records
from ghashgen.check.validation.trials import Part, Trial

RIGHT, WRONG, REFUSED = 0, 1, 2
"""Return values: done; the tag does not match; the standard does not allow a length."""

IVS_OF_PYCA = range(8, 129)
"""IV lengths in bytes that pyca accepts."""

MOST_AAD = 49
"""Longest AAD in bytes: three blocks and a part."""

ALL_AAD = range(MOST_AAD + 1)

IV_LENGTHS = (*range(1, 301), 1000, 4097)

LONG = ((0, 65536 + 3), (1500, 12), (16384, 699), (65536, 1000), (65536 + 7, 0))
"""(bytes of text, bytes of AAD)"""

NO_TAG = (0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 17, 18, 20, 24, 31, 32, 64, 272)
"""Invalid tag lengths in bytes."""

TOO_MUCH: Mapping[str, tuple[int, ...]] = {
    "iv_len": (2**61, 2**63, 2**64 - 1),
    "aad_len": (2**61, 2**63, 2**64 - 1),
    "len": (2**36 - 31, 2**36 - 16, 2**36, 2**37, 2**63, 2**64 - 16, 2**64 - 1),
}
"""Lengths in bytes beyond SP 800-38D, section 5.2.1.1, by parameter."""

TOO_LONG_A_TAG = (2**32 + 16, 2**63 + 12, 2**64 - 4)

UNTOUCHED = b"\x5a"


@dataclass(frozen=True)
class Message:
    """A message and its tag of 16 bytes."""

    what: str
    key: bytes
    iv: bytes
    aad: bytes
    plaintext: bytes
    ciphertext: bytes
    tag: bytes


def message(key: Key, iv: bytes, aad: bytes, plaintext: bytes) -> Message:
    """Return pyca's result for a message."""
    same = iv if len(iv) in IVS_OF_PYCA else key.iv_of(j0(key.h, iv))
    sealed = pyca.gcm(key.key, same, plaintext, aad)
    what = f"{len(plaintext)} bytes, AAD of {len(aad)}, IV of {len(iv)}"
    return Message(what, key.key, iv, aad, plaintext, sealed[:-BLOCK_BYTES], sealed[-BLOCK_BYTES:])


def _drawn(rng: random.Random, key: Key, text: int, aad: int, iv: int = USUAL_IV) -> Message:
    return message(key, rng.randbytes(iv), rng.randbytes(aad), rng.randbytes(text))


def every_length(
    key_bytes: int, bound: int, each: Callable[[int], Iterable[int]] = lambda text: ALL_AAD
) -> Iterator[Message]:
    """Yield messages of every text length 0..bound with AAD of 0 to 49 bytes.

    `each` may select fewer AAD lengths for a text length.
    """
    rng = random.Random(SEED + 11 * key_bytes)
    for length in range(bound + 1):
        if length % LENGTHS_PER_KEY == 0:
            key = Key(rng.randbytes(key_bytes))
        for aad in each(length):
            yield _drawn(rng, key, length, aad)


def one_of_all(text: int) -> Iterable[int]:
    """Return one AAD length; any 50 consecutive text lengths have all of them."""
    return (7 * text % len(ALL_AAD),)


@lru_cache(maxsize=8)
def pairs(key_bytes: int) -> tuple[Message, ...]:
    """Return a message for every pair of lengths 0..49 of text and AAD."""
    return tuple(every_length(key_bytes, MOST_AAD))


@lru_cache(maxsize=8)
def wraps(key_bytes: int, blocks: int) -> tuple[Message, ...]:
    """Return messages whose counter wraps, or carries into each byte of its word, at each block.

    Their IVs have 16 bytes: for any first counter block there is such an IV.
    """
    rng = random.Random(SEED + 43 * key_bytes + blocks)
    key, length = Key(rng.randbytes(key_bytes)), tail_bound(blocks)
    out = []
    for carry in CARRIES:
        for at in range(2 * blocks + 3):
            iv = key.iv_of(stepped(counter_before(rng, carry - at), -1))
            text, aad = rng.randbytes(length), rng.randbytes(rng.randrange(MOST_AAD + 1))
            out.append(message(key, iv, aad, text))
    return tuple(out)


@lru_cache(maxsize=8)
def ivs(key_bytes: int) -> tuple[Message, ...]:
    """Return messages with IVs of every length up to 64 bytes, and longer ones."""
    rng = random.Random(SEED + 17 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    return tuple(_drawn(rng, key, rng.randrange(70), rng.randrange(40), n) for n in IV_LENGTHS)


@lru_cache(maxsize=8)
def long(key_bytes: int) -> tuple[Message, ...]:
    """Return messages of long texts and long AAD."""
    rng = random.Random(SEED + 19 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    return tuple(_drawn(rng, key, text, aad) for text, aad in LONG)


def messages(key_bytes: int, blocks: int, sample: int) -> Iterator[Message]:
    """Yield the messages of a kernel.

    `sample` thins out: with it, every text length keeps one message, and of the pairs of lengths
    0..49 and of the IVs only one in `sample` is kept.
    """
    bound = tail_bound(blocks)
    if sample == 1:
        yield from every_length(key_bytes, bound)
    else:
        yield from every_length(key_bytes, bound, one_of_all)
        yield from pairs(key_bytes)[::sample]
    yield from wraps(key_bytes, blocks)
    yield from ivs(key_bytes)[::sample]
    yield from long(key_bytes)


def sealing(found: Message, in_place: bool, tag_bytes: int = BLOCK_BYTES) -> Trial:
    """Return a trial of `seal` for a message; only `tag_bytes` bytes of its tag are known."""
    given = {"iv": found.iv, "aad": found.aad, "in": found.plaintext}
    parts = (Part("out", found.ciphertext), Part("tag", found.tag[:tag_bytes]))
    return Trial("seal", found.what, found.key, given, parts, RIGHT, in_place)


def opening(found: Message, in_place: bool, tag_bytes: int = BLOCK_BYTES) -> Trial:
    """Return a trial of `open` for a message with the first `tag_bytes` bytes of its tag."""
    trial = _opened(found, found.tag[:tag_bytes], in_place)
    return replace(trial, parts=(Part("out", found.plaintext),), result=RIGHT)


def _opened(found: Message, tag: bytes, in_place: bool) -> Trial:
    """Return a trial of `open` for a wrong message, after which `out` must be all zero."""
    given = {"iv": found.iv, "aad": found.aad, "in": found.ciphertext, "tag": tag}
    zeros = Part("out", bytes(len(found.ciphertext)))
    what = f"{found.what}, tag of {len(tag)}"
    return Trial("open", what, found.key, given, (zeros,), WRONG, in_place)


def forged(found: Message, bit: int, tag_bytes: int = BLOCK_BYTES, in_place: bool = False) -> Trial:
    """Return a trial of `open` for a message with one bit of its tag wrong, counted from byte 0."""
    trial = _opened(found, _flipped(found.tag[:tag_bytes], bit), in_place)
    return replace(trial, what=f"{trial.what}, bit {bit} of it wrong")


def _flipped(data: bytes, bit: int) -> bytes:
    return (int.from_bytes(data, "little") ^ 1 << bit).to_bytes(len(data), "little")


def untouched(trial: Trial) -> Trial:
    """Return a trial for a kernel that leaves the output alone if the tag is wrong."""
    if trial.function != "open" or trial.result != WRONG:
        return trial
    source = trial.given["in"]
    assert isinstance(source, bytes)
    before = source if trial.in_place else UNTOUCHED * len(source)
    given = trial.given if trial.in_place else {**trial.given, "out": before}
    return replace(trial, given=given, parts=(Part("out", before),))


def forgeries(key_bytes: int, blocks: int, sample: int) -> Iterator[Trial]:
    """Yield trials of `open` that must find a tag wrong.

    For messages of every length, a random bit; at three lengths each of the 128 bits, and the first
    and last bit of shorter tags; a wrong bit in text, AAD or IV; a tag with its bytes reordered.
    """
    rng = random.Random(SEED + 23 * key_bytes + blocks)
    for number, found in enumerate(every_length(key_bytes, tail_bound(blocks), one_of_all)):
        yield forged(found, rng.randrange(8 * BLOCK_BYTES), in_place=bool(number & 1))
    key = Key(rng.randbytes(key_bytes))
    for length in (0, 21, BLOCK_BYTES * blocks + 5):
        found = _drawn(rng, key, length, 13)
        yield from (forged(found, bit) for bit in range(8 * BLOCK_BYTES))
    for size in TAG_BYTES:
        found = _drawn(rng, key, 40, 20)
        yield from (forged(found, bit, size) for bit in (0, 8 * size - 1))
        yield _opened(found, found.tag[:size][::-1], False)
    for number in range(max(2, 48 // sample)):
        found = _drawn(rng, key, 1 + number, 1 + number % 20)
        for name in ("in", "aad", "iv"):
            trial = _opened(found, found.tag, bool(number & 1))
            data = trial.given[name]
            assert isinstance(data, bytes)
            changed = {**trial.given, name: _flipped(data, rng.randrange(8 * len(data)))}
            yield replace(trial, what=f"{trial.what}, a bit of {name} wrong", given=changed)


def placed(key_bytes: int, blocks: int, function: str) -> list[Trial]:
    """Return a few calls for every place: a tail alone, groups and a tail, a wrong tag."""
    rng = random.Random(SEED + 37 * key_bytes)
    key, most = Key(rng.randbytes(key_bytes)), (3 * blocks + blocks // 2) * BLOCK_BYTES + 7
    found = [_drawn(rng, key, 21, 13), _drawn(rng, key, most, MOST_AAD, 20)]
    if function == "seal":
        return [sealing(each, False) for each in found]
    return [*(opening(each, False) for each in found), forged(found[1], 100)]


def much_aad(key_bytes: int) -> Trial:
    """Return a message to seal with more than 2^32 bytes of AAD: one block, then zeros.

    After n blocks the state is A·H^n. A one-block AAD that leads to this state has the same tag,
    except for the difference of the two length blocks, times H.
    """
    rng = random.Random(SEED + 41 * key_bytes)
    key, first, zeros = Key(rng.randbytes(key_bytes)), rng.randbytes(BLOCK_BYTES), 2**32 + 5
    size = len(first) + zeros
    h = element_from_block(key.h)
    # The block A·H^(n - 1) leads to A·H^n.
    same = mul(element_from_block(first), power(h, -(-size // BLOCK_BYTES) - 1))
    found = message(key, rng.randbytes(USUAL_IV), block_from_element(same), rng.randbytes(37))
    length = len(found.plaintext)
    lengths = xor_blocks(length_block(size, length), length_block(BLOCK_BYTES, length))
    tag = xor_blocks(found.tag, multiply_blocks(lengths, key.h))
    what = f"{length} bytes, AAD of {size}"
    trial = sealing(replace(found, what=what, aad=first, tag=tag), False)
    return replace(trial, zeros={"aad": zeros}, said={"aad_len": size})


def tags(key_bytes: int, sizes: Iterable[int] = TAG_BYTES) -> Iterator[Trial]:
    """Yield right messages with tags of all lengths, and with either end of the tag wrong."""
    rng = random.Random(SEED + 29 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    for size in sizes:
        for length in (0, 1, 33):
            yield opening(found := _drawn(rng, key, length, 20), False, size)
        if size not in TAG_BYTES:  # `forgeries` have those.
            yield from (forged(found, bit, size) for bit in (0, 8 * size - 1))


def any_tag(trial: Trial) -> Trial | None:
    """Return a trial for a kernel that takes tags of any size; None if it refuses that."""
    size = len(bytes(trial.given.get("tag", b"")))
    if trial.result != REFUSED or trial.said or size in TAG_BYTES or not 1 <= size <= BLOCK_BYTES:
        return trial
    if trial.function == "open":
        return None
    zeros = Part("state", bytes(len(bytes(trial.given["state"]))))
    return replace(trial, parts=(zeros,), result=RIGHT)


def refused(key_bytes: int, function: str) -> Iterator[Trial]:
    """Yield calls with lengths that the standard does not allow: they return 2 and write nothing.

    If a length is too large, the buffer is short, so that reading by that length would fault.
    """
    rng = random.Random(SEED + 31 * key_bytes)
    found = _drawn(rng, Key(rng.randbytes(key_bytes)), 37, 20)
    opens = function == "open"
    right = opening(found, False) if opens else sealing(found, False)
    texts = [right, replace(right, what="no bytes", given={**right.given, "in": b""})]
    for trial in texts:
        yield _refused(trial, "an IV of no bytes", iv=b"")
        for name, numbers in TOO_MUCH.items():
            for number in numbers:
                yield _refused(trial, f"{name} = {number}", {name: number})
    for size in NO_TAG if opens else ():
        tag = (found.tag * 20)[:size]
        yield _refused(right, f"a tag of {size}", tag=tag)
    for number in TOO_LONG_A_TAG if opens else ():
        yield _refused(right, f"tag_len = {number}", {"tag_len": number})


def _refused(
    right: Trial, what: str, said: Mapping[str, int] | None = None, **given: bytes
) -> Trial:
    """Return a call that is refused and must leave all output unchanged."""
    before = {**right.given, **given}
    source = before["in"]
    assert isinstance(source, bytes)
    kept = {"out": UNTOUCHED * len(source)}
    if right.function == "seal":
        kept["tag"] = UNTOUCHED * BLOCK_BYTES
    return replace(
        right,
        what=f"{right.what}, {what}",
        given={**before, **kept},
        parts=tuple(Part(name, data) for name, data in kept.items()),
        result=REFUSED,
        said=said or {},
    )


@lru_cache(maxsize=8)
def cavp(key_bytes: int, function: str) -> tuple[Trial, ...]:
    """Return all NIST CAVP records of a key size: every length of IV, AAD, text and tag."""
    if function == "seal":
        found = records(encryptions(8 * key_bytes))
        return tuple(sealing(recorded(each), False, len(each.tag)) for each in found)
    return tuple(_decryption(each) for each in records(decryptions(8 * key_bytes)))


def recorded(record: Record) -> Message:
    """Return a record as a message; without a text if its tag is wrong."""
    text, tag = record.plaintext or b"", record.tag
    return Message(record.what, record.key, record.iv, record.aad, text, record.ciphertext, tag)


def _decryption(record: Record) -> Trial:
    found = recorded(record)
    if record.plaintext is None:
        return _opened(found, found.tag, False)
    return opening(found, False, len(found.tag))
