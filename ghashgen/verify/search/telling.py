"""Says where a function is wrong, when no certificate is accepted: runs at numbers that may tell.

A length says more than "no invariant". If no run is wrong, `unfit` says at which cut a certificate
does not fit. Nothing here proves anything.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import lcm
from pathlib import Path

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.checking import NOTHING, Way, check_case, check_way, residues
from ghashgen.verify.core.numbers import Number
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import secret
from ghashgen.verify.core.values import Linear, Pointer, Value
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.regions import ROUNDED
from ghashgen.verify.meaning.function import Function as Meaning
from ghashgen.verify.meaning.power import EXPONENT
from ghashgen.verify.rules.assertion import Assertion, read_certificate
from ghashgen.verify.rules.check import MOST_STEPS as MOST
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.state import State
from ghashgen.verify.statements.core import Statement, sizes_of
from ghashgen.verify.x86_64.elf import load_image

LENGTH = "length"

USUAL = {
    "iv_length": (16, 12, 1, 33),
    "aad_length": (20, 0, 16),
    "tag_length": (16, 4, 13, 9, 8),
    "phase": (2, 1),
    "text_done": (16, 0, 37, 0, 7, 0),
    "aad_done": (20, 0, 16),
    "count": (1, 0),
}
"""What a function's other numbers are, in turn; any that is not listed is the least that it may be.
"""

EXPONENTS = (0, 1)
"""Exponents that are run: without an assertion, no turn of a loop over the bits has a name."""

MOST_OF_POWER = 300
"""Instructions of such a run. Unnamed squares of squares get long."""

MOST_UNFOLLOWED = 3
"""Runs in a row that say nothing, after which no more are tried."""

TAKEN = (LENGTH, "aad_length", "iv_length")
"""Lengths of what a function takes in: the first that it has is varied."""

LONGER = ((3, 37), (4, 0), (5, 48), (8, 16), (9, 37), (16, 0), (17, 48))
"""Turns of a loop, and bytes behind them, of lengths that are tried after the telling ones."""

LENGTHS = range(400)
"""Lengths in bytes that are tried at last."""

STEPS = (4_000, 20_000)
"""Instructions of all runs before a second certificate is asked for, and before each later one."""

MOST_STEPS = 60_000
"""Instructions of all runs, after which no more are tried: a few seconds."""


def run_at(
    image: Image, meaning: Callable[[], Meaning], numbers: Mapping[str, int],
    most: int = MOST,
) -> Way:  # fmt: skip
    """Run a function in one way from its entry to its return, its numbers being these.

    Without an unknown no certificate is needed. `most` is how many instructions it may take.

    Raises:
        Refutation: it is wrong there, or is not followed; `numbers` says where.
    """

    def fixed() -> Meaning:
        return replace(meaning(), numbers={n: (v, v) for n, v in numbers.items()})

    try:
        try:
            way = check_case(image, fixed(), NOTHING, most=most)
        except Refutation as error:
            if ROUNDED not in error.message:
                raise
            # It asks how its stack is aligned.
            way = check_way(image, fixed, {"stack": dict.fromkeys(residues(image.target), NOTHING)})
    except Refutation as error:
        error.numbers = {n: v * meaning().multiple for n, v in numbers.items()}
        raise
    if not way.returns:
        raise unsupported("there may be no such numbers")
    return way


def wrong_at(source: bytes | Path, spec: Statement, lengths: Sequence[int]) -> Refutation | None:
    """Return what is wrong with an object's functions at these lengths in bytes; None: nothing.

    Raises:
        GhashgenError: the object cannot be read or lacks a symbol.
    """
    image = load_image(source)
    try:
        for function in spec.functions:
            for one in sizes_of(spec).values() or (spec,):
                _run_all(image, partial(one.meaning, function), lengths)
    except Refutation as error:
        error.symbol = function.symbol
        return error
    return None


def _run_all(image: Image, meaning: Callable[[], Meaning], lengths: Sequence[int]) -> None:
    own = meaning()
    if LENGTH not in own.numbers:
        run_at(image, meaning, others(own, 0))
        return
    fitting = [length for length in lengths if length % own.multiple == 0]
    if not fitting:
        raise unsupported("no length is chosen that there may be")
    for length in fitting:
        run_at(image, meaning, others(own, 0) | {LENGTH: length // own.multiple})


class _Telling(Checker):
    """A check that says of a cut why no assertion fits the state there, as it is.

    Of many messages it is then tried as one at other records, and what is said of those hides why.
    """

    arrived: State | None = None
    unfit: Refutation | None = None
    """Why the assertion that was tried last does not fit."""

    def arrive(self, state: State, address: int, source: Assertion | None) -> None:
        self.arrived, self.unfit = state, None
        try:
            super().arrive(state, address, source)
        except Refutation:
            if self.unfit is None:
                raise
            raise unsupported(self.unfit.message, address) from None

    def _instance(
        self, state: State, a: Assertion, source: Assertion | None, numbers: Mapping[str, Number]
    ) -> None:
        try:
            super()._instance(state, a, source, numbers)
        except Refutation as error:
            if state is self.arrived:
                self.unfit = unsupported(error.message + self._places(state, a, error.message))
            raise

    def _places(self, state: State, a: Assertion, message: str) -> str:
        """Return what an assertion has in the register that a refusal names, and what is there."""
        named = message.rpartition(": ")[2].split(" ")[0]
        if named not in a.registers:
            return ""
        return (
            f": wanted {a.registers[named]}, found {_said(self.registers[named].of(state.machine))}"
        )


def _said(value: Value) -> str:
    match value:
        case Pointer():
            return f"{value.region}+{value.offset}"
        case int() | Linear():
            return str(value)
    return "a secret" if secret(value) else "another value"


def unfit(image: Image, meaning: Callable[[], Meaning], certificate: object) -> Refutation | None:
    """Return why a refused certificate does not fit: where, what it has there, and what is."""
    cases = certificate.get("stack") if isinstance(certificate, dict) else None
    aligned = residues(image.target) if cases else {}
    try:
        for name, one in (cases or {"": certificate}).items():
            own = meaning()
            try:
                _Telling(image, own, read_certificate(one), aligned.get(name)).check()
            finally:
                own.terms.clear()
    except Refutation as error:
        return error
    return None


def others(meaning: Meaning, turn: int) -> dict[str, int]:
    """Return a number for each of a function's, other ones in other turns."""
    return {
        name: USUAL[name][turn % len(USUAL[name])] if name in USUAL else low
        for name, (low, _) in meaning.numbers.items()
    }


