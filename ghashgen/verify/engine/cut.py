"""Cut the data path at a loop: forget everything that depends on how the run arrived.

A cut keeps a whitelist by kind of value and by place (`verify.engine.keeping`), and the values that
the function's meaning names (`verify.engine.family.Kept`). For a hash these are its accumulators
and functions of input still to be absorbed. Each means the same however the run arrived. Everything
else is forgotten, including the last partial block's bytes; of a flag only a known bit is kept.
Forgotten values stay as secret as they were. From there on nothing depends on how the run arrived,
so a proof from an equal machine state holds again.

A buffer is consumed piece by piece, and a pointer into it counts from the start of the rest. So it
moves at a cut, in registers and on the stack (`move_pointers`). A pointer in any other place is
forgotten.
"""

from collections.abc import Callable, Container, Iterable, Mapping

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.term import DATA, OPAQUE, RAW, Lane, Term, secret
from ghashgen.verify.core.values import Affine, Linear, Number, Pointer, Value, shift_number
from ghashgen.verify.engine.family import Buffer, E, Entry, Kept, Meaning
from ghashgen.verify.engine.keeping import NUMBERS, Place, kept, kind_of
from ghashgen.verify.machine.flags import forgotten
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import STACK
from ghashgen.verify.machine.regions import Access
from ghashgen.verify.machine.target import FLAGS, MASK, VECTOR
from ghashgen.verify.x86_64.flow import Flow
from ghashgen.verify.x86_64.machine import RSP

CELL_BYTES = 16

Key = tuple[object, ...]

STALE = "data from before a loop's cut"
LEFT = "a register that no longer matters"
MISPLACED = "an address or a length that stands in a buffer where a loop is cut"


def live_lanes(entry: E, live: frozenset[int]) -> list[Term]:
    """Return the distinct live vector lanes that depend on data."""
    out: dict[Term, None] = {}
    for number in sorted(live):
        if VECTOR <= number < MASK:
            for lane in entry.machine.vec[number - VECTOR]:
                if isinstance(lane, Term) and lane.deps & DATA and not lane.deps & OPAQUE:
                    out[lane] = None
    return list(out)


def stored(entry: E) -> list[Term]:
    """Return the values that depend on data on the stack and in other written memory."""
    return [v for v in _values(entry) if isinstance(v, Term) and v.deps & DATA]


def _values(entry: Entry) -> Iterable[Value]:
    """Return the values whose bytes have been written anywhere, each object once."""
    contents = entry.machine.memory.written.values()
    return {id(v): v for content in contents for v, _ in content.values()}.values()


def cut(entry: E, meaning: Meaning[E], flow: Flow, address: int) -> Key | None:
    """Cut at an address and return a key that determines the rest of the run.

    Returns None, and changes nothing, if the live values are not of the permitted kinds.
    """
    live = entry.live = flow.live.get(address, frozenset())
    if address in flow.meetings and _in_work(entry, live):
        return None
    kept = meaning.carried(entry, live_lanes(entry, live))
    if kept is None:
        return None
    for number, values in kept.steady.items():
        if number in entry.held:
            # Once only: a value that equals the total now need not equal its replacement later.
            continue
        turned = flow.turned.get(address, frozenset())
        ended = bool(turned) and kept.done.get(number) == entry.numbers[number]
        _hold(entry, meaning, number, values, turned, ended)
    for number, amount in kept.done.items():
        _advance(entry, meaning, number, amount)
    forget(entry, meaning, flow, address, kept)
    return cut_key(entry, meaning, address)


def _in_work(entry: Entry, live: frozenset[int]) -> bool:
    """Return whether bytes of a last block, or secrets in general registers, are still needed."""
    m = entry.machine
    lanes = (lane for number in live if VECTOR <= number < MASK for lane in m.vec[number - VECTOR])
    raw = (v for v in (*lanes, *_values(entry)) if isinstance(v, Term) and v.deps & RAW)
    return any(raw) or any(secret(m.gpr[number]) for number in live if number < VECTOR)


def least(number: Number) -> int:
    """Return the least value of a number."""
    return number if isinstance(number, int) else number.least


