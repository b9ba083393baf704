"""What is hashed, and the equation that says how far: X(d)·H^k is a sum of values times powers.

X(d) is the state after the first d bytes of what is hashed: X(0) is the state on entry, and
X(d + 16) = (X(d) + C_d)·H for the block C_d at d (SP 800-38D, 6.4). What is hashed may lie in
several buffers, each padded with zeros to whole blocks; d is then a buffer and a place in it.
Kernels hold X as a sum, one value a lane or an accumulator, each some powers of H behind; k says
how many powers of H the whole sum is ahead. H may be 0, so X(d) is not known from X(d)·H^k, but X
of k blocks later is.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.linear import Fork
from ghashgen.verify.core.numbers import Number, combined, parse, unknown, within
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import MASK128, RAW, Lane
from ghashgen.verify.core.values import Linear
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.meaning.algebra import Sum
from ghashgen.verify.meaning.letters import STATE
from ghashgen.verify.meaning.names import Names, Partial, raised
from ghashgen.verify.rules.assertion import require_known
from ghashgen.verify.rules.state import Arrival, State

MOST_BLOCKS = 1 << 12
"""So many blocks from one assertion to the next, or to the end, and no more."""

Sums = tuple[tuple[str, int], ...]
"""Values, each with a power of H."""

First = Sums | Callable[[State], Sums]
"""The same, or what says so of a state."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of one buffer, `apart` bytes from one to the next, and their variables' letter."""

    letter: str
    buffer: str
    apart: int = BLOCK_BYTES

    def name(self, at: Number) -> str:
        """Return the variable that is the register of the block at a place."""
        return f"{self.letter}{at}"


def size_of(memory: Memory, buffer: str) -> Number:
    """Return the bytes of a buffer."""
    return memory.regions[buffer].size


def content(names: Names, blocks: Blocks, memory: Memory, at: Number) -> Lane | None:
    """Return 16 bytes of a buffer as they stand in memory at first; None where there are none.

    Raises:
        Fork: whether they are a whole block depends on the unknowns.
    """
    if within(at, blocks.apart) != 0:
        return None
    partial, moves = block_at(blocks, memory, at), names.algebra.memory
    if partial.mask == MASK128:
        return names.terms.moves(names.terms.variable(partial.block), moves)
    if partial.mask <= 0:
        return None
    names.partials |= {partial}
    return names.terms.moves(names.terms.variable(partial.bytes, RAW), moves)


def block_at(blocks: Blocks, memory: Memory, at: Number) -> Partial:
    """Return the block at a place, and which of its bytes there are.

    Raises:
        Fork, Refutation: that depends on the unknowns.
    """
    region, facts = memory.regions[blocks.buffer], memory.facts

    def missing(n: Number) -> int:
        """Return how many bytes there are not, n being that or negative."""
        none = facts.negative(combined(n, 1, -1), "a block, whole or not")
        return 0 if none else min(facts.known(n), BLOCK_BYTES)

    end = combined(at, BLOCK_BYTES)
    before = missing(combined(region.low, at, -1))
    behind = missing(combined(end, size_of(memory, blocks.buffer), -1))
    return Partial(blocks.name(at), before, BLOCK_BYTES - behind)


def partials(blocks: Blocks, memory: Memory) -> Iterator[Partial]:
    """Yield the first and the last block of a buffer, where they are partial and that is known."""
    region = memory.regions[blocks.buffer]
    for edge in (region.low, size_of(memory, blocks.buffer)):
        if inside := within(edge, BLOCK_BYTES):
            with suppress(Refutation, Fork):
                yield block_at(blocks, memory, combined(edge, inside, -1))


