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
    at, target = m.terms.at, m.target

    def left(name: str) -> Refutation:
        return Refutation(Category.WIPE, f"{name} may hold a secret at return", at=at)

    for k, value in enumerate(m.gpr):
        if k == target.result and returned and m.facts.fits(value, returned):
            continue
        if secret(value):
            raise left(target.general[k])
    for k, lanes in enumerate(m.vec):
        if any(secret(lane) for lane in lanes):
            raise left(target.vectors[k])
    for k, value in enumerate(m.mask):
        if secret(value):
            raise left(target.masks[k])
    if m.flags.secret:
        raise Refutation(Category.WIPE, "the flags may depend on a secret at return", at=at)
    # Bytes released on the way are included.
    frame = {offset: value for offset, (value, _) in m.memory.written[STACK].items()}
    for offset, value in sorted(frame.items(), key=lambda item: item[0]):
        if secret(value):
            raise left(f"the byte at {offset:+d} from the entry's stack pointer")
