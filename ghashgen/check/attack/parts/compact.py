"""Compact AES-GCM kernels, whose functions are proved for three key sizes by one certificate each.

A task changes one jump of a kernel, plants one, or plants another fault that moves no address. Then
the rules are asked about each function that comes to it: by the certificate of the right object,
and by lies about it. In a few tasks a function that none of them proves is searched. What is
accepted is run, with the right code in the place of functions that are refused.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.jumps import Change, Jumping, beside, jumping
from ghashgen.check.attack.lies import lied
from ghashgen.check.attack.verdict import SECONDS, verdict
from ghashgen.check.kept import Shelf
from ghashgen.check.proofs import statement
from ghashgen.check.statements import statement_text
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.paths import kernels_folder
from ghashgen.verify.search.certified import find_function, text_of
from ghashgen.verify.x86_64.elf import load_image

NAME = "compact"
_EACH = 8
"""Consecutive tasks on one kernel."""
_DRAWN = 4
"""One task in this many is no change of a jump."""
_LIES = 2
"""Certificates with lies for each function."""
_SEARCHED = 0.1
"""The share of tasks in which functions are searched that no certificate proves: that takes long
where a mutant does not return.
"""
_WHOLE = 0.25
"""The share of accepted objects that run all calls, under keys of three sizes; others run fewer."""
_SETS = ("sse", "avx", "avx2")
KERNELS = tuple(
    GcmKernel(256, isa, "winograd", "clmul1", 4 * isas()[isa].lanes, wipe=wipe, compact=True)
    for isa in _SETS
    for wipe in (False, True)
)
"""Kernels with small groups, of which certificates are found and checked in seconds."""


@dataclass(frozen=True)
class Task:
    """One change, the `index`-th of a kernel."""

    number: int
    kernel: GcmKernel
    abi: str
    index: int


@dataclass(frozen=True)
class Ready:
    """A kernel whose jumps are far, with what is claimed of it."""

    built: Built[Any]
    jumping: Jumping
    spec: Any

    @cached_property
    def changes(self) -> Sequence[Change]:
        """Every change of a jump."""
        return [*self.jumping.changes()]

    @property
    def functions(self) -> Mapping[str, Any]:
        """Its functions by their symbols."""
        return {function.symbol: function for function in self.spec.functions}


def _tasks(options: Options) -> Iterator[Task]:
    chosen = look_up(options.choice, "trials").kernels
    own = [k for k in chosen if isinstance(k, GcmKernel) and k.compact]
    kernels = KERNELS if options.choice == Choice() else own
    of = [(kernel, abi) for kernel in kernels for abi in options.abis]
    random.Random(f"{NAME} {options.seed}").shuffle(of)
    for number in count() if of else ():
        turn, k = divmod(number, _EACH)
        lap, which = divmod(turn, len(of))
        yield Task(number, *of[which], _EACH * lap + k)


@lru_cache(maxsize=16)
def ready(kernel: GcmKernel, abi: str, folder: Path) -> Ready:
    """Return a kernel with far jumps."""
    (built,) = build([kernel], runnable(abi), kernels_folder(), folder / "obj")
    spec = statement(kernel, kernel.name, abi)
    symbols = [function.symbol for function in spec.functions]
    return Ready(built, jumping(built.obj.read_bytes(), symbols), spec)


@lru_cache(maxsize=64)
def _certificate(data: bytes, spec: Any, function: Any, folder: Path) -> Any:
    """Return the certificate of a function of the right object, which is searched once."""
    shelf = Shelf(folder / "certificates")
    name = sha256(data + statement_text(spec).encode() + function.symbol.encode()).hexdigest()
    found = shelf.get(name)
    if found is None:
        found = find_function(load_image(data), spec, function)[function.symbol]
        shelf.put(name, found)
    return found


def _change(one: Ready, task: Task, seed: int, rng: random.Random) -> Change:
    """Return the change of a task: each change of a jump once, with others in between."""
    lap, k = divmod(task.index, _DRAWN)
    at = (_DRAWN - 1) * lap + k
    if k == _DRAWN - 1 or at >= len(one.changes):
        return one.jumping.drawn(rng)
    order = random.Random(f"{NAME} {seed} {task.kernel.name} {task.abi}")
    return order.sample(one.changes, len(one.changes))[at]


def _work(options: Options, task: Task) -> Outcome:
    one = ready(task.kernel, task.abi, options.folder)
    rng = random.Random(f"{NAME} {options.seed} {task.number}")
    return attempt(options, task.number, one, _change(one, task, options.seed, rng), rng)


def attempt(
    options: Options, number: int, one: Ready, change: Change, rng: random.Random
) -> Outcome:
    """Ask the rules about a changed object, and run what they accept of it."""
    mutant = change.made(one.jumping.obj)
    title = f"{one.built.kernel.name}, {one.built.abi}: {change.what}"
    refused: Counter[str] = Counter()
    accepted: dict[str, object] = {}
    late = proved = 0

    def finding(wrong: str) -> Outcome:
        files: dict[str, bytes | str] = {
            "object.o": mutant.data,
            "original.o": one.jumping.obj.data,
            "statement.toml": statement_text(one.spec),
            "certificates.json": text_of(accepted),
        }
        repeat = f"ghashgen attack --part {NAME} --seed {options.seed} --first {number} --count 1"
        return Outcome(findings=(Finding(title, wrong, repeat, files),))

    touched, searched = one.jumping.touched(change), rng.random() < _SEARCHED
    for function in (one.functions[symbol] for symbol in touched):
        own = replace(one.spec, functions=(function,))
        right = _certificate(one.jumping.obj.data, one.spec, function, options.folder)
        asked = [right, *(lied(rng, right) for _ in range(_LIES))]
        for said in (*asked, *[None] * searched):
            if said is None and function.symbol in accepted:
                continue
            given = {} if said is None else {function.symbol: json.loads(json.dumps(said))}
            found = verdict(mutant.data, own, given=given)
            if found.stopped:
                accepted |= given
                return finding(f"the prover stopped: {found.stopped}")
            if found.late:
                late += 1
            elif found.refused:
                refused[found.refused] += 1
            else:
                accepted[function.symbol] = said
                proved += 1
    total = Outcome(refused, not_run={f"no verdict in {SECONDS} s": late} if late else {})
    if not accepted:
        return total
    left = set(touched) - accepted.keys()
    data = beside(mutant, one.jumping, left).data if left else mutant.data
    brief = rng.random() >= _WHOLE
    seed = f"{NAME} {options.seed} {number}"
    ran = trial.run(data, one.built, options.folder, seed, brief=brief)
    if ran.not_run:
        why = f"not run: {title}: {ran.why}"
        return total + Outcome(not_run={ran.not_run: proved}, notes=(why,))
    if ran.wrong:
        return total + finding(f"accepted, and wrong when run ({ran.how}): {ran.wrong}")
    return total + Outcome(right=proved, calls=ran.calls, notes=(f"equivalent: {title}",))


PART = Part(
    NAME,
    "compact kernels: jumps changed, certificates with lies; what is accepted is run",
    _tasks,
    _work,
)
