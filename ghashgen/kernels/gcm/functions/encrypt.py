"""NAME_encrypt(ctx, counter, x, in, out, len): out = in + keystream, X = GHASH over out."""

from functools import partial

from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.parts.directions import build_text, encrypt_text
from ghashgen.kernels.gcm.parts.params import TEXT
from ghashgen.kernels.gcm.parts.ways import ENCRYPT

FUNCTION = Function(
    name="encrypt",
    order=20,
    params=TEXT,
    purpose=lambda kernel: (
        "encrypt in to out, continue GHASH x over out, advance counter by the blocks begun"
    ),
    build=partial(build_text, record=encrypt_text),
    statement="encrypt",
    enters=lambda kernel: ("open", ENCRYPT) if kernel.compact else None,
)
