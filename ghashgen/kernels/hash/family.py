"""The family of GHASH and POLYVAL kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.exported import functions_in
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.preference import PREFERENCE
from ghashgen.support.lazy import later


def theorems(kernel: Kernel) -> list[str]:
    """Return the names of the identities that a kernel rests on (`ghashgen prove --theorem`)."""
    order = kernel.order
    names = [
        f"multiply-{kernel.multiply}-{order}",
        f"reduce-{kernel.reduce}-{order}",
        f"aggregate-{kernel.multiply}-{kernel.reduce}-{order}",
        "horner-n",
    ]
    return sorted(names)


FAMILY = Family(
    name=Kernel.family,
    order=10,
    title="GHASH and POLYVAL",
    axes=AXES,
    make=Kernel,
    functions=functions_in("ghashgen.kernels.hash.functions"),
    catalogue=later("ghashgen.kernels.hash.catalogue", "catalogue"),
    theorems=theorems,
    words=later("ghashgen.kernels.hash.words", "words"),
    line=later("ghashgen.kernels.hash.words", "line"),
    notes=later("ghashgen.kernels.hash.words", "notes"),
    loop="update",
    single="mul",
    preference=PREFERENCE,
    facets={
        "claims": "ghashgen.check.claims.hash",
        "validation": "ghashgen.check.validation.hash",
        "trials": "ghashgen.check.attack.families.hash",
        "question": "ghashgen.choice.families.hash",
        "dispatcher": "",
        "contest": "ghashgen.lab.bench.families.hash",
        "goal": "ghashgen.lab.tune.families.hash",
        "calls": "ghashgen.lab.tune.families.hash",
        "topic": "ghashgen.lab.report.families.hash",
        "speed": "ghashgen.lab.speeds.families.hash",
    },
)
