"""out = in + keystream from a counter block, X = GHASH over out. The counter block stays."""

from ghashgen.kernels.gcm.parts.directions import encrypt_text
from ghashgen.kernels.given.crypt import crypting

FUNCTION = crypting("encrypt", 40, "encrypt in to out, continue GHASH over out", encrypt_text)
