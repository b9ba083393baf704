"""NAME_init(ctx, key): the round keys, H = E_K(0), and the table of H."""

from collections.abc import Mapping
from typing import Any

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import RoundKeys, round_key_cell
from ghashgen.kernels.aes.expansion import rolled_keys, round_keys
from ghashgen.kernels.aes.rolled import enciphered
from ghashgen.kernels.core import CELL_BYTES, CipherKey, Function, Param
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import ANY_KEY, KEY_LENGTH, NEW_CONTEXT
from ghashgen.kernels.gcm.parts.powers import fill
from ghashgen.kernels.hash.functions.init import fill_in_a_loop, pad
from ghashgen.kernels.hash.parts.interface import to_register

_OF_ANY_SIZE: Mapping[str, Any] = {
    "params": (NEW_CONTEXT, ANY_KEY, KEY_LENGTH),
    "statement": "init_any",
    "purpose": lambda kernel: "fill ctx from a key of 16, 24 or 32 bytes: round keys, table of H",
}
"""What differs where the size of the key is a parameter."""


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    (_of_any if kernel.compact else _of_one)(b, kernel)


def _of_one(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of a kernel of one key size."""
    context, key = b.params
    pad(b, kernel.hash, context)
    # The zero block plus k_0.
    state: VReg | None = None
    for i, k in enumerate(round_keys(b, kernel.key, key)):
        copies = b.spread_lane(k, kernel.key_lanes) if kernel.key_lanes > 1 else k
        b.store(round_key_cell(kernel, context, i), copies, f"k_{i}")
        if state is None:
            state = k
        elif i < kernel.rounds:
            state = b.aes_round(state, k, f"H: round {i}")
        else:
            state = b.aes_last(state, k, "H = E_K(0)")
    assert state is not None
    H = to_register(b, kernel.hash, state, "H")
    with b.once():
        fill(b, kernel.hash, context, H)


def _of_any(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of a compact kernel, of every key size."""
    context, key, length = b.params
    pad(b, kernel.hash, context)
    at, lanes = b.gpr("gpr_copy", context), kernel.key_lanes

    def store(ahead: int, k: VReg) -> None:
        copies = b.spread_lane(k, lanes) if lanes > 1 else k
        b.store(round_key_cell(kernel, at, ahead), copies, "k_i")

    def done(keys: int) -> None:
        b.assign(at, b.gpr("gpr_add", at, CELL_BYTES * lanes * keys))

    rolled_keys(b, key, length, store, done)
    end = b.gpr("gpr_minus", at, context, note="place of k_Nr, from k_0")
    b.store(round_key_cell(kernel, context, kernel.rounds + 1), b.from_gpr(end), "place of k_Nr")
    keys = RoundKeys(b, kernel, context)
    H = b.aes_last(*enciphered(b, keys, b.zero("zeros"), "H", end), "H = E_K(0)")
    fill_in_a_loop(b, kernel.hash, context, to_register(b, kernel.hash, H, "H"))


FUNCTION = Function(
    name="init",
    order=10,
    params=(NEW_CONTEXT, Param("key", "key", CipherKey())),
    purpose=lambda kernel: f"fill ctx from the AES-{kernel.key} key: round keys, table of H",
    build=build,
    statement="init",
    variant=lambda kernel: _OF_ANY_SIZE if kernel.compact else {},
)
