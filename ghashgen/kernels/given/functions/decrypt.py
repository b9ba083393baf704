"""out = in + keystream from a counter block, X = GHASH over in. The counter block stays."""

from ghashgen.kernels.gcm.parts.directions import decrypt_text
from ghashgen.kernels.given.crypt import crypting

FUNCTION = crypting("decrypt", 50, "decrypt in to out, continue GHASH over in", decrypt_text)
