"""Values that a loop carries ahead of the hash: functions of input that is not yet absorbed.

A pipelined loop reaches its head with blocks of the next group in registers, swapped or added to
table entries. A cut keeps such a value exactly as it is, a term over blocks and table entries, and
renames the blocks: with b blocks absorbed, block b + j before the cut is block j after it. So
execution finds the invariant of a carried register, as a function of the input before the current
position. Nothing is guessed.

Why a function is enough: the input cannot be written, so a block means the same bytes for the whole
run. One renaming of variables in registers, stack and memory alike changes no relation between
them.
"""

from collections.abc import Iterable

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.variables import Variables, replaced
from ghashgen.verify.hash.naming import BLOCK, block_name


def ahead_of_state(variables: Variables, lanes: Iterable[Term], letter: str = BLOCK) -> list[Term]:
    """Return the lanes that hold input ahead of what the others have absorbed.

    A lane that depends on a state belongs to the hash, with all blocks up to its last. So does, in
    turn, every lane that begins among these blocks.
    """
    lanes = list(lanes)
    open_lanes = {lane: blocks for lane in lanes if (blocks := variables.numbers(lane, letter))}
    last = 0
    for lane in lanes:
        if lane not in open_lanes:
            numbers = [int(name[1:]) for name in variables.of(lane) if name[0] == letter]
            last = max(last, *numbers) if numbers else last
    while taken := [lane for lane, blocks in open_lanes.items() if min(blocks) <= last]:
        for lane in taken:
            last = max(last, *open_lanes.pop(lane))
    return list(open_lanes)


def renamed(
    terms: Terms,
    variables: Variables,
    term: Term,
    absorbed: int,
    length: int,
    letter: str = BLOCK,
    apart: int = BLOCK_BYTES,
) -> Lane | None:
    """Return a term as a function of the input after `absorbed` blocks, or None.

    None if it contains one of these blocks, or one that is not whole in `length` bytes. Blocks are
    `apart` bytes apart.
    """
    blocks = variables.numbers(term, letter)
    if blocks is None or min(blocks) <= absorbed or apart * max(blocks) > length:
        return None
    if not absorbed:
        return term

    def after(name: str) -> Lane:
        return terms.variable(block_name(int(name[1:]) - absorbed, letter))

    return replaced(terms, term, after)
