"""libgcrypt (cipher/rijndael-internal.h, cipher-internal.h): room in its handle of a cipher.

A RIJNDAEL_context has round keys for encryption, as many bytes for decryption, and the number of
rounds. GCM has 64 words of 8 bytes for a table, whose owner is who hashes. Functions of its own
have no fixed names: a handle points to them, so glue in C calls ours.
"""

from dataclasses import replace

from ghashgen.kernels.given.interfaces import boringssl

ISAS = ("avx", "avx2", "avx512")

_ROUNDS_AT = 480

INTERFACE = replace(
    boringssl.INTERFACE,
    name="libgcrypt",
    title="libgcrypt",
    table_bytes=512,
    rounds_at=_ROUNDS_AT,
    rounds_less=0,
    functions=boringssl.alike(
        {
            name: {isa: f"_gcry_ghashgen_{name}_{isa}" for isa in ISAS}
            for name in boringssl.INTERFACE.functions
        },
        _ROUNDS_AT,
    ),
)
