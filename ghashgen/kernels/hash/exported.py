"""The exported functions of GHASH and POLYVAL kernels, one file each in `functions/`."""

from collections.abc import Mapping

from ghashgen.kernels.core import Function, found_in
from ghashgen.kernels.hash import functions as package
from ghashgen.kernels.hash.kernel import Kernel


def functions() -> Mapping[str, Function[Kernel]]:
    """Return every function that some kernel exports, by name, in the order of emission."""
    return found_in(package)
