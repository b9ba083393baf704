"""Values that a loop carries ahead of the hash: functions of input that is not yet absorbed.

A pipelined loop arrives at its head with blocks of the next group in registers, swapped or added to
table entries. Such a value is kept at a cut exactly as it is, a term over blocks and table entries,
with the blocks renamed: block b + j of the input before the cut, b of them being absorbed there, is
block j of the input after it. So the invariant of a carried register is found by execution, as a
function of the input that lies before the current position; nothing is guessed, and nothing holds
of it that the bytes did not compute.

Why a function is enough: the input cannot be written, so a block means the same bytes for the whole
run, and a renaming of variables by one bijection, in registers, stack and memory alike, changes no
relation between them.
"""

from collections.abc import Iterable

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.variables import Variables, replaced
from ghashgen.verify.hash.naming import BLOCK, block_name


def ahead_of_state(variables: Variables, lanes: Iterable[Term], letter: str = BLOCK) -> list[Term]:
    """Return the lanes that hold input ahead of what the others have absorbed.

    A lane that a state enters belongs to the hash, with all blocks up to its last; so does, in
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
    """Return a term as a function of the input after `absorbed` blocks; None if it is none.

    It is none if it contains one of these blocks, or one that does not lie in `length` bytes whole,
    where blocks stand so many bytes `apart`.
    """
    blocks = variables.numbers(term, letter)
    if blocks is None or min(blocks) <= absorbed or apart * max(blocks) > length:
        return None
    if not absorbed:
        return term

    def after(name: str) -> Lane:
        return terms.variable(block_name(int(name[1:]) - absorbed, letter))

    return replaced(terms, term, after)
