"""The family of AES-GCM kernels."""

from ghashgen.kernels.core import Family
from ghashgen.kernels.exported import functions_in
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.preference import PREFERENCE
from ghashgen.kernels.hash.family import theorems
from ghashgen.support.lazy import later

FAMILY = Family(
    name=GcmKernel.family,
    order=20,
    title="AES-GCM",
    axes=AXES,
    make=GcmKernel,
    functions=functions_in("ghashgen.kernels.gcm.functions"),
    catalogue=later("ghashgen.kernels.gcm.catalogue", "catalogue"),
    theorems=lambda kernel: theorems(kernel.hash),
    words=later("ghashgen.kernels.gcm.words", "words"),
    line=later("ghashgen.kernels.gcm.words", "line"),
    notes=later("ghashgen.kernels.gcm.words", "notes"),
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