@dataclass
class Hashing:
    """What is hashed, buffer after buffer, and how the ghosts of one state are called."""

    names: Names
    order: tuple[Blocks, ...]
    name: str = "x"
    first: First = ((STATE, 0),)
    """The state on entry."""
    ends: Mapping[str, str] = field(default_factory=dict)
    """The number that is the length of a buffer: a state may stand at its end, within a block."""
    start: str = ""
    """The number that says where what is hashed begins, if not at 0: it goes on then, and may go
    on again. In a block that has begun, X has its bytes, and is not multiplied until it is full."""
    keys: tuple[str, str, str, str] = field(init=False)

    def __post_init__(self) -> None:
        of, hashed, ahead, items = (f"{self.name}.{k}" for k in ("of", "hashed", "ahead", "sum"))
        self.keys = of, hashed, ahead, items

    def begin(self) -> dict[str, Any]:
        """Return the ghosts at the entry: nothing is hashed, and the sum is the state."""
        at = unknown(self.start) if self.start else 0
        return dict(zip(self.keys, (0, at, 0, self.first), strict=True))

    def ghosts(self, data: object, unknowns: Mapping[str, object]) -> dict[str, Any]:
        """Return the ghosts of an assertion, or none of them for None.

        {"of": buffer, "hashed": bytes of it, "ahead": k, "sum": [[value, power], …]}

        Raises:
            Refutation: they are of another form.
        """
        match data:
            case None:
                return {}
            case {
                "of": str(buffer), "hashed": str(text), "ahead": int(ahead), "sum": list(items),
                **rest,
            } if not rest:  # fmt: skip
                numbers = [k for k, one in enumerate(self.order) if one.buffer == buffer]
                hashed = parse(text)
                require_known(hashed, unknowns, "hashed")
                if len(numbers) != 1 or ahead < 0:
                    raise unsupported(f"a state of {buffer}, or one that is behind")
                blocks = self.order[numbers[0]]
                if within(hashed, blocks.apart) != 0 and text != self.ends.get(buffer):
                    raise unsupported("a state within a block")
                values = numbers[0], hashed, ahead, tuple(map(_item, items))
                return dict(zip(self.keys, values, strict=True))
        raise unsupported(f"no ghosts of a hash: {data!r}")

    def position(self, ghosts: Mapping[str, Any]) -> tuple[int, Number, int, First]:
        """Return the buffer's number, the place in it, k, and the sum.

        Raises:
            Refutation: the state is not known.
        """
        if self.keys[0] not in ghosts:
            raise unsupported("a state of which nothing is known")
        of, hashed, ahead, items = (ghosts[key] for key in self.keys)
        return of, hashed, ahead, items

    def unfolded(self, state: State, of: int, to: Number, ahead: int) -> Sum:
        """Return X(to)·H^ahead, to in buffer `of`, by what the state's ghosts say of X.

        Raises:
            Fork: how many blocks are between depends on the unknowns.
            Refutation: nothing is known of it.
        """
        now, at, before, items = self.position(state.ghosts)
        names: list[str] = []
        while now < of:
            names += self._between(state, now, at, size_of(state.memory, self.order[now].buffer))
            now, at = now + 1, 0
        if now > of:
            raise unsupported("a state of what is hashed already")
        names += self._between(state, now, at, to)
        # A block that is not full is not multiplied yet.
        full = len(names) - bool(self.start and names and within(to, BLOCK_BYTES))
        more = full + ahead - before
        if more < 0 or ahead < 0:
            raise unsupported(f"X at {to}, of X {before} powers ahead at {at}")
        return _sum_of(items, state, more) ^ {
            (name, full - k + ahead) for k, name in enumerate(names)
        }

    def _between(self, state: State, of: int, at: Number, to: Number) -> list[str]:
        distance, blocks = combined(to, at, -1), self.order[of]
        if self.start and distance != 0:
            at = combined(at, state.facts.low_bits(at, 4), -1)
            state.facts.low_bits(to, 4)
            distance = combined(to, at, -1)
        if isinstance(distance, Linear):
            # The last block may be partial: how many there are may be known before its length is.
            least, most = state.facts.least(distance), state.facts.greatest(distance)
            if least < 0 or -(-least // blocks.apart) != -(-most // blocks.apart):
                state.facts.known(distance)
            distance = most
        if not 0 <= distance <= MOST_BLOCKS * blocks.apart:
            raise unsupported(f"X at {to} of {blocks.buffer}, of X at {at}")
        return [blocks.name(combined(at, k)) for k in range(0, distance, blocks.apart)]

    def instance(self, arrival: Arrival) -> None:
        """Check an assertion's equation: its values, times their powers, are what X unfolds to."""
        if self.keys[0] not in arrival.to:
            return
        state, where = arrival.state, arrival.where
        of, hashed, ahead, items = (arrival.to[key] for key in self.keys)
        size = size_of(state.memory, self.order[of].buffer)
        if not state.facts.shows(combined(size, hashed, -1)):
            raise unsupported(where + "hashed beyond the end")
        total: Sum = frozenset()
        for name, power in items:
            found = self.names.recognised(self.names.named(arrival.value(name)))
            if found is None:
                raise Refutation(Category.FUNCTION, where + f"{name} is no sum of powers of H")
            total ^= raised(found, power)
        if total != self.unfolded(state, of, hashed, ahead):
            raise Refutation(Category.FUNCTION, where + f"the values do not make up X({hashed})")

    def at_end(self, state: State) -> Sum:
        """Return X after all that is hashed."""
        if not self.order:
            return _sum_of(self.first, state, 0)
        last = len(self.order) - 1
        return self.unfolded(state, last, size_of(state.memory, self.order[last].buffer), 0)


def _item(data: object) -> tuple[str, int]:
    match data:
        case [str(name), int(power)] if power >= 0:
            return f"u{name}", power
    raise unsupported(f"no part of a sum: {data!r}")


def _sum_of(items: First, state: State, more: int) -> Sum:
    """Return a sum times a power of H; a part that stands in it twice is none."""
    out: Sum = frozenset()
    for name, power in items(state) if callable(items) else items:
        out ^= {(name, power + more)}
    return out
