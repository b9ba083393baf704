"""NAME_crypt(ctx, counter, in, out, len): out = in + keystream; encryption and decryption."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.aes.groups import crypt
from ghashgen.kernels.aes.text import Text
from ghashgen.kernels.core import Function
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.ctr.params import CONTEXT, COUNTER, INPUT, INPUT_LENGTH, OUTPUT


def build(b: Builder, kernel: CtrKernel) -> None:
    """Record the function of this kernel."""
    context, counter, source, out, length = b.params
    b.branch("equal", length, 0, "done")
    place = Mem(base=counter)
    text = Text.at_entry(b, kernel, context, Counters.at(b, kernel, place), source, out, length)
    crypt(text)
    text.counters.store(place)
    b.label("done")


FUNCTION = Function(
    name="crypt",
    order=20,
    params=(CONTEXT, COUNTER, INPUT, OUTPUT, INPUT_LENGTH),
    purpose=lambda kernel: "encrypt or decrypt in to out, advance counter by the blocks begun",
    build=build,
    statement="crypt",
)
