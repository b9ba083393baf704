"""Linux (arch/x86/crypto): its AES-GCM for CPUs with AVX-512.

Its key, struct aes_gcm_key_vaes_avx512, begins with a struct crypto_aes_ctx, which has the bytes of
the key behind the round keys: 4·Nr - 24. Its portable set-up fills the table as ours does: powers,
and zeros to the next multiple of 64 bytes, where the struct ends. Its own functions take one
pointer to the key, and counter and state with their bytes reversed: glue in C has their names.
"""

from dataclasses import replace

from ghashgen.kernels.given.interfaces import boringssl

LENGTH_AT, TABLE_AT = 480, 512
"""Where the key has the bytes of the AES key, and the table."""

_BLOCKS = 16

INTERFACE = replace(
    boringssl.INTERFACE,
    name="linux",
    title="Linux",
    table_bytes=16 * (_BLOCKS + 4),
    rounds_at=LENGTH_AT,
    rounds_times=4,
    rounds_less=24,
    cells=(*(f"B{power}" for power in range(_BLOCKS, 0, -1)), "0", "0", "0", "0"),
    functions=boringssl.alike(
        {name: {"avx512": f"ghashgen_gcm_{name}_avx512"} for name in boringssl.INTERFACE.functions},
        LENGTH_AT,
    ),
)
