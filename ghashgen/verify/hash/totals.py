"""Let the passed length be arbitrary after a loop that counts by an address.

    end = input + (length & -64); do { ... } while (input != end); rest = length & 63

Compilers write loops over groups like this. The code after the loop uses only the rest, which is
the same for every length that is longer by whole groups. So the register gets an unknown of its own
with that rest. It says nothing of the length that is left.
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
    """Return what replaces the passed length: any up to `greatest` with the same rest.

    `group` is how many bytes one turn of the loop takes. Empty if the rest is not known.
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
        # A length without a whole group is its own rest, which is still needed.
        known = isinstance(passed, int) and step <= passed <= most
        rest = passed % step if isinstance(passed, int) else 0
    if not known:
        return {}
    return {passed: Affine(step, rest, 0, (most - rest) // step, ALL)}
