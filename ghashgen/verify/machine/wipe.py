"""At return, nothing that the caller could inspect holds a value that depends on a secret.

A returned number that has been compared with its definition is for the caller; the other bits of
its register are not.
"""

from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import secret
from ghashgen.verify.machine.machine import Machine
from ghashgen.verify.machine.memory import STACK


def check_wiped(m: Machine, returned: int = 0) -> None:
    """Check registers, masks, flags and the frame's bytes.

    The low `returned` bits of the result register are the returned number.

    Raises:
        Refutation: one of them may hold a secret.
    """
    result = m.target.general[m.target.result]
    frame = sorted(m.memory.written[STACK].items())  # Bytes released on the way are included.
    bytes_ = ((f"the byte at {k:+d} from the entry's stack pointer", v) for k, (v, _) in frame)
    for name, value in (*m.held(), *bytes_):
        ours = name == result and returned and m.facts.fits(value, returned)
        if secret(value) and not ours:
            raise Refutation(Category.WIPE, f"{name} may hold a secret at return", at=m.at)
    if m.flags.secret:
        raise Refutation(Category.WIPE, "the flags may depend on a secret at return", at=m.at)
