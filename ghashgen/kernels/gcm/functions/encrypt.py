"""NAME_encrypt(ctx, counter, x, in, out, len): out = in + keystream, X = GHASH over out."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.directions import encrypt_text
from ghashgen.kernels.gcm.parts.params import TEXT
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.parts.interface import load_block, store_block


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, counter, x, source, out, length = b.params
    b.branch("equal", length, 0, "done")
    X = b.variable(load_block(b, kernel.hash, x, name="X"), "X")
    place = Mem(base=counter)
    text = Text.at_entry(b, kernel, context, Counters.at(b, kernel, place), source, out, length)
    encrypt_text(text, X, "store")
    text.counters.store(place)
    store_block(b, kernel.hash, x, X)
    b.label("done")


FUNCTION = Function(
    name="encrypt",
    order=20,
    params=TEXT,
    purpose=lambda kernel: (
        "encrypt in to out, continue GHASH x over out, advance counter by the blocks begun"
    ),
    build=build,
    statement="encrypt",
)
