"""The family of AES-CTR kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.ctr.axes import AXES
from ghashgen.kernels.ctr.catalogue import catalogue
from ghashgen.kernels.ctr.exported import functions
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.ctr.preference import PREFERENCE
from ghashgen.kernels.ctr.words import line, notes, words

FAMILY = Family(
    name=CtrKernel.family,
    order=30,
    title="AES-CTR",
    axes=AXES,
    make=CtrKernel,
    functions=functions,
    catalogue=catalogue,
    theorems=lambda kernel: [],
    words=words,
    line=line,
    notes=notes,
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
