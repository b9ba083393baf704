"""The exported functions of GHASH and POLYVAL kernels, one file each in `functions/`."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.kernels.core import Function, found_in
from ghashgen.kernels.hash import functions as package
from ghashgen.kernels.hash.kernel import Kernel


def functions() -> Mapping[str, Function[Kernel]]:
    """Return every function that some kernel exports, by name, in the order they are emitted."""
    return found_in(package)


def functions_of(kernel: Kernel) -> Mapping[str, Function[Kernel]]:
    """Return the functions that a kernel exports, in the order they are emitted."""
    return MappingProxyType({f.name: f for f in functions().values() if f.exported(kernel)})
