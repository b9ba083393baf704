"""Linear maps of a lane (`ghashgen.algebra.ops.forms.Moves`), and their application to numbers."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from operator import or_, xor

from ghashgen.algebra.ops.forms import VAR_BITS, Moves, set_bits


class _Hashed(tuple[tuple[int, int], ...]):
    """Moves whose hash is computed once: it is asked for with every term that is looked up."""

    hashed: int

    def __hash__(self) -> int:
        return self.hashed


def _hashed(keeps: Mapping[int, int]) -> Moves:
    out = _Hashed(sorted(keeps.items()))
    out.hashed = hash(tuple(out))
    return out


def _moved(value: int, moves: Moves) -> Iterator[int]:
    return ((value << shift if shift >= 0 else value >> -shift) & keep for shift, keep in moves)


@cache
def apply_moves(value: int, moves: Moves) -> int:
    """Return the moved bits of a constant."""
    return reduce(xor, _moved(value, moves), 0)


@cache
def moved_mask(mask: int, moves: Moves) -> int:
    """Return the bits of the result that may be 1 if those of `mask` may be 1."""
    return reduce(or_, _moved(mask, moves), 0)


def moves_of(function: Callable[[int], int]) -> Moves:
    """Return a linear function on 128 bits as moves, from its values on the 128 unit vectors."""
    keeps: dict[int, int] = {}
    for i in range(VAR_BITS):
        for k in set_bits(function(1 << i)):
            keeps[k - i] = keeps.get(k - i, 0) | 1 << k
    return _hashed(keeps)


@cache
def byte_moves(sources: tuple[int, ...]) -> Moves:
    """Return the map whose byte k is byte `sources[k]` of the operand, or zero if that is -1."""
    keeps: dict[int, int] = {}
    for k, source in enumerate(sources):
        if source >= 0:
            shift = 8 * (k - source)
            keeps[shift] = keeps.get(shift, 0) | 0xFF << 8 * k
    return _hashed(keeps)


@cache
def rows_present(packed: int) -> int:
    """Return the bits that depend on a variable, from the packed rows of a linear form."""
    row = (1 << VAR_BITS) - 1
    return sum(1 << k for k in range(VAR_BITS) if packed >> k * VAR_BITS & row)
