"""What a family brings to the rooms above, and what its value FAMILY says about it.

    facets={"claims": "ghashgen.check.claims.gcm", "dispatcher": "_gcm", …}

A family without a facet is complete: the verb that needs the facet leaves its kernels out, and
refuses them by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Facet:
    """One thing that a family may bring."""

    verb: str
    """The verb that needs it."""
    export: str
    """The name by which the family's module exports it; "": no module, the word itself."""
    content: str
    """What it is, in words."""


FACETS: Mapping[str, Facet] = MappingProxyType(
    {
        "claims": Facet("prove", "CLAIMS", "what its kernels claim, as statements for the prover"),
        "validation": Facet("validate", "validator", "how its kernels are compared with others'"),
        "trials": Facet("attack", "trials", "calls of an object that the prover accepted"),
        "question": Facet("recommend", "QUESTION", "the uses among which its kernels are chosen"),
        "dispatcher": Facet("generate", "", "a part of its dispatcher's names and of templates'"),
        "contest": Facet("bench", "CONTEST", "modes, peers and records of its measurement"),
        "goal": Facet("tune", "GOAL", "what a sweep decides"),
        "calls": Facet("tune", "calls", "the emulated calls that stand for each mode"),
        "speed": Facet("summary", "SPEED", "what README and results.md say about its speed"),
        "topic": Facet("report", "TOPIC", "the words of its report page"),
    }
)
"""Every facet by name."""
