"""Validates AES-GCM: key set-up, every length around the group, wrapping counters, CAVP, bounds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.check.validation import ciphers
from ghashgen.check.validation.cases import tail_bound
from ghashgen.check.validation.ciphers import expanding
from ghashgen.check.validation.gcm import cavp, many, messages, segments, streams, texts, turns
from ghashgen.check.validation.gcm.messages import Message
from ghashgen.check.validation.gcm.oracle import Text
from ghashgen.check.validation.outcome import Validation
from ghashgen.check.validation.runners import Runner
from ghashgen.check.validation.trials import Trial, calls, validated
from ghashgen.kernels.gcm.kernel import ROUND_KEYS, STANDARD_TAGS, GcmKernel
from ghashgen.run.arguments import Arguments
from ghashgen.run.built import Built
from ghashgen.run.callee import Callee


@dataclass(frozen=True)
class Wanted:
    """What trials are made for."""

    key_bytes: int
    blocks: int
    round_keys: Sequence[int]
    """The offset of each round key in the table, in order."""
    bound: int
    """The longest tail of a run, so that kernels share vectors."""
    sample: int
    """One in this many of the trials that do not depend on the group is run."""
    few: bool
    """Whether calls are so slow that fewer turns of the loops are run."""
    untouched: bool = False
    """Whether `open` leaves its output alone if the tag is wrong."""
    tags: Sequence[int] = STANDARD_TAGS
    """Bytes of the tags that it compares."""

    def fitted(self, trials: Iterator[Trial]) -> Iterator[Trial]:
        """Yield trials as these options have them."""
        for trial in trials:
            found = messages.any_tag(trial) if len(self.tags) > len(STANDARD_TAGS) else trial
            if found is not None:
                yield messages.untouched(found) if self.untouched else found

    def messages(self) -> Iterator[Message]:
        """Yield whole messages."""
        yield from messages.messages(self.key_bytes, self.blocks, self.sample)

    def texts(self) -> Iterator[tuple[str, Text]]:
        """Yield texts with descriptions."""
        yield from texts.texts(self.key_bytes, self.blocks, self.bound, self.sample)
        yield from cavp.texts(self.key_bytes)[:: self.sample]


def wanted_of(kernel: GcmKernel, bound: int, sample: int, size: int = 0) -> Wanted:
    """Return what a kernel's trials are made for, under keys of so many bytes; 0: of its own."""
    size = size or kernel.key_bytes
    at = kernel.layout.arrays[ROUND_KEYS]
    apart = BLOCK_BYTES * kernel.key_lanes
    places = range(at, at + apart * (aes.ROUNDS[size] + 1), apart)
    own = kernel.keeps_output, kernel.tag_sizes
    return Wanted(size, kernel.blocks, places, bound, sample, sample > 1, *own)


def _keys(wanted: Wanted) -> Iterator[Trial]:
    """Yield keys to expand; the round keys must be those of FIPS 197, section 5.2.

    The powers of H are in cells of the kernel's own choice; all other functions use them.
    """
    yield from (expanding(key, wanted.round_keys) for key in ciphers.keys(wanted.key_bytes))


def _crypted(make: Callable[[Text, str, bool], Trial], wanted: Wanted) -> Iterator[Trial]:
    """Yield texts apart and in place; if sampled, alternately."""
    for number, (what, text) in enumerate(wanted.texts()):
        for in_place in (False, True):
            # Both occur at every length modulo 16.
            if wanted.sample == 1 or in_place == bool((number ^ number >> 4) & 1):
                yield make(text, what, in_place)


def _sealed(wanted: Wanted) -> Iterator[Trial]:
    """Yield messages to seal, alternately apart and in place, CAVP's, and lengths to refuse."""
    size = wanted.key_bytes
    for number, found in enumerate(wanted.messages()):
        yield messages.sealing(found, bool(number & 1))
    yield from messages.cavp(size, "seal")[:: wanted.sample]
    yield from messages.refused(size, "seal")
    if wanted.sample == 1:
        yield messages.much_aad(size)


