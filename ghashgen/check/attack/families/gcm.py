"""Trials of AES-GCM. Answers come from pyca's AES-GCM, for any counter block and state (`oracle`).

- each buffer at every place that `ghashgen validate` uses;
- encrypt and decrypt, apart and in place: every length up to three groups and two blocks, every
  length of a group further on, long ones; keys, states and texts random, all zero and all one;
  counters that wrap or carry before any of the blocks;
- round keys against FIPS 197;
- seal and open: the same lengths, with AAD of 0 to 49 bytes, IVs of 1 to 300 bytes, tags of all
  lengths, tags with each bit wrong, lengths to refuse;
- messages in pieces as in `ghashgen validate`: each call with all 96 bytes of its state;
- each function at many turns of its loops (`check.validation.turns`);
- for kernels with segments: hash over the same texts, exponents, and texts cut in two.
"""

from collections.abc import Iterator
from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.field.gcm import TAG_BYTES
from ghashgen.check.attack import draws
from ghashgen.check.attack.accepted import AT_ONCE, Accepted
from ghashgen.check.attack.leaks import Asked, leaks, lengths, repeated
from ghashgen.check.validation.ciphers import expanding, some_counter
from ghashgen.check.validation.gcm import messages, segments, streams, texts, turns
from ghashgen.check.validation.gcm.messages import Message, message
from ghashgen.check.validation.gcm.oracle import Key, Text, text
from ghashgen.check.validation.gcm.states import TEXT, State
from ghashgen.check.validation.gcm.validator import placed, wanted_of
from ghashgen.check.validation.records import USUAL_IV
from ghashgen.check.validation.trials import Trial, faults
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.run.emulate.image import load_object

_LONGEST_IV = 300
_MOST_AAD = 49
FROM_STATES = tuple(name for name in streams.FUNCTIONS if name != "start")
"""Functions that read a state, whose lengths and phase are public."""
SELDOM = 16
"""If calls are slow, only one in this many of the calls that do not depend on the group is made."""


def trials(found: Accepted[GcmKernel]) -> Iterator[tuple[int, str]]:
    """Yield how many calls a trial made, and what was wrong."""
    built, runner = found.built, found.runner
    exported = functions_of(built.kernel)
    yield 0, next(iter(runner.check(built, placed(runner, built, built.kernel.keeps_output))), "")
    asked = [*_keys(found), *_crypted(found)]
    if "seal" in exported:
        asked += _messages(found)
    if "start" in exported:
        asked += _in_pieces(found)
    if "combine" in exported:
        asked += _segmented(found)
    for name in exported:
        asked += turns.trials(name, built.key_bytes, built.blocks, found.few)
    asked = [*wanted_of(built.kernel, 0, 1).fitted(iter(asked))]
    for start in range(0, len(asked), AT_ONCE):
        some = asked[start : start + AT_ONCE]
        yield len(some), next(faults(runner, built, some), "")
    image = load_object(built.obj)
    yield leaks(found.emulator, image, built, lambda secret: _right(found, secret), FROM_STATES)


def _keys(found: Accepted[GcmKernel]) -> Iterator[Trial]:
    """Yield keys to expand."""
    kernel = found.built.kernel
    places = wanted_of(kernel, 0, 1).round_keys
    yield from (expanding(key, places) for key in draws.keys(found, kernel.key_bytes))


def _texts(found: Accepted[GcmKernel]) -> Iterator[Text]:
    rng, size = found.rng, found.built.kernel.key_bytes
    zeros, ones = bytes(BLOCK_BYTES), b"\xff" * BLOCK_BYTES
    near, far, long = draws.lengths(found, found.built.kernel.blocks)
    for key, x, data, sets in (
        (rng.randbytes(size), None, None, (near, far, long)),
        (b"\xff" * size, ones, 0xFF, (near, far)),
        (bytes(size), zeros, 0, (near, far)),
    )[: 1 if found.few else 3]:
        under = Key(key)
        for length in (n for some in sets for n in some):
            state = rng.randbytes(BLOCK_BYTES) if x is None else x
            content = rng.randbytes(length) if data is None else bytes([data]) * length
            yield text(under, some_counter(rng, length), state, content)


