"""Linux (arch/x86/crypto): its AES-GCM for CPUs with AVX-512.

Its key, struct aes_gcm_key_vaes_avx512, begins with a struct crypto_aes_ctx, which has the bytes of
the key behind the round keys: 4·Nr - 24. Its portable set-up fills the table as ours does: powers,
and zeros to the next multiple of 64 bytes, where the struct ends. Counter and state have their
bytes reversed. Linux passes lengths as int, and has had several names for a function: glue in C has
these, and passes on what it is passed.
"""

from dataclasses import replace

from ghashgen.kernels.core import Direction, Fixed, Param
from ghashgen.kernels.gcm.parts.params import AAD_LENGTH, OUTPUT
from ghashgen.kernels.given.interface import Interface, Taken
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, ONE_BLOCK, STATE

LENGTH_AT, TABLE_AT = 480, 512
"""Where the key has the bytes of the AES key, and the table."""

_BLOCKS = 16
_TABLE_BYTES = 16 * (_BLOCKS + 4)

_KEY = Param("key", "table", Fixed(TABLE_AT + _TABLE_BYTES))
_COUNTER, _STATE = Param("le_ctr", "first_counter", ONE_BLOCK), replace(STATE, name="acc")
_CRYPT = (_KEY, _COUNTER, _STATE, INPUT, OUTPUT, INPUT_LENGTH)
_PARAMS = {
    "init": (replace(_KEY, direction=Direction.INOUT),),
    "update": (_KEY, _STATE, INPUT, INPUT_LENGTH),
    "encrypt": _CRYPT,
    "decrypt": _CRYPT,
    "final": (_KEY, _COUNTER, _STATE, AAD_LENGTH, INPUT_LENGTH),
}

INTERFACE = Interface(
    name="linux",
    title="Linux",
    table_bytes=_TABLE_BYTES,
    table_at=TABLE_AT,
    rounds_at=LENGTH_AT,
    rounds_times=4,
    rounds_less=24,
    reverses=True,
    cells=(*(f"B{power}" for power in range(_BLOCKS, 0, -1)), "0", "0", "0", "0"),
    functions={
        name: Taken({"avx512": f"ghashgen_gcm_{name}_avx512"}, params)
        for name, params in _PARAMS.items()
    },
)
