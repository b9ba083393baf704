"""The family of AES-GCM kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.catalogue import catalogue
from ghashgen.kernels.gcm.exported import functions
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.preference import PREFERENCE
from ghashgen.kernels.gcm.words import line, notes, words
from ghashgen.kernels.hash.family import theorems

FAMILY = Family(
    name=GcmKernel.family,
    order=20,
    title="AES-GCM",
    axes=AXES,
    make=GcmKernel,
    functions=functions,
    catalogue=catalogue,
    theorems=lambda kernel: theorems(kernel.hash),
    words=words,
    line=line,
    notes=notes,
    loop="encrypt",
    preference=PREFERENCE,
    facets={
        "claims": "ghashgen.check.claims.gcm",
        "validation": "ghashgen.check.validation.gcm.validator",
        "trials": "ghashgen.check.attack.families.gcm",
        "question": "ghashgen.choice.families.gcm",
        "dispatcher": "_gcm",
        "contest": "ghashgen.lab.bench.families.gcm",
        "goal": "ghashgen.lab.tune.families.gcm",
        "calls": "ghashgen.lab.tune.families.gcm",
        "topic": "ghashgen.lab.report.families.gcm",
        "speed": "ghashgen.lab.speeds.families.gcm",
    },
)
