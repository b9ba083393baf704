"""Bursts of messages for `seal_many` and `open_many`; pyca gives the right answer to each message.

A message of a burst has its own status and buffers, numbered: `in 3`, `tag 3`. Each buffer ends at
a page that may not be touched. Whatever a call may write is compared, with the records themselves.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.field.gcm import TAG_BYTES
from ghashgen.check.validation.cases import SEED
from ghashgen.check.validation.gcm.messages import (
    MOST_AAD,
    NO_TAG,
    REFUSED,
    RIGHT,
    TOO_LONG_A_TAG,
    TOO_MUCH,
    UNTOUCHED,
    WRONG,
    Message,
    message,
)
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.records import USUAL_IV
from ghashgen.check.validation.trials import Part, Trial
from ghashgen.kernels.gcm.parts.records import RECORD_BYTES, WORD_BYTES, WORDS
from ghashgen.run.arguments import Memory

SEAL, OPEN = "seal_many", "open_many"
FUNCTIONS = (SEAL, OPEN)

GROUP = 4
"""Messages that a kernel processes as one group. Counts around its multiples are run."""

MOST_TEXT = 1800
"""Longer than any message of a group."""

STALE = 77
"""The status before the call."""


@dataclass(frozen=True)
class Sent:
    """One message of a burst as it is passed, and what must become of it."""

    message: Message
    tag: bytes
    """The tag that is passed to `open_many`."""
    status: int = RIGHT
    in_place: bool = False
    null: bool = True
    """Whether empty buffers are passed as null pointers."""
    said: Mapping[str, int] = field(default_factory=dict)
    """Numbers in its record instead of the buffers' actual lengths."""
    given: Mapping[str, bytes] = field(default_factory=dict)
    """What its buffers hold instead of the message."""

    def record(
        self, number: int, seals: bool
    ) -> tuple[bytes, list[tuple[str, Memory]], list[Part]]:
        """Return its record before the call, its buffers by word, and what they must hold after."""
        found = self.message
        source, other = found.plaintext, found.ciphertext
        if not seals:
            source, other = other, source
        wanted = other if self.status == RIGHT else bytes(len(other))
        after = found.tag
        if self.status == REFUSED:
            wanted, after = UNTOUCHED * len(other), UNTOUCHED * BLOCK_BYTES
        content = {"iv": found.iv, "aad": found.aad, "in": source, "out": UNTOUCHED * len(source)}
        content |= {"tag": UNTOUCHED * BLOCK_BYTES if seals else self.tag, **self.given}
        if self.in_place:
            wanted = content["in"] if self.status == REFUSED else wanted
        written = ("out", "tag") if seals else ("out",)
        made = {
            word: Memory(f"{word} {number}", data, word in written, 0)
            for word, data in content.items()
            if data or not self.null
        }
        if self.in_place and "out" in made:
            made["in"] = made["out"] = replace(made["out"], content=content["in"])
        words = {"iv_len": len(content["iv"]), "aad_len": len(content["aad"])}
        words |= {"len": len(source), "tag_len": 5 if seals else len(content["tag"])}
        words |= {"status": STALE, **self.said}
        parts = [Part(made["out"].name, wanted)] if "out" in made else []
        if seals:
            parts.append(Part(made["tag"].name, after))
        record = b"".join(words.get(word, 0).to_bytes(WORD_BYTES, "little") for word in WORDS)
        return record, list(made.items()), parts


def burst(function: str, what: str, sent: Sequence[Sent], key: bytes) -> Trial:
    """Return the call for some messages."""
    before, after = b"", b""
    pointers: list[tuple[int, Memory]] = []
    parts: list[Part] = []
    for number, one in enumerate(sent):
        record, buffers, own = one.record(number, function == SEAL)
        at = len(before)
        pointers += [(at + WORD_BYTES * WORDS.index(word), memory) for word, memory in buffers]
        before += record
        after += record[:-WORD_BYTES] + one.status.to_bytes(WORD_BYTES, "little")
        parts += own
    assert len(before) == RECORD_BYTES * len(sent)
    parts.append(Part("messages", after))
    said = {} if sent else {"messages": 0}
    what = f"{len(sent)} messages, {what}"
    return Trial(
        function,
        what,
        key,
        {"messages": before},
        parts if sent else (),
        said=said,
        pointers={"messages": tuple(pointers)},
    )


