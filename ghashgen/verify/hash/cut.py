"""Cutting the data path: at a loop, replace the accumulator by a fresh state.

What is kept at a cut is a whitelist (`_kept`), for registers, masks and every byte of memory alike:
a number, a pointer, what the caller left, a function of the table alone, the accumulators, and
functions of input that is still to be absorbed (`ghashgen.verify.hash.ahead`). Each means the same
however the run arrived. The accumulators are values that the specification names (a state, or a
block waiting to be absorbed) and become fresh variables Y0, Y1, …, each with the number of blocks
absorbed before it; a function of the input ahead stays what it is, with its blocks counted from the
new position. Everything else is forgotten, the last partial block's bytes too, and of a flag only a
known bit is kept. What is forgotten stays as secret as it was. From there on nothing depends on how
the run arrived, so what was proved from an equal machine state holds again.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.term import DATA, OPAQUE, Lane, Term, of_table, secret
from ghashgen.verify.core.values import Affine, Pointer, Value, shift_number
from ghashgen.verify.hash.ahead import ahead_of_state, renamed
from ghashgen.verify.hash.naming import Naming
from ghashgen.verify.hash.setup import Entry
from ghashgen.verify.x86_64.flags import forgotten
from ghashgen.verify.x86_64.flow import FLAGS, MASK, VECTOR, Flow
from ghashgen.verify.x86_64.machine import RSP
from ghashgen.verify.x86_64.memory import STACK

STALE = "data from before a loop's cut"
LEFT = "a register that no longer matters"


def absorbed_by(
    naming: Naming, parts: Sequence[Mapping[str, int]], weights: Mapping[str, int]
) -> tuple[int, list[int]] | None:
    """Return (blocks absorbed, blocks absorbed before each part) if the parts make up the state.

    Every part is {v: m}, the value Σ v·H^m. Together they must hold every state and the blocks
    1..b, each once, and all contributions of a part must be equally far behind.
    """
    seen: list[str] = []
    positions: list[int] = []
    for part in parts:
        found = set()
        for name, exponent in part.items():
            at = naming.position(name, weights)
            if at is None:
                return None
            found.add(at + exponent)
            seen += naming.leaves(name)
        if len(found) != 1:
            return None
        positions.append(found.pop())
    blocks = sorted(int(name[1:]) for name in seen if name[0] == "C")
    states = sorted(name for name in seen if name[0] != "C")
    if blocks != list(range(1, len(blocks) + 1)) or states != sorted(weights):
        return None
    return len(blocks), positions


def live_lanes(entry: Entry, live: frozenset[int]) -> list[Term]:
    """Return the distinct live vector lanes that depend on data."""
    out: dict[Term, None] = {}
    for number in sorted(live):
        if VECTOR <= number < MASK:
            for lane in entry.machine.vec[number - VECTOR]:
                if isinstance(lane, Term) and lane.deps & DATA and not lane.deps & OPAQUE:
                    out[lane] = None
    return list(out)


def cut(entry: Entry, naming: Naming, flow: Flow, address: int) -> tuple[object, ...] | None:
    """Cut at an address and return a key that determines the rest of the run.

    Returns None, and changes nothing, if the live values are not of the permitted kinds.
    """
    live = flow.live.get(address, frozenset())
    lanes = live_lanes(entry, live)
    carried: list[Term] = []
    made_up = _made_up(entry, naming, lanes)
    if made_up is None:
        carried = ahead_of_state(naming.variables, lanes)
        lanes = [lane for lane in lanes if lane not in carried]
        made_up = _made_up(entry, naming, lanes) if carried else None
    if made_up is None:
        return None
    blocks, positions = made_up
    fresh = {f"Y{k}": at - blocks for k, at in enumerate(positions)}
    names = dict(zip(lanes, fresh, strict=False))
    length = _least(entry)
    if BLOCK_BYTES * blocks > length:
        return None
    kept = {
        value: lane
        for value in (*carried, *_stacked(entry))
        if (lane := renamed(naming.terms, naming.variables, value, blocks, length)) is not None
    }
    if any(lane not in kept for lane in carried):
        return None
    entry.weights = fresh
    _rebase(entry, BLOCK_BYTES * blocks)
    forget(entry, naming, flow, live, names, kept)
    return cut_key(entry, address)


def _made_up(entry: Entry, naming: Naming, lanes: Sequence[Term]) -> tuple[int, list[int]] | None:
    """Return `absorbed_by` of live lanes; without any, of the state's place in memory."""
    if lanes:
        meanings = [naming.recognise(lane) for lane in lanes]
    else:
        state = entry.machine.memory.load(Pointer("state", 0), BLOCK_BYTES)
        meanings = [naming.recognise_block(state) if isinstance(state, Term) else None]
    parts = [meaning for meaning in meanings if meaning is not None]
    if len(parts) < len(meanings):
        return None
    return absorbed_by(naming, parts, entry.weights)


def _least(entry: Entry) -> int:
    return entry.length if isinstance(entry.length, int) else entry.length.least


def _stacked(entry: Entry) -> list[Term]:
    """Return the values on the stack that depend on data."""
    values = (value for value, _ in entry.machine.memory.written[STACK].values())
    return list(dict.fromkeys(v for v in values if isinstance(v, Term) and v.deps & DATA))


