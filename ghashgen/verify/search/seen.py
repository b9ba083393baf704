"""What a state holds at an address, and what of it others have to have in common with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.numbers import Number, combined, parse, parts, within
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import CALLER, OPAQUE, RAW, Term
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError
from ghashgen.verify.meaning.counters import BASE
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hashing import Hashing, size_of
from ghashgen.verify.meaning.letters import COUNTER, IV
from ghashgen.verify.rules.assertion import registers
from ghashgen.verify.rules.state import State
from ghashgen.verify.search.values import FILES
from ghashgen.verify.search.variables import Variables

STATES = frozenset("XuZ")
"""The letters of variables that have blocks in them."""


@dataclass
class Seen:
    """What a state holds at an address, in the words of an assertion where there are any."""

    state: State
    values: dict[str, Any] = field(default_factory=dict)
    """Registers that will be read, and what they hold."""
    kinds: list[Any] = field(default_factory=list)
    """What is the same of states that hold the same in the same words."""
    base: Number | None = None
    """The first block that a register holds."""
    hashed: tuple[int, Number] | None = None
    """Up to where is hashed: the number of the buffer, and the place in it."""
    ended: bool = False
    """Whether all is hashed."""
    written: Number = 0
    """Up to where the output is written."""
    sums: dict[str, int] = field(default_factory=dict)
    """Registers that hold the state, and by how many powers of H it is behind."""


class Sight:
    """Looks at states of one function; with `zeros`, a number that is 0 is unlike any other."""

    def __init__(self, meaning: Function, hashing: Hashing, zeros: bool = False) -> None:
        self.meaning, self.hashing, self.zeros = meaning, hashing, zeros
        self.variables = Variables(meaning.terms)
        self.letters = frozenset(b.letter for b in meaning.blocks)

    def seen(self, state: State, live: frozenset[int]) -> Seen | None:
        """Return what a state holds where some registers will be read; None: it cannot be said."""
        meaning, seen = self.meaning, Seen(state)
        meaning.entering(state)
        begun: list[str] = []
        blocks: list[tuple[str, Number]] = []
        for name, place in registers(state.machine.target).items():
            number = FILES[place.file] + place.index
            if number not in live and number != state.machine.target.stack_pointer:
                continue
            v = place.of(state.machine)
            if isinstance(v, Term) and not v.deps & (OPAQUE | CALLER):
                v = meaning.canonical(v)
            seen.values[name] = v
            if _is_said(v):
                found = self._leaves(v)
                letters = {name[0] for name in found}
                hashed = letters & self.letters and self.meaning.names.has_product(v)
                if letters & STATES or hashed:
                    begun.append(name)
                else:
                    blocks += [(name, parse(n[1:])) for n in found if n[0] in self.letters]
        places = [at for _, at in blocks]
        if any(u not in state.facts.ranges for at in places for u, _ in parts(at)[1]):
            return None
        seen.base = _first(places)
        seen.written = self._written(state)
        if not begun and not any(_is_said(v) for v in seen.values.values()):
            # All that cases have in common is their way out: what refuses them would be forgotten.
            return None
        if begun and not self._find_hashed(seen, begun):
            return None
        for name, v in seen.values.items():
            seen.kinds.append(self._kind(seen, name, v))
        of = seen.hashed[0] if seen.hashed else None
        # A block at a place that is one of a few would keep its name where the place becomes known.
        seen.kinds.append(seen.base if isinstance(seen.base, int) else None)
        seen.kinds += [of, within(seen.written, BLOCK_BYTES) == 0, state.ghosts.get(BASE) is None]
        return seen

    def _leaves(self, term: Term) -> set[str]:
        """Return the names of the variables that a term is made of, in the end."""
        out: set[str] = set()
        work = list(self.variables.of(term))
        while work:
            name = work.pop()
            if name in self.meaning.names.defined:
                work += [v for v, _ in self.meaning.names.defined[name]]
            else:
                out.add(name)
        return out

    def _written(self, state: State) -> Number:
        """Return up to where the output is written."""
        for name, output in self.meaning.outputs.items():
            written = state.memory.written[name]
            if written:
                return combined(state.memory.place(max(written)), 1)
            done: Number = state.ghosts[output.name]
            return done
        return 0

    def _find_hashed(self, seen: Seen, begun: list[str]) -> bool:
        """Find up to where the registers that hold a state have hashed."""
        state, hashing, names = seen.state, self.hashing, self.meaning.names
        sums = {}
        for name in begun:
            found = names.recognised(names.named(seen.values[name]))
            if found is None:
                return False
            sums[name] = found
        last = len(hashing.order) - 1
        end = last, size_of(state.memory, hashing.order[last].buffer)
        for of, at in (end, *self._candidates(seen)):
            try:
                wanted = hashing.unfolded(state, of, at, 0)
            except (Refutation, UndecidedError):
                continue
            behind = {
                name: power
                for name, found in sums.items()
                for power in (0, 1)
                if {(n, m + power) for n, m in found} == wanted
            }
            if len(behind) == len(sums):
                seen.hashed, seen.sums = (of, at), behind
                seen.ended = seen.ended or (of, at) == end
                if (of, at) != end:
                    break
        return seen.hashed is not None

    def _candidates(self, seen: Seen) -> list[tuple[int, Number]]:
        state, order = seen.state, self.hashing.order
        now = self.hashing.position(state.ghosts)
        out: list[tuple[int, Number]] = [(now[0], now[1])]
        for of in range(now[0], len(order)):
            if of > now[0]:
                out.append((of, 0))
            regions = {order[of].buffer, *(self.meaning.outputs if of == len(order) - 1 else ())}
            for v in seen.values.values():
                if isinstance(v, Pointer) and v.region in regions:
                    at: Any = v.offset
                    if within(at, order[of].apart) == 0:
                        out.append((of, at))
        last = len(order) - 1
        # Blocks that wait in registers are hashed later: X stands at the first of them.
        for place in (seen.base, seen.written):
            if place is not None and within(place, order[last].apart) == 0:
                out.append((last, place))
        return list(dict.fromkeys(out))

    def _kind(self, seen: Seen, name: str, v: Any) -> Any:
        """Return what values have to have in common to be said in the same words."""
        if name in seen.sums:
            return "state", seen.sums[name]
        match v:
            case Pointer():
                return v.region
            case Linear():
                return "number"
            case int():
                wide = registers(seen.state.machine.target)[name].bits == 128
                return v if wide or (self.zeros and not v) else "number"
            case Term() if v.deps & (OPAQUE | CALLER | RAW):
                return "?" if v.op == "opaque" else v
        return self._shape(seen, v)

    def _shape(self, seen: Seen, v: Any) -> Any:
        """Return how a term is made, its blocks relative to the first one."""
        if not isinstance(v, Term):
            return v
        names = self.variables.of(v)
        if not any(n[0] in self.letters for n in names):
            return "counter" if not names.isdisjoint((IV, COUNTER)) else v
        if v.op == "var":
            at = parse(v.args[0][1:])  # type: ignore[index]
            return v.args[0][0], str(combined(at, seen.base or 0, -1))  # type: ignore[index]
        if v.op == "xor":
            return frozenset(self._shape(seen, a) for a in v.args)
        return (v.op, *(self._shape(seen, a) if isinstance(a, Term) else a for a in v.args))


def _is_said(v: object) -> TypeGuard[Term]:
    """Return whether a value is a term that an assertion may have words for."""
    return isinstance(v, Term) and not v.deps & (OPAQUE | CALLER | RAW)


def _first(places: Sequence[Number]) -> Number | None:
    out: Number | None = None
    for at in places:
        distance = 1 if out is None else combined(out, at, -1)
        if not isinstance(distance, int):
            return out
        if distance > 0:
            out = at
    return out
