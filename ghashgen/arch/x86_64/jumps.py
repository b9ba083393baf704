"""Jumps of x86-64: their lengths, and places to avoid.

On Skylake and its successors up to Comet Lake (erratum SKX102; Intel, "Mitigations for Jump
Conditional Code Erratum", 2019) a jump that crosses or touches the end of a 32-byte line of code
leaves the cache of decoded instructions, with everything on its line. GHASH of one block is about
twenty instructions, so one such jump matters there. Elsewhere the padding is a few bytes of NOPs.
"""

from types import MappingProxyType

from ghashgen.arch.core import Jumps
from ghashgen.ir.program import Flow

JUMPS = Jumps(
    line=32, short=2, reach=range(-128, 128), near=MappingProxyType({Flow.JUMP: 5, Flow.BRANCH: 6})
)
"""JMP and Jcc (Intel SDM vol. 2)."""