def _rebase(entry: Entry, amount: int) -> None:
    """Let the input start after what has been absorbed."""
    m = entry.machine
    entry.length = shift_number(entry.length, -amount)
    entry.absorbed += amount
    m.memory.regions["input"].size = entry.length

    def moved(value: Value) -> Value:
        if isinstance(value, Pointer) and value.region == "input":
            return Pointer("input", shift_number(value.offset, -amount))
        return value

    for number, value in enumerate(m.gpr):
        m.gpr[number] = moved(value)
    stack = m.memory.written[STACK]
    # Bytes of one stored value must stay one object, or they no longer load as a pointer.
    same: dict[int, Value] = {}
    for offset, (value, k) in list(stack.items()):
        stack[offset] = (same.setdefault(id(value), moved(value)), k)


def _kept(value: Value, renamed: Mapping[Term, Lane]) -> Value | None:
    """Return what a value is after the cut, None if it means nothing there."""
    if isinstance(value, int | Affine | Pointer):
        return value
    if value in renamed:
        return renamed[value]
    return value if value.op == "caller" or of_table(value) else None


def forget(
    entry: Entry,
    naming: Naming,
    flow: Flow,
    live: frozenset[int],
    names: Mapping[Term, str],
    ahead: Mapping[Term, Lane],
) -> None:
    """Put fresh variables for accumulators and what is ahead in place; keep `_kept` only."""
    m, terms = entry.machine, naming.terms
    terms.at = 0
    stale, left = terms.lost(STALE, True), terms.lost(LEFT, False)
    stale_number, left_number = terms.lost(STALE, True, 64), terms.lost(LEFT, False, 64)
    saved = entry.abi.saved_numbers
    renamed = {**{lane: terms.variable(name) for lane, name in names.items()}, **ahead}

    for number in range(16):
        value = m.gpr[number]
        kept = _kept(value, {}) if number in live or number == RSP else None
        if kept is None and not (number in saved and value is entry.gpr[number]):
            m.gpr[number] = stale_number if secret(value) else left_number
    for index, lanes in enumerate(m.vec):
        number = VECTOR + index
        out: list[Lane] = []
        for k, lane in enumerate(lanes):
            after = _kept(lane, renamed) if number in live else None
            if after is None:
                untouched = number in saved and k == 0 and lane is entry.vec[index][0]
                # One that the code writes anywhere may hold data on another way here.
                written = number in (flow.upper_written if k else flow.written)
                lost = stale if written or secret(lane) else left
                after = lane if untouched else lost
            assert isinstance(after, int | Term)
            out.append(after)
        m.vec[index] = tuple(out)
    for k, value in enumerate(m.mask):
        kept = _kept(value, {}) if MASK + k in live else None
        if kept is None:
            m.mask[k] = stale_number if secret(value) else left_number
        else:
            m.mask[k] = kept
    m.flags = forgotten(m.flags, FLAGS in live)
    for name, content in m.memory.written.items():
        for offset, (value, k) in list(content.items()):
            kept = _kept(value, ahead) if name == STACK else None
            if kept is None:
                kept = stale if secret(value) else left
            content[offset] = (kept, k)
    state = m.memory.written["state"]
    if names or state:
        # Whatever the buffer held, the state is in registers now.
        for k in range(BLOCK_BYTES):
            state[k] = (stale, k)
    if not names:
        block = terms.moves(terms.variable("Y0"), naming.algebra.memory)
        for k in range(BLOCK_BYTES):
            state[k] = (block, k)


def cut_key(entry: Entry, address: int) -> tuple[object, ...]:
    """Return all that the rest of a run depends on."""
    m = entry.machine
    stack = tuple(
        (offset, *m.memory.written[STACK][offset]) for offset in sorted(m.memory.written[STACK])
    )
    written = m.memory.written["state"]
    state = tuple((offset, *written[offset]) for offset in sorted(written))
    return (
        address,
        tuple(m.gpr),
        tuple(m.vec),
        tuple(m.mask),
        m.flags,
        stack,
        state,
        entry.length,
        tuple(entry.weights.items()),
        m.upper_dirty,
        tuple(m.memory.returns),
        m.memory.touched,
    )


_WITH_LENGTHS = (tuple, Affine, Pointer)
"""The parts of a key that may hold a length."""


def with_unknown(key: object, unknown: str, u: int) -> object:
    """Return a key with every number that has this unknown replaced by its value at u."""
    if isinstance(key, Affine):
        return key.at(u) if key.unknown == unknown else key
    if isinstance(key, Pointer):
        if not has_unknown(key.offset, unknown):
            return key
        assert isinstance(key.offset, Affine)
        return Pointer(key.region, key.offset.at(u))
    if isinstance(key, tuple):
        # Most parts are lanes and numbers, of which there is nothing to ask.
        return tuple(
            [
                with_unknown(part, unknown, u) if isinstance(part, _WITH_LENGTHS) else part
                for part in key
            ]
        )
    return key


def has_unknown(key: object, unknown: str) -> bool:
    """Return whether `with_unknown` changes a key."""
    if isinstance(key, tuple):
        return any(has_unknown(part, unknown) for part in key)
    if isinstance(key, Pointer):
        return has_unknown(key.offset, unknown)
    return isinstance(key, Affine) and key.unknown == unknown


def shifted_unknown(key: object, unknown: str, by: int) -> object:
    """Return a key with the unknown u replaced by u + by, keeping the range of u."""
    if isinstance(key, Affine):
        return key.plus(by * key.scale) if key.unknown == unknown else key
    if isinstance(key, Pointer):
        offset = shifted_unknown(key.offset, unknown, by)
        assert isinstance(offset, int | Affine)
        return Pointer(key.region, offset)
    if isinstance(key, tuple):
        return tuple(shifted_unknown(part, unknown, by) for part in key)
    return key