def _crypted(found: Accepted[GcmKernel]) -> Iterator[Trial]:
    made = list(_texts(found))
    for function in (texts.encrypting, texts.decrypting):
        for each in made:
            what = f"{len(each.plaintext)} bytes from counter {each.counter.hex()}"
            for in_place in (False, True):
                yield function(each, f"{what} under {each.key.hex()}", in_place)


def _messages(found: Accepted[GcmKernel]) -> Iterator[Trial]:
    """Yield whole messages to seal and to open, right and wrong."""
    rng, kernel = found.rng, found.built.kernel
    key = Key(rng.randbytes(kernel.key_bytes))

    def drawn(length: int, iv: int = USUAL_IV) -> Message:
        aad = rng.randbytes(rng.randrange(_MOST_AAD + 1))
        return message(key, rng.randbytes(iv), aad, rng.randbytes(length))

    made = [drawn(length) for some in draws.lengths(found, kernel.blocks) for length in some]
    ivs = range(1, _LONGEST_IV + 1, 25 if found.few else 1)
    made += [drawn(rng.randrange(70), iv) for iv in ivs]
    for each in made:
        for in_place in (False, True):
            yield messages.sealing(each, in_place)
    for each in made:
        for in_place in (False, True):
            yield messages.opening(each, in_place, rng.choice(TAG_BYTES))
            yield messages.forged(each, rng.randrange(8 * BLOCK_BYTES), in_place=in_place)
    bits = range(0, 8 * BLOCK_BYTES, 16 if found.few else 1)
    yield from (messages.forged(made[-1], bit) for bit in bits)
    for name in ("seal", "open"):
        yield from messages.refused(kernel.key_bytes, name)


def _in_pieces(found: Accepted[GcmKernel]) -> Iterator[Trial]:
    """Yield calls of messages in pieces, each from its own state."""
    kernel, sample = found.built.kernel, SELDOM if found.few else 1
    for name in streams.FUNCTIONS:
        yield from streams.trials(kernel.key_bytes, kernel.blocks, name, sample)


def _segmented(found: Accepted[GcmKernel]) -> Iterator[Trial]:
    """Yield calls that join a text processed in segments."""
    made = [(f"{len(each.plaintext)} bytes", each) for each in _texts(found)]
    for make in segments.SUITES.values():
        yield from make(made, found.built.kernel.key_bytes)


def _right(found: Accepted[GcmKernel], secret: bytes) -> Iterator[Asked]:
    """Yield messages under a secret key with correct tags; arbitrary bytes are no message's tag."""
    kernel = found.built.kernel
    exported = functions_of(kernel)
    key = Key(repeated(secret, kernel.key_bytes))
    for number, length in enumerate(lengths(kernel.blocks)):
        iv = USUAL_IV if number % 2 else 1 + 7 * number
        parts = repeated(secret, iv), repeated(secret, 7 * number), repeated(secret, length)
        made = message(key, *parts)
        for function in (messages.sealing, messages.opening):
            asked = function(made, in_place=False)
            if asked.function in exported:
                yield f"{asked}, right", asked.function, dict(asked.given)
    if "start" in exported:
        for asked in _begun(kernel, key, secret):
            yield f"{asked}, right", asked.function, dict(asked.given)


def _begun(kernel: GcmKernel, key: Key, secret: bytes) -> Iterator[Trial]:
    """Yield calls from states in which everything but the numbers is secret, with their tags."""
    pieces, block = streams.Calls(), repeated(secret, BLOCK_BYTES)
    for number, length in enumerate(lengths(kernel.blocks)):
        aad = State(key, block, block, block, block, aad=5 * number)
        data = repeated(secret, length)
        pieces.aad(aad, data)
        for state in (aad, replace(aad, text=7 * number + 1, phase=TEXT)):
            for encrypts in (True, False):
                pieces.text(state, data, encrypts)
            pieces.finish(state)
            pieces.verify(state, state.tag()[: TAG_BYTES[number % len(TAG_BYTES)]])
    for name in streams.FUNCTIONS:
        yield from pieces.trials[name]


__all__ = ["trials"]
