"""AWS-LC (crypto/fipsmodule/modes/internal.h): its GHASH for CPUs with AVX-512, and text for it.

Table, key schedule and subkey are as in BoringSSL. Its functions of a text take a context and go on
within a block, which no function of ours does: glue in C has their names and calls the last two.
"""

from dataclasses import replace

from ghashgen.kernels.given.interfaces import boringssl

_SYMBOLS = {
    "init": "gcm_init_avx512",
    "mul": "gcm_gmult_avx512",
    "update": "gcm_ghash_avx512",
    "encrypt": "ghashgen_encrypt_avx512",
    "decrypt": "ghashgen_decrypt_avx512",
}

INTERFACE = replace(
    boringssl.INTERFACE,
    name="aws-lc",
    title="AWS-LC",
    functions=boringssl.alike(
        {name: {"avx512": symbol} for name, symbol in _SYMBOLS.items()},
        boringssl.INTERFACE.rounds_at,
    ),
)