def _opened(wanted: Wanted) -> Iterator[Trial]:
    """Yield the same to open, tags of all lengths, and forgeries."""
    size, blocks = wanted.key_bytes, wanted.blocks
    for number, each in enumerate(wanted.messages()):
        yield messages.opening(each, not number & 1)
    yield from messages.tags(size, wanted.tags)
    yield from messages.forgeries(size, blocks, wanted.sample)
    yield from messages.cavp(size, "open")[:: wanted.sample]
    yield from messages.refused(size, "open")


def _streamed(function: str, wanted: Wanted) -> Iterator[Trial]:
    """Yield calls of a message in pieces."""
    yield from streams.trials(wanted.key_bytes, wanted.blocks, function, wanted.sample)


def _together(function: str, wanted: Wanted) -> Iterator[Trial]:
    """Yield bursts of messages."""
    yield from many.trials(wanted.key_bytes, function, wanted.sample)


def _segmented(function: str, wanted: Wanted) -> Iterator[Trial]:
    """Yield calls that join a text processed in segments."""
    yield from segments.SUITES[function](wanted.texts(), wanted.key_bytes)


SUITES: Mapping[str, Callable[[Wanted], Iterator[Trial]]] = {
    "init": _keys,
    "encrypt": lambda wanted: _crypted(texts.encrypting, wanted),
    "decrypt": lambda wanted: _crypted(texts.decrypting, wanted),
    "seal": _sealed,
    "open": _opened,
    **{name: partial(_streamed, name) for name in streams.FUNCTIONS},
    **{name: partial(_together, name) for name in many.FUNCTIONS},
    **{name: partial(_segmented, name) for name in segments.SUITES},
}
"""(what trials are made for) → the trials of a function."""


PLACED: Mapping[str, Callable[[int, int, str], list[Trial]]] = {
    **dict.fromkeys(("seal", "open"), messages.placed),
    **dict.fromkeys(streams.FUNCTIONS, streams.placed),
    **dict.fromkeys(many.FUNCTIONS, many.placed),
}
"""(key size in bytes, blocks of a group, function) → calls to make at every place: messages, right
or wrong, for functions that arbitrary bytes test poorly.
"""


def suites(callee: Callee, wanted: Wanted) -> Iterator[Iterator[Trial]]:
    """Yield the trials of each function: around two groups, then at many turns of its loops."""
    for name in callee.exported:
        if name in SUITES:
            yield wanted.fitted(SUITES[name](wanted))
            yield wanted.fitted(turns.trials(name, wanted.key_bytes, wanted.blocks, wanted.few))


def placed(runner: Runner, callee: Callee, untouched: bool) -> dict[str, list[Arguments]]:
    """Return the calls to make at every place, for functions that have such calls.

    Each leaves the same bytes at every place. A call that leaves the output `untouched` does not.
    """
    own = {
        name: [
            trial
            for trial in make(callee.key_bytes, callee.blocks, name)
            if not (untouched and name == "open" and trial.result)
        ]
        for name, make in PLACED.items()
        if name in callee.exported
    }
    return calls(runner, callee, own)


def validator(
    kernels: Sequence[Built[GcmKernel]],
) -> Callable[[Runner, Built[GcmKernel]], Validation]:
    """Return the function that validates one kernel of a run; the run shares vectors."""
    bounds: dict[int, int] = {}
    for built in kernels:
        bound = tail_bound(built.kernel.blocks)
        bounds |= {size: max(bound, bounds.get(size, 0)) for size in built.kernel.key_sizes}
    for size, bound in bounds.items():
        texts.every_length(size, bound)
        cavp.texts(size)
    return lambda runner, built: validate_one(runner, built, bounds)


def validate_one(runner: Runner, built: Built[GcmKernel], bounds: Mapping[int, int]) -> Validation:
    """Validate one kernel; a function without trials is a failure."""
    every = (
        trials
        for size in built.kernel.key_sizes
        for trials in suites(built, wanted_of(built.kernel, bounds[size], runner.sample, size))
    )
    own = partial(placed, runner, built, built.kernel.keeps_output)
    return validated(runner, built, every, SUITES, own)
