"""A loop body as the port model sees it: how often each form occurs, and which pairs may fuse.

The order of instructions does not affect the bound, except that a conditional branch may fuse with
the instruction before it. So the counts and those pairs are all that must be stored.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ghashgen.arch.decoder import Decoder, Native
from ghashgen.ir.program import Flow


@dataclass(frozen=True)
class Histogram:
    """The forms of a loop body, including the branch back."""

    forms: Mapping[str, int]
    """Occurrences by form."""
    pairs: Mapping[tuple[str, str], int]
    """Occurrences of (form, conditional branch that follows it), also counted in `forms`."""

    @property
    def instructions(self) -> int:
        """The length of the body."""
        return sum(self.forms.values())


def histogram(decoder: Decoder, instructions: Sequence[Native]) -> Histogram:
    """Count the forms of a loop body; both mappings are sorted."""
    forms = [decoder.form(instruction) for instruction in instructions]
    pairs = Counter(
        (forms[at - 1], forms[at])
        for at, instruction in enumerate(instructions)
        if at and decoder.flow(instruction) is Flow.BRANCH
    )
    return Histogram(
        MappingProxyType(dict(sorted(Counter(forms).items()))),
        MappingProxyType(dict(sorted(pairs.items()))),
    )
