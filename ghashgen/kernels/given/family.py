"""The family of kernels in a host's layout. None is checked in: a host's folder has them."""

from collections.abc import Mapping

from ghashgen.kernels.core import Family, Function, found_in
from ghashgen.kernels.given import functions as package
from ghashgen.kernels.given.axes import AXES
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.words import line, notes, words
from ghashgen.kernels.hash.family import theorems


def functions() -> Mapping[str, Function[GivenKernel]]:
    """Return every function that some kernel exports, by name, in the order of emission."""
    return found_in(package)


FAMILY = Family(
    name=GivenKernel.family,
    order=40,
    title="AES-GCM in a host's layout",
    axes=AXES,
    make=GivenKernel,
    functions=functions,
    catalogue=lambda: (),
    theorems=lambda kernel: theorems(kernel.hash),
    words=words,
    line=line,
    notes=notes,
    loop="encrypt",
    single="mul",
    facets={
        "claims": "ghashgen.check.claims.given",
        "validation": "ghashgen.check.validation.given",
    },
)
