"""The exported functions of AES-GCM kernels, one file each in `functions/`."""

from collections.abc import Mapping

from ghashgen.kernels.core import Function, found_in
from ghashgen.kernels.gcm import functions as package
from ghashgen.kernels.gcm.kernel import GcmKernel


def functions() -> Mapping[str, Function[GcmKernel]]:
    """Return every function that some kernel exports, by name, in the order of emission."""
    return found_in(package)
