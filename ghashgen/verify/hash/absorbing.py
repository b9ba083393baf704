"""What is kept where a loop is cut: accumulators, and functions of the input ahead of them.

The accumulators are values that the specification names (a state, or a block waiting to be
absorbed). They become fresh variables Y0, Y1, …, each with the number of blocks absorbed before it.
A function of the input ahead (`ghashgen.verify.hash.ahead`) stays as it is, with its blocks counted
from the new position.
"""

from collections.abc import Mapping, Sequence

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.term import Term
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.engine.cut import least, stored
from ghashgen.verify.engine.family import Kept
from ghashgen.verify.hash.ahead import ahead_of_state, renamed
from ghashgen.verify.hash.entry import HashEntry
from ghashgen.verify.hash.naming import BLOCK, Naming


def absorbed_by(
    naming: Naming,
    parts: Sequence[Mapping[str, int]],
    weights: Mapping[str, int],
    letter: str = BLOCK,
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
    blocks = sorted(int(name[1:]) for name in seen if name[0] == letter)
    states = sorted(name for name in seen if name[0] != letter)
    if blocks != list(range(1, len(blocks) + 1)) or states != sorted(weights):
        return None
    return len(blocks), positions


def absorbed(
    entry: HashEntry,
    naming: Naming,
    lanes: list[Term],
    number: str = "length",
    letter: str = BLOCK,
    to_the_end: bool = False,
    apart: int = BLOCK_BYTES,
) -> Kept | None:
    """Return what is kept at a cut with live data `lanes`; None if they are of no known kind.

    `number` is the length of the blocks with this letter. A padded last block counts only with
    `to_the_end`: nothing of them is left then. Blocks are `apart` bytes apart.
    """
    carried: list[Term] = []
    made_up = _made_up(entry, naming, lanes, letter)
    if made_up is None:
        carried = ahead_of_state(naming.variables, lanes, letter)
        lanes = [lane for lane in lanes if lane not in carried]
        made_up = _made_up(entry, naming, lanes, letter) if carried else None
    if made_up is None:
        return None
    blocks, positions = made_up
    fresh = {f"Y{k}": at - blocks for k, at in enumerate(positions)}
    left = entry.numbers[number]
    length, amount = least(left), apart * blocks
    if amount > length:
        if not to_the_end or not isinstance(left, int) or blocks != -(-length // apart):
            return None
        amount = length
    terms = naming.terms
    ahead = {
        value: lane
        for value in (*carried, *stored(entry))
        if (lane := renamed(terms, naming.variables, value, blocks, length, letter, apart))
        is not None
    }
    if any(lane not in ahead for lane in carried):
        return None
    entry.weights = fresh
    terms.at = 0
    states = {lane: terms.variable(name) for lane, name in zip(lanes, fresh, strict=False)}
    # Whatever the buffer held, a live state is in registers now.
    state = None if states else terms.moves(terms.variable("Y0"), naming.algebra.memory)
    buffers = {"state": state} if "state" in entry.machine.memory.regions else {}
    return Kept({**states, **ahead}, ahead, buffers, done={number: amount})


def _made_up(
    entry: HashEntry, naming: Naming, lanes: Sequence[Term], letter: str
) -> tuple[int, list[int]] | None:
    """Return `absorbed_by` of live lanes; without any, of the state's place in memory."""
    if lanes:
        meanings = [naming.recognise(lane) for lane in lanes]
    elif "state" not in entry.machine.memory.regions:
        return None
    else:
        state = entry.machine.memory.load(Pointer("state", 0), BLOCK_BYTES)
        meanings = [naming.recognise_block(state) if isinstance(state, Term) else None]
    parts = [meaning for meaning in meanings if meaning is not None]
    if len(parts) < len(meanings):
        return None
    return absorbed_by(naming, parts, entry.weights, letter)
