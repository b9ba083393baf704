"""The compact flavour: loops where other kernels unroll, so that a kernel takes little code.

NAME_open is the code of four functions (`parts.ways`) and every key size. Whole groups come first
(`parts.woven`, or `paired` where registers are few), then the rest (`parts.compact_rest`).
"""

from collections.abc import Callable

from ghashgen.ir.program import VReg
from ghashgen.kernels.gcm.parts import paired, woven
from ghashgen.kernels.gcm.parts.compact_rest import rest_of
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way


def crypt_text(text: Text, X: VReg, way: Way, lengths: Callable[[], VReg]) -> None:
    """Record out = in + keystream, and X continued over the ciphertext and a message's lengths."""
    few = text.kernel.instruction_set.vector_registers < 32
    behind = None if few else woven.Behind.nothing(text)
    text.b.branch("below", text.length, text.group_bytes, "rest")
    if behind is None:
        paired.whole_groups(text, X, way)
    else:
        # One group is encrypted faster as a rest: its ciphertext stays in registers.
        way.decrypts("groups")
        text.b.branch("equal", text.length, text.group_bytes, "rest")
        text.b.label("groups")
        woven.whole_groups(text, X, way, behind)
    text.b.label("rest")
    rest_of(text, X, way, lengths, behind)
