"""The family of AES-CTR kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.ctr.axes import AXES
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.ctr.preference import PREFERENCE
from ghashgen.kernels.exported import functions_in
from ghashgen.support.lazy import later

FAMILY = Family(
    name=CtrKernel.family,
    order=30,
    title="AES-CTR",
    axes=AXES,
    make=CtrKernel,
    functions=functions_in("ghashgen.kernels.ctr.functions"),
    catalogue=later("ghashgen.kernels.ctr.catalogue", "catalogue"),
    theorems=lambda kernel: [],
    words=later("ghashgen.kernels.ctr.words", "words"),
    line=later("ghashgen.kernels.ctr.words", "line"),
    notes=later("ghashgen.kernels.ctr.words", "notes"),
    loop="crypt",
    preference=PREFERENCE,
    facets={
        "claims": "ghashgen.check.claims.ctr",
        "validation": "ghashgen.check.validation.ctr",
        "trials": "ghashgen.check.attack.families.ctr",
        "question": "ghashgen.choice.families.ctr",
        "dispatcher": "_ctr",
        "contest": "ghashgen.lab.bench.families.ctr",
        "goal": "ghashgen.lab.tune.families.ctr",
        "calls": "ghashgen.lab.tune.families.ctr",
        "topic": "ghashgen.lab.report.families.ctr",
        "speed": "ghashgen.lab.speeds.families.ctr",
    },
)
