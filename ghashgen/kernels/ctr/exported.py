"""The functions of AES-CTR kernels: every module of `functions` exports one FUNCTION."""

from collections.abc import Mapping

from ghashgen.kernels.core import Function, found_in
from ghashgen.kernels.ctr import functions as package
from ghashgen.kernels.ctr.kernel import CtrKernel


def functions() -> Mapping[str, Function[CtrKernel]]:
    """Return every function that some kernel exports, by name, in the order of emission."""
    return found_in(package)
