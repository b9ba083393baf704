"""BoringSSL (crypto/fipsmodule/aes/internal.h): its functions for CPUs with VAES and VPCLMULQDQ.

A GCM128_KEY has 256 bytes for the table. An AES_KEY is 15 round keys and the number of rounds, less
1, which aes_hw_set_encrypt_key fills. H is two numbers: the big-endian halves of the subkey.
"""

from dataclasses import replace

from ghashgen.kernels.core import Direction, Fixed, Param
from ghashgen.kernels.gcm.parts.params import OUTPUT
from ghashgen.kernels.given.interface import Interface, Taken
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, ONE_BLOCK, STATE, TABLE

_TABLE, _STATE = replace(TABLE, name="Htable"), replace(STATE, name="Xi")
_ROUNDS_AT = 240

_CRYPT = (
    INPUT,
    OUTPUT,
    INPUT_LENGTH,
    Param("key", "schedule", Fixed(_ROUNDS_AT + 4)),
    Param("ivec", "first_counter", ONE_BLOCK),
    _TABLE,
    _STATE,
)


def _named(stem: str) -> dict[str, str]:
    return {isa: f"{stem}_{isa}" for isa in ("avx2", "avx512")}


INTERFACE = Interface(
    name="boringssl",
    title="BoringSSL",
    table_bytes=256,
    rounds_at=_ROUNDS_AT,
    rounds_less=1,
    functions={
        "init": Taken(
            _named("gcm_init_vpclmulqdq"),
            (replace(_TABLE, direction=Direction.OUT), Param("H", "halves", ONE_BLOCK)),
        ),
        "mul": Taken(_named("gcm_gmult_vpclmulqdq"), (_STATE, _TABLE)),
        "update": Taken(_named("gcm_ghash_vpclmulqdq"), (_STATE, _TABLE, INPUT, INPUT_LENGTH)),
        "encrypt": Taken(_named("aes_gcm_enc_update_vaes"), _CRYPT),
        "decrypt": Taken(_named("aes_gcm_dec_update_vaes"), _CRYPT),
    },
)
