"""The family of kernels in a host's layout. None is checked in: a host's folder has them."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.exported import functions_in
from ghashgen.kernels.given.axes import AXES
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.hash.family import theorems
from ghashgen.support.lazy import later

FAMILY = Family(
    name=GivenKernel.family,
    order=40,
    title="AES-GCM in a host's layout",
    axes=AXES,
    make=GivenKernel,
    functions=functions_in("ghashgen.kernels.given.functions"),
    catalogue=lambda: (),
    theorems=lambda kernel: theorems(kernel.hash),
    words=later("ghashgen.kernels.given.words", "words"),
    line=later("ghashgen.kernels.given.words", "line"),
    notes=later("ghashgen.kernels.given.words", "notes"),
    loop="encrypt",
    single="mul",
    facets={
        "claims": "ghashgen.check.claims.given",
        "validation": "ghashgen.check.validation.given",
    },
)
