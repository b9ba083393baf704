"""Messages in pieces for `start`, `aad`, `encrypt_more`, `decrypt_more`, `finish` and `verify`.

After every call all 96 bytes of the state are compared with the right state from `states`. So no
call depends on the one before: the next begins with the state that this one must have left. Whole
messages must end in pyca's tag.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, xor_blocks
from ghashgen.algebra.field.gcm import TAG_BYTES
from ghashgen.check.validation.cases import SEED, tail_bound
from ghashgen.check.validation.ciphers import CARRIES
from ghashgen.check.validation.gcm.messages import (
    IV_LENGTHS,
    NO_TAG,
    TOO_LONG_A_TAG,
    TOO_MUCH,
    Message,
    message,
    recorded,
)
from ghashgen.check.validation.gcm.oracle import Key
from ghashgen.check.validation.gcm.states import (
    ASSOCIATED,
    DONE,
    MISPLACED,
    MOST_AAD,
    MOST_TEXT,
    REFUSED,
    TEXT,
    WRONG,
    State,
    started,
)
from ghashgen.check.validation.records import decryptions, encryptions, records
from ghashgen.check.validation.trials import Part, Trial
from ghashgen.support.errors import GhashgenError

FUNCTIONS = ("start", "aad", "encrypt_more", "decrypt_more", "finish", "verify")

NO_PHASE = (0, 3, 4, 255, 2**32 + 1, 2**63 + 2, 2**64 - 1)
"""Invalid values of the phase."""

MESSAGES = 40
"""Number of messages to split at random."""

RECORDS = 25
"""One in this many CAVP records is split at random."""

UNTOUCHED = b"\x5a"


class Calls:
    """Collects trials by function; trials of text alternate between apart and in place."""

    def __init__(self) -> None:
        self.trials: dict[str, list[Trial]] = {name: [] for name in FUNCTIONS}

    def start(self, key: Key, iv: bytes) -> State:
        """Begin a message; return its state."""
        state = started(key, iv)
        given = {"iv": iv}
        self._add(Trial("start", f"an IV of {len(iv)}", key.key, given, [_is(state)], DONE))
        return state

    def aad(self, state: State, data: bytes) -> State:
        """Add a piece of AAD; return the state after it."""
        after, what = state.with_aad(data), f"{len(data)} bytes after {state.aad}"
        given = {"state": bytes(state), "aad": data}
        self._add(Trial("aad", what, state.key.key, given, [_is(after)], DONE))
        return after

    def text(self, state: State, data: bytes, encrypts: bool) -> tuple[State, bytes]:
        """Add a piece of text; return the state after it, and the piece encrypted or decrypted."""
        function = "encrypt_more" if encrypts else "decrypt_more"
        after, other = state.with_text(data, encrypts)
        what = f"{len(data)} bytes after {state.text}, counter {state.counter.hex()}"
        given = {"state": bytes(state), "in": data}
        parts = (Part("out", other), _is(after))
        in_place = bool(len(self.trials[function]) & 1)
        self._add(Trial(function, what, state.key.key, given, parts, DONE, in_place))
        return after, other

    def finish(self, state: State) -> bytes:
        """End a message; return its tag."""
        tag, given = state.tag(), {"state": bytes(state)}
        parts = (Part("tag", tag), _erased(state))
        what = f"{state.aad} bytes of AAD, {state.text} of text"
        self._add(Trial("finish", what, state.key.key, given, parts, DONE))
        return tag

    def verify(self, state: State, tag: bytes, what: str = "") -> None:
        """End a message and compare its tag with the given one."""
        right = tag == state.tag()[: len(tag)]
        said = f"{state.aad} bytes of AAD, {state.text} of text, tag of {len(tag)}{what}"
        given, key = {"state": bytes(state), "tag": tag}, state.key.key
        result = DONE if right else WRONG
        self._add(Trial("verify", said, key, given, [_erased(state)], result))

    def refuse(self, trial: Trial, result: int, what: str) -> None:
        """Add a call that is refused and must leave all output unchanged."""
        kept = {name: trial.given[name] for name in ("state",) if name in trial.given}
        if trial.function == "start":
            kept["state"] = UNTOUCHED * len(bytes(some(random.Random(0), Key(bytes(16)))))
        if trial.function == "finish":
            kept["tag"] = UNTOUCHED * BLOCK_BYTES
        if "in" in trial.given:
            source = trial.given["in"]
            kept["out"] = UNTOUCHED * len(source) if isinstance(source, bytes) else b""
        parts = [Part(name, data) for name, data in kept.items() if isinstance(data, bytes)]
        given = {**trial.given, **kept}
        said = f"{trial.what}, {what}"
        self._add(replace(trial, what=said, given=given, parts=parts, result=result))

    def _add(self, trial: Trial) -> None:
        self.trials[trial.function].append(trial)


def _is(state: State) -> Part:
    return Part("state", bytes(state))


def _erased(state: State) -> Part:
    return Part("state", bytes(len(bytes(state))))


def some(rng: random.Random, key: Key, aad: int = 0, text: int = 0) -> State:
    """Return an arbitrary state of a message with this many bytes."""
    x, counter, mask, keystream = (rng.randbytes(BLOCK_BYTES) for _ in range(4))
    return State(key, x, counter, mask, keystream, aad, text, TEXT if text else ASSOCIATED)


def _pieces(rng: random.Random, data: bytes, most: int) -> Iterator[bytes]:
    """Yield data in pieces of 0 to `most` bytes."""
    at = 0
    while at < len(data):
        size = rng.randrange(most + 1)
        yield data[at : at + size]
        at += size


@lru_cache(maxsize=8)
def _key(key: bytes) -> Key:
    """Return a key; caching computes its H and H^-1 once."""
    return Key(key)


def _follow(
    calls: Calls, found: Message, aad: Sequence[bytes], text: Sequence[bytes], encrypts: bool
) -> None:
    """Add the calls of a message in pieces.

    Raises:
        GhashgenError: the pieces do not give pyca's result for the message.
    """
    state, out = calls.start(_key(found.key), found.iv), b""
    for piece in aad:
        state = calls.aad(state, piece)
    for piece in text:
        state, other = calls.text(state, piece, encrypts)
        out += other
    tag = state.tag()
    calls.finish(state)
    calls.verify(state, found.tag)
    if (out, tag[: len(found.tag)]) != (
        found.ciphertext if encrypts else found.plaintext,
        found.tag,
    ):
        raise GhashgenError(
            f"the pieces of {found.what} are not what pyca makes of it",
            "one of the two is not what it should be",
        )


def _messages(calls: Calls, key_bytes: int, blocks: int, sample: int) -> None:
    """Add messages, byte by byte and split at random, short and long, and CAVP's."""
    rng = random.Random(SEED + 43 * key_bytes + blocks)
    key, bytewise = _key(rng.randbytes(key_bytes)), 2 * BLOCK_BYTES + 3
    for encrypts in (True, False):
        found = message(key, rng.randbytes(12), rng.randbytes(bytewise), rng.randbytes(bytewise))
        source = found.plaintext if encrypts else found.ciphertext
        aad, text = ([data[i : i + 1] for i in range(bytewise)] for data in (found.aad, source))
        _follow(calls, found, aad, text, encrypts)
    group = BLOCK_BYTES * blocks
    for number in range(max(4, MESSAGES // sample)):
        sizes = (rng.randrange(4 * group), rng.randrange(4 * group))
        iv = rng.choice((12, 12, rng.randrange(1, 65)))
        found = message(key, *(rng.randbytes(size) for size in (iv, *sizes)))
        _split(calls, rng, found, rng.choice((20, 3 * group)), bool(number & 1))
    for encrypts in (True, False):
        found = message(key, rng.randbytes(12), rng.randbytes(5000), rng.randbytes(65543))
        _split(calls, rng, found, 20000, encrypts)
        names = (encryptions if encrypts else decryptions)(8 * key_bytes)
        for record in list(records(names))[:: RECORDS * sample]:
            if record.plaintext is not None:
                _split(calls, rng, recorded(record), 40, encrypts)


def _split(calls: Calls, rng: random.Random, found: Message, most: int, encrypts: bool) -> None:
    source = found.plaintext if encrypts else found.ciphertext
    aad, text = (list(_pieces(rng, data, most)) for data in (found.aad, source))
    _follow(calls, found, aad, text, encrypts)


def _places(calls: Calls, key_bytes: int, blocks: int, sample: int) -> None:
    """Add pieces of every length at every place of a block; of long ones, a few at each."""
    rng = random.Random(SEED + 47 * key_bytes + blocks)
    key = _key(rng.randbytes(key_bytes))
    short = 2 * BLOCK_BYTES + 2
    for length in range(tail_bound(blocks) + 1):
        few = {0, 7 * length % BLOCK_BYTES, (3 * length + 8) % BLOCK_BYTES}
        if sample > 1:
            few = {5 * length % BLOCK_BYTES}
        for place in range(BLOCK_BYTES) if length < short else sorted(few):
            before = place + BLOCK_BYTES * rng.randrange(1, 5)
            calls.aad(some(rng, key, before), rng.randbytes(length))
            for encrypts in (True, False):
                one = some(rng, key, rng.randrange(100), before)
                calls.text(one, rng.randbytes(length), encrypts)
                if length < short:
                    calls.text(some(rng, key, before), rng.randbytes(length), encrypts)


def _counters(calls: Calls, key_bytes: int, blocks: int, sample: int) -> None:
    """Add long pieces from counters that wrap, or carry, before each block."""
    rng = random.Random(SEED + 53 * key_bytes + blocks)
    key = _key(rng.randbytes(key_bytes))
    for carry in CARRIES[:: min(sample, 2)]:
        for at in range(0, 2 * blocks + 3, 1 if sample == 1 else 5):
            counter = rng.randbytes(12) + ((carry - at) % 2**32).to_bytes(4, "big")
            state = replace(some(rng, key, 3, 16 + rng.randrange(16)), counter=counter)
            calls.text(state, rng.randbytes(tail_bound(blocks)), bool(at & 1))


def _bounds(calls: Calls, key_bytes: int) -> None:
    """Add messages of the greatest lengths, through states that claim them, and longer ones."""
    rng = random.Random(SEED + 59 * key_bytes)
    key = _key(rng.randbytes(key_bytes))
    for most, name in ((MOST_AAD, "aad"), (MOST_TEXT, "in")):
        for before in (2**32 - 5, 2**32, 2**35 + 1, most - 100, most - 16, most - 1, most):
            state = some(rng, key, *((before,) if name == "aad" else (2**40 + 9, before)))
            room = most - before
            for size in sorted({0, 1, 17, min(room, 40)}):
                if size <= room:
                    _piece(calls, state, rng.randbytes(size), name)
            for size in (room + 1, room + 16, *TOO_MUCH["aad_len" if name == "aad" else "len"]):
                _too_long(calls, state, name, size)
    for aad, text in ((MOST_AAD, MOST_TEXT), (2**32 + 7, 0), (2**60, 2**36 - 33), (5, 2**32 + 1)):
        state = some(rng, key, aad, text)
        calls.finish(state)
        calls.verify(state, state.tag())


def _piece(calls: Calls, state: State, data: bytes, name: str) -> None:
    if name == "aad":
        calls.aad(state, data)
    else:
        for encrypts in (True, False):
            calls.text(state, data, encrypts)


def _too_long(calls: Calls, state: State, name: str, size: int) -> None:
    """Add calls with lengths beyond the limit; 37 bytes are given at most."""
    given = {"state": bytes(state), name: bytes(min(size, 37))}
    length = "aad_len" if name == "aad" else "len"
    for function in ("aad",) if name == "aad" else ("encrypt_more", "decrypt_more"):
        trial = Trial(function, f"{size} bytes", state.key.key, given, (), said={length: size})
        calls.refuse(trial, REFUSED, f"after {state.aad} and {state.text}")


def _order(calls: Calls, key_bytes: int) -> None:
    """Add calls with an invalid message, AAD after text, and calls of no bytes."""
    rng = random.Random(SEED + 61 * key_bytes)
    key = _key(rng.randbytes(key_bytes))
    right = some(rng, key, 20, 0)
    for phase in NO_PHASE:
        state = replace(right, phase=phase)
        what = f"the phase being {phase}"
        for length in (0, 1, 40):
            data = rng.randbytes(length)
            for function, name in (("aad", "aad"), ("encrypt_more", "in"), ("decrypt_more", "in")):
                given = {"state": bytes(state), name: data}
                trial = Trial(function, f"{length} bytes", key.key, given, ())
                calls.refuse(trial, MISPLACED, what)
        given = {"state": bytes(state)}
        calls.refuse(Trial("finish", "a tag", key.key, given, ()), MISPLACED, what)
        given["tag"] = right.tag()
        calls.refuse(Trial("verify", "a tag", key.key, given, ()), MISPLACED, what)
    for text in (1, 16, 40):
        for length in (0, 1, 40):
            state = some(rng, key, 20, text)
            given = {"state": bytes(state), "aad": rng.randbytes(length)}
            trial = Trial("aad", f"{length} bytes", key.key, given, ())
            calls.refuse(trial, MISPLACED, f"behind {text} bytes of text")


def _starts(calls: Calls, key_bytes: int) -> None:
    """Add IVs of all lengths, and of invalid ones."""
    rng = random.Random(SEED + 67 * key_bytes)
    key = _key(rng.randbytes(key_bytes))
    for size in IV_LENGTHS:
        calls.start(key, rng.randbytes(size))
    trial = Trial("start", "an IV", key.key, {"iv": b""}, ())
    calls.refuse(trial, REFUSED, "of no bytes")
    for size in TOO_MUCH["iv_len"]:
        trial = Trial("start", "an IV", key.key, {"iv": bytes(20)}, (), said={"iv_len": size})
        calls.refuse(trial, REFUSED, f"of {size} bytes")


def _tags(calls: Calls, key_bytes: int) -> None:
    """Add tags of all lengths: right, forged in every bit, and invalid."""
    rng = random.Random(SEED + 71 * key_bytes)
    key = _key(rng.randbytes(key_bytes))
    for aad, text in ((0, 0), (16, 0), (21, 0), (0, 16), (20, 33), (32, 48)):
        state = some(rng, key, aad, text)
        calls.finish(state)
        for size in TAG_BYTES:
            tag = state.tag()[:size]
            calls.verify(state, tag)
            calls.verify(state, tag[::-1], ", its bytes in another order")
            for bit in range(8 * size) if size == BLOCK_BYTES and aad == 20 else (0, 8 * size - 1):
                wrong = xor_blocks(tag, (1 << bit).to_bytes(size, "little"))
                calls.verify(state, wrong, f", bit {bit} of it wrong")
    state = some(rng, key, 20, 33)
    given = {"state": bytes(state)}
    for size in NO_TAG:
        tag = (state.tag() * 20)[:size]
        trial = Trial("verify", "a tag", key.key, {**given, "tag": tag}, ())
        calls.refuse(trial, REFUSED, f"of {size}")
    for size in TOO_LONG_A_TAG:
        tag = state.tag()
        trial = Trial("verify", "a tag", key.key, {**given, "tag": tag}, (), said={"tag_len": size})
        calls.refuse(trial, REFUSED, f"of {size}")


@lru_cache(maxsize=4)
def _all(key_bytes: int, blocks: int, sample: int) -> dict[str, list[Trial]]:
    calls = Calls()
    _starts(calls, key_bytes)
    _messages(calls, key_bytes, blocks, sample)
    _places(calls, key_bytes, blocks, sample)
    _counters(calls, key_bytes, blocks, sample)
    _bounds(calls, key_bytes)
    _order(calls, key_bytes)
    _tags(calls, key_bytes)
    return calls.trials


def trials(key_bytes: int, blocks: int, function: str, sample: int) -> Sequence[Trial]:
    """Return the trials of a function; `sample` thins out those that do not depend on groups."""
    return _all(key_bytes, blocks, sample)[function]


def placed(key_bytes: int, blocks: int, function: str) -> list[Trial]:
    """Return a few calls for every place: inside a block, into and beyond groups."""
    rng = random.Random(SEED + 73 * key_bytes)
    calls, key = Calls(), _key(rng.randbytes(key_bytes))
    most = (3 * blocks + blocks // 2) * BLOCK_BYTES + 7
    for before, length in ((5, 7), (3, 30), (9, most)):
        calls.start(key, rng.randbytes(10 + before))
        calls.aad(some(rng, key, before), rng.randbytes(length))
        state = some(rng, key, 20, before)
        for encrypts in (True, False):
            calls.text(state, rng.randbytes(length), encrypts)
        calls.finish(state)
        calls.verify(state, state.tag()[: 4 * (before % 4 + 1)])
    return [replace(trial, in_place=False) for trial in calls.trials[function]]
