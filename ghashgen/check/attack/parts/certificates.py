"""Small programs with drawn certificates, most of which lie; what the rules accept is run.

A certificate can be wrong in more ways than a search would make it. So each program gets one that
is read off its states, and several with lies in them; what is claimed of it is so of one run, or
nearly. Whatever is accepted must be so at every length that an interpreter of its own runs.
"""

import json
import random
from collections import Counter

from ghashgen.check.attack.core import Finding, Options, Outcome, Part, numbered
from ghashgen.check.attack.toy.judge import drawn, judge
from ghashgen.verify.rules import check

PROGRAMS = 4
"""Programs in one task."""

CASES, STEPS = 300, 4000
"""More than any of these programs needs: a lie may let a loop be followed without end."""


def work(options: Options, task: int) -> Outcome:
    """Draw programs and certificates, and run what is accepted."""
    limits = check.MOST_RUNS, check.MOST_STEPS
    check.MOST_RUNS, check.MOST_STEPS = CASES, STEPS
    try:
        return sum((_one(options, PROGRAMS * task + k) for k in range(PROGRAMS)), Outcome())
    finally:
        check.MOST_RUNS, check.MOST_STEPS = limits


def _one(options: Options, number: int) -> Outcome:
    rng = random.Random(f"certificates {options.seed} {number}")
    one = drawn(rng)
    if one is None:
        return Outcome(not_run={"the program is wrong in its first run": 1})
    seen: Counter[str] = Counter()
    findings = [
        Finding(
            f"certificate of small program {number}",
            said,
            f"program {number} of the certificates, seed {options.seed}",
            {"program.asm": one.source, "certificate.json": json.dumps(data, indent=1),
             "claim.txt": f"{one.claim}\n{one.lengths}\n"},
        )
        for said, data in judge(one, rng, seen)
    ]  # fmt: skip
    return Outcome({"unsupported": seen["refused"]}, seen["right"], {}, tuple(findings))


PART = Part("certificates", "small programs with drawn certificates against runs", numbered, work)
"""The part."""
