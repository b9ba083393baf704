"""NAME_decrypt(ctx, counter, x, in, out, len): out = in + keystream, X = GHASH over in."""

from functools import partial

from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.parts.directions import build_text, decrypt_text
from ghashgen.kernels.gcm.parts.params import TEXT
from ghashgen.kernels.gcm.parts.ways import DECRYPT

FUNCTION = Function(
    name="decrypt",
    order=30,
    params=TEXT,
    purpose=lambda kernel: (
        "decrypt in to out, continue GHASH x over in, advance counter by the blocks begun"
    ),
    build=partial(build_text, record=decrypt_text),
    statement="decrypt",
    enters=lambda kernel: ("open", DECRYPT) if kernel.compact else None,
)
