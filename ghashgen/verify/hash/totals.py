"""The length that was passed, where a loop leaves it in its register and counts by an address.

    end = input + (length & -64); do { ... } while (input != end); rest = length & 63

So compilers write a loop over groups. Behind it only the rest is asked for, which is that of every
length that is so many groups more. So the register becomes such a number, any of them: an unknown
of its own, which says nothing of the length that is left.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ghashgen.verify.core.values import Affine, Value
from ghashgen.verify.engine.family import Entry

if TYPE_CHECKING:
    from ghashgen.verify.hash.spec import FunctionSpec

ALL = "length in all"


def any_total(
    entry: Entry, function: "FunctionSpec", group: int, greatest: int
) -> Mapping[Value, Value]:
    """Return what stands for the length as it was passed: any to `greatest` with the same rest.

    `group` is how many bytes one turn of the loop takes. Nothing, if the rest is not known.
    """
    arguments, unit = entry.abi.arguments, function.length_unit
    index = function.parameters.index("length")
    if index >= len(arguments) or group % unit:
        return {}
    passed, step, most = entry.gpr[arguments[index]], group // unit, greatest // unit
    if isinstance(passed, Affine):
        known = passed.scale % step == 0 and passed.least >= 0 and passed.greatest <= most
        rest = passed.offset % step
    else:
        # A length without a whole group is its own rest, which is still wanted.
        known = isinstance(passed, int) and step <= passed <= most
        rest = passed % step if isinstance(passed, int) else 0
    if not known:
        return {}
    return {passed: Affine(step, rest, 0, (most - rest) // step, ALL)}
