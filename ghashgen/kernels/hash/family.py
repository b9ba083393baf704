"""The family of GHASH and POLYVAL kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.hash.axes import AXES
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.exported import functions
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.preference import PREFERENCE
from ghashgen.kernels.hash.words import line, notes, words


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
    functions=functions,
    catalogue=catalogue,
    theorems=theorems,
    words=words,
    line=line,
    notes=notes,
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
