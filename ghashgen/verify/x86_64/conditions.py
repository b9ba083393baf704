"""The conditions of Jcc, SETcc and CMOVcc: tests of the flags by their suffix."""

from ghashgen.verify.machine.flags import Test, at_most, less, negated, of_flag

_carry, _zero, _sign, _overflow = map(of_flag, ("carry", "zero", "sign", "overflow"))

PAIRS: tuple[tuple[str, str, Test], ...] = (
    ("o", "no", _overflow),
    ("b", "ae", _carry),
    ("e", "ne", _zero),
    ("be", "a", at_most),
    ("s", "ns", _sign),
    ("l", "ge", less),
    ("le", "g", lambda m: _zero(m) or less(m)),
)
"""Intel SDM vol. 1, appendix B, table B-1: conditions by their suffix, each with the one that its
lowest bit negates (parity is not modelled).
"""

CONDITIONS: dict[str, Test] = {
    **{suffix: test for suffix, _, test in PAIRS},
    **{suffix: negated(test) for _, suffix, test in PAIRS},
}
"""Each condition's test of the flags, by its suffix."""
