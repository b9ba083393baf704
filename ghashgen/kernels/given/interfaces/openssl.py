"""OpenSSL 3 and 4 (include/crypto/modes.h): its GHASH for AVX and its text for AES-NI.

A GCM128_CONTEXT has 256 bytes for the table, behind Xi and H. An AES_KEY is 15 round keys and the
number of rounds, less 1, as aesni_set_encrypt_key leaves them. Its functions of a text get the
state alone, step the counter and return how far they came; those for AVX-512 get the context and go
on within a block. Glue in C has OpenSSL's names.
"""

from dataclasses import replace

from ghashgen.kernels.given.interfaces import boringssl
from ghashgen.kernels.given.interfaces.libgcrypt import ISAS

INTERFACE = replace(
    boringssl.INTERFACE,
    name="openssl",
    title="OpenSSL",
    functions=boringssl.alike(
        {
            name: {isa: f"ghashgen_gcm_{name}_{isa}" for isa in ISAS}
            for name in boringssl.INTERFACE.functions
        },
        boringssl.INTERFACE.rounds_at,
    ),
)