class Runs:
    """Runs of a function at known numbers, which may tell that it is wrong."""

    def __init__(self, image: Image, blocks: int, meaning: Callable[[], Meaning]) -> None:
        """The function's loop takes `blocks` blocks in a turn."""
        self.image, self.meaning = image, meaning
        own = meaning()
        self.left = _choices(own, blocks)
        self.most = MOST_OF_POWER if EXPONENT in own.numbers else MOST_STEPS
        self.steps = self.row = 0
        self.unfollowed: Refutation | None = None
        """Of the first run that was not followed."""

    def go_on(self, steps: int) -> None:
        """Run until so many instructions have been taken since the first run.

        Raises:
            Refutation: the function is wrong.
        """
        while self.steps <= steps and self.row < MOST_UNFOLLOWED:
            if (numbers := next(self.left, None)) is None:
                return
            try:
                self.steps += run_at(self.image, self.meaning, numbers, self.most).steps
                self.row = 0
            except Refutation as error:
                if error.category is not Category.UNSUPPORTED:
                    raise
                self.unfollowed, self.row = self.unfollowed or error, self.row + 1


def _choices(meaning: Meaning, blocks: int) -> Iterator[dict[str, int]]:
    if EXPONENT in meaning.numbers:
        yield from ({EXPONENT: n} for n in EXPONENTS)
        return
    taken = next((n for n in TAKEN if n in meaning.numbers), None)
    if taken != LENGTH:
        turns = lcm(*(len(USUAL[n]) for n in meaning.numbers if n in USUAL))
        yield from (others(meaning, turn) for turn in range(turns))
    if taken is not None:
        longer = (turns * blocks * BLOCK_BYTES + extra for turns, extra in LONGER)
        lengths = *telling_lengths(blocks), *longer, *LENGTHS
        for turn, length in enumerate(dict.fromkeys(lengths)):
            if length % meaning.multiple == 0:
                yield others(meaning, turn) | {taken: length // meaning.multiple}


def telling_lengths(blocks: int) -> list[int]:
    """Return lengths in bytes on both sides of every boundary of the control flow."""
    group = blocks * BLOCK_BYTES
    around = (0, BLOCK_BYTES, group, group + BLOCK_BYTES, 2 * group)
    lengths = {base + extra for base in around for extra in (0, 3, 7, 13)}
    return sorted(lengths | {max(0, base - 1) for base in around})