def _mixes(rng: random.Random) -> Mapping[str, Callable[[int], list[tuple[int, int, int]]]]:
    """Return ways to draw the lengths of some messages: bytes of IV, AAD and text."""

    def alike(count: int) -> list[tuple[int, int, int]]:
        most = rng.choice((BLOCK_BYTES, 64, 256, MOST_TEXT))
        return [(USUAL_IV, rng.randrange(17), rng.randrange(1, most + 1))] * count

    def rows(count: int) -> list[tuple[int, int, int]]:
        row = 64 * rng.randrange(rng.choice((1, 3, 25)))
        return [(USUAL_IV, rng.randrange(17), row + rng.randrange(1, 65)) for _ in range(count)]

    def unlike(count: int) -> list[tuple[int, int, int]]:
        aad = rng.choice((0, *range(4, 17)))
        return [(USUAL_IV, aad, rng.randrange(16, 65)) for _ in range(count)]

    def changing(count: int) -> list[tuple[int, int, int]]:
        sizes = [rng.choice((5, 16, 17, 64, 65, 130)) for _ in range(count // GROUP + 1)]
        return [(USUAL_IV, 12, sizes[i // GROUP]) for i in range(count)]

    def any_(count: int) -> list[tuple[int, int, int]]:
        ivs = (USUAL_IV, USUAL_IV, USUAL_IV, 8, 16, 60)
        return [
            (rng.choice(ivs), rng.randrange(MOST_AAD + 1), rng.randrange(200)) for _ in range(count)
        ]

    def aad(count: int) -> list[tuple[int, int, int]]:
        size = rng.choice((0, 0, 17, 32, 40))
        return [(USUAL_IV, size, rng.randrange(1, 65)) for _ in range(count)]

    def bare(count: int) -> list[tuple[int, int, int]]:
        size = rng.randrange(1, 300)
        return [(USUAL_IV, 0 if i < count - count % 3 else 12, size) for i in range(count)]

    def short(count: int) -> list[tuple[int, int, int]]:
        most, some = rng.choice((64, 128)), (0, 0, 8, 16)
        return [(USUAL_IV, rng.choice(some), rng.randrange(1, most + 1)) for _ in range(count)]

    return {
        "alike": alike,
        "rows": rows,
        "unlike": unlike,
        "changing": changing,
        "any": any_,
        "AAD": aad,
        "no AAD": bare,
        "short": short,
    }


def _drawn(rng: random.Random, key: Key, sizes: Sequence[tuple[int, int, int]]) -> list[Message]:
    return [
        message(key, rng.randbytes(iv), rng.randbytes(aad), rng.randbytes(text))
        for iv, aad, text in sizes
    ]


def _flipped(rng: random.Random, data: bytes) -> bytes:
    bit = 1 << rng.randrange(8 * len(data))
    return (int.from_bytes(data, "little") ^ bit).to_bytes(len(data), "little")


def _sent(rng: random.Random, function: str, found: Sequence[Message]) -> list[Sent]:
    """Return right messages, in place or apart; to open, some are wrong."""
    null = rng.random() < 0.5
    out = [Sent(one, one.tag, in_place=rng.random() < 0.5, null=null) for one in found]
    for i, one in enumerate(out):
        match rng.randrange(12) if function == OPEN else None:
            case 0:
                wrong = replace(one, tag=_flipped(rng, one.tag))
            case 1 if len(out) > 1 and (other := out[(i + 1) % len(out)].message.tag) != one.tag:
                # The tag of the message behind.
                wrong = replace(one, tag=other)
            case 2:
                word = rng.choice(("iv", "aad", "in"))
                data = {"iv": one.message.iv, "aad": one.message.aad}
                held = data.get(word, one.message.ciphertext)
                if not held:
                    continue
                wrong = replace(one, given={word: _flipped(rng, held)})
            case 3:
                out[i] = replace(one, tag=one.tag[: rng.choice(sorted(TAG_BYTES))])
                continue
            case _:
                continue
        out[i] = replace(wrong, status=WRONG)
    return out


def _random(key_bytes: int, function: str, sample: int) -> Iterator[Trial]:
    """Yield bursts of every count up to four groups and a rest, of every mix."""
    rng = random.Random(SEED + 131 * key_bytes + len(function))
    for _ in range(8 if sample == 1 else 1):
        key = Key(rng.randbytes(key_bytes))
        for place, (name, drawn) in enumerate(_mixes(rng).items()):
            for count in (*range(1, GROUP * 4 + 2), 24):
                if sample > 1 and (count + place) % 4:
                    continue
                found = _drawn(rng, key, drawn(count))
                yield burst(function, name, _sent(rng, function, found), key.key)


def _lengths(key_bytes: int, function: str, sample: int) -> Iterator[Trial]:
    """Yield two groups and a rest of every length, alike or within a row of it."""
    rng = random.Random(SEED + 137 * key_bytes + len(function))
    key = Key(rng.randbytes(key_bytes))
    for length in range(0, MOST_TEXT, sample):
        few = {length} if length % 3 else range(max(1, length - length % 64), length + 1) or {0}
        aad = rng.randrange(17)
        for aads in ({aad}, range(17)):
            sizes = [
                (USUAL_IV, rng.choice([*aads]), rng.choice([*few])) for _ in range(2 * GROUP + 1)
            ]
            sent = _sent(rng, function, _drawn(rng, key, sizes))
            yield burst(function, f"{length} bytes", sent, key.key)


def _invalid(key_bytes: int, function: str, sample: int) -> Iterator[Trial]:
    """Yield bursts in which one message has an invalid length: it alone is refused."""
    rng = random.Random(SEED + 139 * key_bytes + len(function))
    key = Key(rng.randbytes(key_bytes))
    numbers = {"iv_len": (0, *TOO_MUCH["iv_len"]), **TOO_MUCH}
    if function == OPEN:
        numbers |= {"tag_len": (*NO_TAG, *TOO_LONG_A_TAG)}
    every = [(word, n) for word, some in numbers.items() for n in some]
    for at, (word, number) in enumerate(every[::sample]):
        sent = _sent(rng, function, _drawn(rng, key, [(USUAL_IV, 13, 20)] * (2 * GROUP + 1)))
        for i in (at % len(sent), 3 * at % len(sent)):
            sent[i] = Sent(sent[i].message, sent[i].message.tag, REFUSED, said={word: number})
        yield burst(function, f"{word} = {number} of message {at % len(sent)}", sent, key.key)


@lru_cache(maxsize=4)
def trials(key_bytes: int, function: str, sample: int) -> Sequence[Trial]:
    """Return the bursts of a function; `sample` thins them out."""
    rng = random.Random(SEED + 149 * key_bytes)
    key = Key(rng.randbytes(key_bytes))
    none = burst(function, "no array", (), key.key)
    suites = (_random, _lengths, _invalid)
    return none, *(one for suite in suites for one in suite(key_bytes, function, sample))


def placed(key_bytes: int, blocks: int, function: str) -> list[Trial]:
    """Return a few bursts for every place: groups and a rest of all kinds, some tags wrong."""
    rng = random.Random(SEED + 151 * key_bytes + blocks)
    key, sizes = Key(rng.randbytes(key_bytes)), [(USUAL_IV, 13, 16)] * GROUP
    sizes += [(USUAL_IV, 12, size) for size in (50, 128, 250) for _ in range(GROUP)]
    sizes += [(USUAL_IV, 12, 100 + i) for i in range(GROUP)]
    sent = _sent(rng, function, _drawn(rng, key, [*sizes, (16, 20, 30)]))
    apart = [replace(one, in_place=False) for one in sent]
    return [burst(function, "of all kinds", apart, key.key)]
