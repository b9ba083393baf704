"""NAME_init(ctx, key): the round keys."""

from ghashgen.ir.builder import Builder
from ghashgen.kernels.aes.cipher import round_key_cell
from ghashgen.kernels.aes.expansion import round_keys
from ghashgen.kernels.core import CipherKey, Function, Param
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.ctr.params import NEW_CONTEXT


def build(b: Builder, kernel: CtrKernel) -> None:
    """Record the function of this kernel."""
    context, key = b.params
    for i, k in enumerate(round_keys(b, kernel.key, key)):
        b.store(round_key_cell(kernel, context, i), k, f"k_{i}")


FUNCTION = Function(
    name="init",
    order=10,
    params=(NEW_CONTEXT, Param("key", "key", CipherKey())),
    purpose=lambda kernel: f"fill ctx with the round keys of the AES-{kernel.key} key",
    build=build,
    statement="init",
)
