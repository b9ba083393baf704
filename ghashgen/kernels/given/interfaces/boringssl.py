"""BoringSSL (crypto/fipsmodule/aes/internal.h): its functions for CPUs with VAES and VPCLMULQDQ.

A GCM128_KEY has 256 bytes for the table. An AES_KEY is 15 round keys and the number of rounds, less
1, which aes_hw_set_encrypt_key fills. H is two numbers: the big-endian halves of the subkey.
"""

from collections.abc import Mapping
from dataclasses import replace

from ghashgen.kernels.core import Direction, Fixed, Param
from ghashgen.kernels.gcm.parts.params import OUTPUT
from ghashgen.kernels.given.interface import Interface, Taken
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, ONE_BLOCK, STATE, TABLE

_TABLE, _STATE = replace(TABLE, name="Htable"), replace(STATE, name="Xi")
_ROUNDS_AT = 240


def alike(symbols: Mapping[str, Mapping[str, str]], rounds_at: int) -> dict[str, Taken]:
    """Return functions that are called as BoringSSL's are: their symbols by name and set."""
    schedule = Param("key", "schedule", Fixed(rounds_at + 4))
    crypt = (
        *(INPUT, OUTPUT, INPUT_LENGTH, schedule),
        *(Param("ivec", "first_counter", ONE_BLOCK), _TABLE, _STATE),
    )
    params = {
        "init": (replace(_TABLE, direction=Direction.OUT), Param("H", "halves", ONE_BLOCK)),
        "mul": (_STATE, _TABLE),
        "update": (_STATE, _TABLE, INPUT, INPUT_LENGTH),
        "encrypt": crypt,
        "decrypt": crypt,
    }
    return {name: Taken(symbols[name], each) for name, each in params.items()}


def _named(stem: str) -> dict[str, str]:
    return {isa: f"{stem}_{isa}" for isa in ("avx2", "avx512")}


INTERFACE = Interface(
    name="boringssl",
    title="BoringSSL",
    table_bytes=256,
    rounds_at=_ROUNDS_AT,
    rounds_less=1,
    functions=alike(
        {
            "init": _named("gcm_init_vpclmulqdq"),
            "mul": _named("gcm_gmult_vpclmulqdq"),
            "update": _named("gcm_ghash_vpclmulqdq"),
            "encrypt": _named("aes_gcm_enc_update_vaes"),
            "decrypt": _named("aes_gcm_dec_update_vaes"),
        },
        _ROUNDS_AT,
    ),
)