def of_length(meaning: Meaning[E], number: str) -> set[str]:
    """Return the buffers of this length."""
    return {
        name
        for name, parameter in meaning.parameters.items()
        if isinstance(parameter, Buffer) and parameter.size == number and parameter.at is None
    }


def _hold(
    entry: E,
    meaning: Meaning[E],
    number: str,
    values: Mapping[Value, Value],
    turned: frozenset[int],
    ended: bool,
) -> None:
    """Replace a total, or the beginning of a buffer, by an unknown.

    The unknown can have any value that the other may have, so this only generalises. It is done
    where a loop may have advanced in the buffer, or where the buffer beside it is used up.
    """
    m, buffers = entry.machine, of_length(meaning, number)
    pointers = (value for k, value in enumerate(m.gpr) if k in turned)
    moved = any(isinstance(value, Pointer) and value.region in buffers for value in pointers)
    if not (moved or ended):
        return
    entry.held |= {number}
    put_in_place(m, values, entry.live - turned)


def put_in_place(m: Machine, values: Mapping[Value, Value], registers: Container[int]) -> None:
    """Replace numbers and pointers in these registers and the frame.

    The arguments on the stack stay.
    """
    for k, value in enumerate(m.gpr):
        if k in registers and not isinstance(value, Term):
            m.gpr[k] = values.get(value, value)
    # Bytes of one stored value stay one object.
    stack, same = m.memory.written[STACK], dict[int, Value]()
    for offset, (value, k) in list(stack.items()):
        if offset < 0 and not isinstance(value, Term):
            stack[offset] = (same.setdefault(id(value), values.get(value, value)), k)


def _advance(entry: E, meaning: Meaning[E], number: str, amount: int) -> None:
    """Let every buffer of this length begin after its consumed part."""
    m = entry.machine
    if amount > least(entry.numbers[number]):
        raise unsupported(f"a cut beyond the end of {number}")
    entry.numbers[number] = shift_number(entry.numbers[number], -amount)
    names = of_length(meaning, number)
    for name in names:
        region, written = m.memory.regions[name], m.memory.written[name]
        if region.access is not Access.READ:
            if any(k not in written for k in range(amount)):
                raise unsupported(f"{name} is not written as far as {number} is dealt with")
            m.memory.written[name] = {k - amount: v for k, v in written.items() if k >= amount}
        region.size = entry.numbers[number]

    move_pointers(m, names, amount)


def move_pointers(m: Machine, names: Container[str], amount: int) -> None:
    """Let pointers into some buffers, in registers and on the stack, count from `amount` further
    on.
    """

    def moved(value: Value) -> Value:
        if isinstance(value, Pointer) and value.region in names:
            assert not isinstance(value.offset, Linear)
            return Pointer(value.region, shift_number(value.offset, -amount))
        return value

    for index, value in enumerate(m.gpr):
        m.gpr[index] = moved(value)
    stack = m.memory.written[STACK]
    # Bytes of one stored value must stay one object, or they no longer load as a pointer.
    same: dict[int, Value] = {}
    for offset, (value, k) in list(stack.items()):
        stack[offset] = (same.setdefault(id(value), moved(value)), k)


def forget(entry: E, meaning: Meaning[E], flow: Flow, address: int, names: Kept) -> None:
    """Keep what `keeping` permits, under the meaning's names."""
    meaning.terms.at = 0
    _forget_registers(entry, meaning, flow, address, names)
    _forget_memory(entry, meaning, names)


def _forget_registers(entry: E, meaning: Meaning[E], flow: Flow, address: int, names: Kept) -> None:
    live, loaded = entry.live, flow.loaded.get(address, frozenset())
    m, terms = entry.machine, meaning.terms
    stale, left = terms.lost(STALE, True), terms.lost(LEFT, False)
    stale_number, left_number = terms.lost(STALE, True, 64), terms.lost(LEFT, False, 64)
    for number in range(16):
        value = m.gpr[number]
        alive = number in live or number == RSP
        if not alive or kept(value, Place.REGISTER, {}) is None:
            # As with lanes below: another path here may have brought data.
            data = secret(value) or number in loaded
            m.gpr[number] = stale_number if data else left_number
    for index, lanes in enumerate(m.vec):
        number = VECTOR + index
        out: list[Lane] = []
        for k, lane in enumerate(lanes):
            after = kept(lane, Place.VECTOR, names.vectors) if number in live else None
            if after is None:
                # A place that the code writes anywhere may hold data on another path here.
                written = number in (flow.upper_written if k else flow.written)
                after = stale if written or secret(lane) else left
            assert isinstance(after, int | Term)
            out.append(after)
        m.vec[index] = tuple(out)
    for k, value in enumerate(m.mask):
        if MASK + k not in live or kept(value, Place.MASK, {}) is None:
            m.mask[k] = stale_number if secret(value) else left_number
    m.flags = forgotten(m.flags, FLAGS in live)


