"""NAME_init(ctx, key): the round keys, H = E_K(0), and the table of H."""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg
from ghashgen.kernels.aes.cipher import round_key_cell
from ghashgen.kernels.aes.expansion import round_keys
from ghashgen.kernels.core import CipherKey, Function, Param
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts.params import NEW_CONTEXT
from ghashgen.kernels.hash.functions.init import fill, pad
from ghashgen.kernels.hash.parts.interface import to_register


def build(b: Builder, kernel: GcmKernel) -> None:
    """Record the function of this kernel."""
    context, key = b.params
    pad(b, kernel.hash, context)
    # The zero block plus k_0.
    state: VReg | None = None
    for i, k in enumerate(round_keys(b, kernel.key, key)):
        b.store(round_key_cell(kernel, context, i), k, f"k_{i}")
        if state is None:
            state = k
        elif i < kernel.rounds:
            state = b.aes_round(state, k, f"H: round {i}")
        else:
            state = b.aes_last(state, k, "H = E_K(0)")
    assert state is not None
    fill(b, kernel.hash, context, to_register(b, kernel.hash, state, "H"))


FUNCTION = Function(
    name="init",
    order=10,
    params=(NEW_CONTEXT, Param("key", "key", CipherKey())),
    purpose=lambda kernel: f"fill ctx from the AES-{kernel.key} key: round keys, table of H",
    build=build,
    statement="init",
)