def _forget_memory(entry: E, meaning: Meaning[E], names: Kept) -> None:
    m, terms = entry.machine, meaning.terms
    stale, left = terms.lost(STALE, True), terms.lost(LEFT, False)
    misplaced = terms.lost(MISPLACED, False)
    moving = {
        name
        for name, parameter in meaning.parameters.items()
        if isinstance(parameter, Buffer) and isinstance(parameter.size, str)
    }

    def after(value: Value, place: Place) -> Value:
        found = kept(value, place, names.memory)
        if found is None:
            unplaced = place is Place.BUFFER and isinstance(value, Affine | Pointer)
            return stale if secret(value) else misplaced if unplaced else left
        # The beginning of a buffer, passed on the stack: a register holds the rest's.
        gone = isinstance(found, Pointer) and place is Place.ARGUMENT and found.region in moving
        return left if gone else found

    for name, content in m.memory.written.items():
        numbers = names.numbers.get(name, range(0))
        # Bytes of one stored value stay one object, and are judged once.
        judged: dict[tuple[int, Place], Value] = {}
        for offset, (value, k) in list(content.items()):
            if offset in numbers and kind_of(value) in NUMBERS:
                continue
            place = Place.BUFFER if name != STACK else Place.FRAME
            if place is Place.FRAME and offset in entry.arguments:
                place = Place.ARGUMENT
            key = (id(value), place)
            if key not in judged:
                judged[key] = after(value, place)
            if judged[key] is not value:
                content[offset] = (judged[key], k)
    for name, cell in names.buffers.items():
        content = m.memory.written[name]
        for k in range(CELL_BYTES):
            content[k] = (stale if cell is None else cell, k)
    for name, lost_bytes in names.lost.items():
        content = m.memory.written[name]
        for k in lost_bytes:
            content.setdefault(k, (stale, k))


def cut_key(entry: E, meaning: Meaning[E], address: int) -> Key:
    """Return everything that the rest of a run depends on."""
    m = entry.machine
    written = tuple(
        (name, tuple((offset, *content[offset]) for offset in sorted(content)))
        for name, content in m.memory.written.items()
        if m.memory.regions[name].access is not Access.READ
    )
    return (
        address,
        tuple(m.gpr),
        tuple(m.vec),
        tuple(m.mask),
        m.flags,
        written,
        tuple(entry.numbers.items()),
        entry.held,
        meaning.key(entry),
        m.upper_dirty,
        tuple(m.memory.returns),
        m.memory.touched,
    )


_WITH_LENGTHS = (tuple, Affine, Pointer)
"""The parts of a key that may contain a length."""


def with_numbers(key: object, unknown: str, number: Callable[[Affine], Number]) -> object:
    """Return a key with `number(a)` in the place of every a that has this unknown."""
    if isinstance(key, Affine):
        return number(key) if key.unknown == unknown else key
    if isinstance(key, Pointer):
        offset = with_numbers(key.offset, unknown, number)
        assert isinstance(offset, int | Affine)
        return Pointer(key.region, offset)
    if isinstance(key, tuple):
        # Most parts are lanes and numbers, which contain none.
        return tuple(
            [
                with_numbers(part, unknown, number) if isinstance(part, _WITH_LENGTHS) else part
                for part in key
            ]
        )
    return key


def unknowns(key: object) -> frozenset[str]:
    """Return the names of the unknowns in a key's numbers."""
    match key:
        case Affine():
            return frozenset({key.unknown})
        case Pointer():
            return unknowns(key.offset)
        case tuple():
            return frozenset().union(*map(unknowns, key))
    return frozenset()
