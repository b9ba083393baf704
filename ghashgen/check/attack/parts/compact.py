"""Compact AES-GCM kernels, whose functions are proved for three key sizes by one certificate each.

A change is another jump for one of a kernel's, a new one, or another fault that moves no address.
The rules are asked about each function that comes to it: by the certificate of the right object,
run by run (`traced`), and by lies about it. In a few tasks a function that none of them proves is
searched. What is accepted is run: many changes in one object, and one by one if that is wrong.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from ghashgen.arch.registry import isas
from ghashgen.check.attack import trial
from ghashgen.check.attack.core import Finding, Options, Outcome, Part
from ghashgen.check.attack.jumps import Change, Jumping, jumping, together
from ghashgen.check.attack.lies import lied
from ghashgen.check.attack.traced import Traced
from ghashgen.check.attack.verdict import Verdict, judged, verdict
from ghashgen.check.kept import Shelf
from ghashgen.check.proofs import statement
from ghashgen.check.statements import statement_text
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import runnable
from ghashgen.run.built import Built, build
from ghashgen.support.paths import kernels_folder
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search.certified import find_function, text_of
from ghashgen.verify.x86_64.elf import load_image

NAME = "compact"
_EACH = 64
"""Changes of a task."""
_DRAWN = 4
"""One change in this many is no other jump for one that there is."""
_LIES = 0.25
"""The share of functions and changes for which a certificate with lies is tried, too."""
_SEARCHED = 0.25
"""The share of tasks in which a function is searched that no certificate proves."""
_SECONDS = 20
"""Longer than the runs of a certificate take that meet a change; a mutant's may not end."""
_WHOLE = 0.25
"""The share of objects with accepted changes that run all calls, under keys of three sizes; others
run fewer.
"""
_SETS = ("sse", "avx", "avx2")
KERNELS = tuple(
    GcmKernel(256, isa, "winograd", "clmul1", 4 * isas()[isa].lanes, wipe=wipe, compact=True)
    for isa in _SETS
    for wipe in (False, True)
)
"""Kernels with small groups, of which certificates are found and checked in seconds."""


@dataclass(frozen=True)
class Task:
    """Some changes: the `index`-th group of a kernel's."""

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

    @cached_property
    def functions(self) -> Mapping[str, Any]:
        """Its functions by their symbols."""
        return {function.symbol: function for function in self.spec.functions}

    @cached_property
    def begins(self) -> int:
        """The address of the code, by which offsets in it become addresses."""
        symbol, offset = next(iter(self.jumping.starts.items()))
        return load_image(self.jumping.obj.data).symbol(symbol) - offset


def _tasks(options: Options) -> Iterator[Task]:
    chosen = look_up(options.choice, "trials").kernels
    own = [k for k in chosen if isinstance(k, GcmKernel) and k.compact]
    kernels = KERNELS if options.choice == Choice() else own
    of = [(kernel, abi) for kernel in kernels for abi in options.abis]
    random.Random(f"{NAME} {options.seed}").shuffle(of)
    for number in count() if of else ():
        lap, which = divmod(number, len(of))
        yield Task(number, *of[which], lap)


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


@lru_cache(maxsize=64)
def _traced(kernel: GcmKernel, abi: str, folder: Path, symbol: str) -> Traced:
    """Return a function of a right object with its certificate, whose runs are known."""
    one = ready(kernel, abi, folder)
    data, function = one.jumping.obj.data, one.functions[symbol]
    certificate = _certificate(data, one.spec, function, folder)
    return Traced(load_image(data), one.spec, function, certificate)


def _changes(one: Ready, task: Task, seed: int, rng: random.Random) -> Iterator[Change]:
    """Yield the changes of a task: each change of a jump once, with others in between."""
    own = _EACH - _EACH // _DRAWN
    order = random.Random(f"{NAME} {seed} {task.kernel.name} {task.abi}")
    every = order.sample(one.changes, len(one.changes))
    yield from every[own * task.index : own * (task.index + 1)]
    yield from (one.jumping.drawn(rng) for _ in range(_EACH // _DRAWN))


def _work(options: Options, task: Task) -> Outcome:
    one = ready(task.kernel, task.abi, options.folder)
    rng = random.Random(f"{NAME} {options.seed} {task.number}")
    return attempt(options, task.number, one, [*_changes(one, task, options.seed, rng)], rng)


class _Attempt:
    """What one task has found."""

    def __init__(self, options: Options, number: int, one: Ready, rng: random.Random) -> None:
        self.options, self.number, self.one, self.rng = options, number, one, rng
        self.traced = partial(_traced, one.built.kernel, one.built.abi, options.folder)
        self.refused: Counter[str] = Counter()
        self.late = 0
        self.right: dict[str, list[Change]] = defaultdict(list)
        """By their functions, the changes with which the right certificate is accepted."""
        self.odd: list[tuple[str, Change, object]] = []
        """A function, a change and a certificate that is accepted where the right one is not."""
        self.proved = 0
        self.total = Outcome()

    def finding(self, symbol: str, changes: Sequence[Change], said: object, wrong: str) -> Outcome:
        one = self.one
        files: dict[str, bytes | str] = {
            "object.o": together(one.jumping, {symbol: changes}).data,
            "original.o": one.jumping.obj.data,
            "statement.toml": statement_text(one.spec),
            "certificates.json": text_of({} if said is None else {symbol: said}),
        }
        repeat = self.options.repeating(NAME, self.number)
        what = "; ".join(change.what for change in changes)
        title = f"{symbol}, {one.built.abi}: {what}"
        return Outcome(findings=(Finding(title, wrong, repeat, files),))

    def ask(self, symbol: str, change: Change, said: object, found: Verdict) -> bool:
        """Count a verdict; return whether a certificate is accepted."""
        if found.stopped:
            self.total += self.finding(symbol, [change], said, f"it stopped: {found.stopped}")
        elif found.late:
            self.late += 1
        elif found.refused:
            self.refused[found.refused] += 1
        else:
            self.proved += 1
            return True
        return False

    def judge(self, symbol: str, changes: Sequence[Change], said: object) -> Verdict:
        """Return what the rules say of a function with some changes by a certificate."""
        mutant, jumping = self.one.jumping.obj, self.one.jumping
        for change in changes:
            mutant = change.made(mutant)
        at = {place for change in changes for place in jumping.changed(change)}
        changed = frozenset(self.one.begins + place for place in at)

        def ask() -> Refutation | None:
            return self.traced(symbol).refuted(load_image(mutant.data), said, changed)

        return judged(ask, _SECONDS)

    def change(self, change: Change) -> list[tuple[str, Change]]:
        """Ask the rules about one change; return the functions that no certificate proves."""
        refused = []
        for symbol in self.one.jumping.touched(change):
            right = self.traced(symbol).certificate
            lies = [json.loads(json.dumps(lied(self.rng, right)))]
            lies *= self.rng.random() < _LIES and lies != [right]
            accepted = [
                said
                for said in (right, *lies)
                if self.ask(symbol, change, said, self.judge(symbol, [change], said))
            ]
            if right in accepted:
                self.right[symbol].append(change)
            elif accepted:
                self.odd.append((symbol, change, accepted[0]))
            else:
                refused.append((symbol, change))
        return refused

    def search(self, symbol: str, change: Change) -> None:
        """Search a certificate of a function."""
        own = replace(self.one.spec, functions=(self.one.functions[symbol],))
        mutant = change.made(self.one.jumping.obj)
        if self.ask(symbol, change, None, verdict(mutant.data, own, _SECONDS)):
            self.odd.append((symbol, change, None))

    def run(self, changes: Mapping[str, Sequence[Change]]) -> trial.Ran:
        """Run an object in which functions have changes that are accepted."""
        data, one = together(self.one.jumping, changes).data, self.one
        seed = f"{NAME} {self.options.seed} {self.number}"
        brief = self.rng.random() >= _WHOLE
        return trial.run(data, one.built, self.options.folder, seed, brief=brief)

    def layer(self, symbol: str, changes: list[Change]) -> list[Change]:
        """Take changes out of a list, and return them: they are accepted together, too."""
        taken = _apart(changes)
        right = self.traced(symbol).certificate
        while len(taken) > 1 and self.judge(symbol, taken, right) != Verdict():
            # One change may lead to where another one leads back.
            half = len(taken) // 2
            changes += taken[half:]
            taken = taken[:half]
        return taken

    def checked(self, layer: Mapping[str, Sequence[Change]], said: object = None) -> Outcome:
        """Run accepted changes; if that is wrong, each function and each change by itself."""
        ran = self.run(layer)
        total = Outcome(calls=ran.calls)
        if not ran.wrong and not ran.not_run:
            return total
        symbol, changes = next(iter(layer.items()))
        parts = [{name: some} for name, some in layer.items()]
        if len(parts) == 1:
            parts = [{symbol: [change]} for change in changes]
        for part in parts if parts != [layer] else ():
            total += self.checked(part, said)
        if total.findings or total.not_run:
            return total
        if ran.not_run:
            return total + Outcome(not_run={ran.not_run: 1})
        said = said or self.traced(symbol).certificate
        wrong = f"accepted, and wrong when run ({ran.how}): {ran.wrong}"
        return total + self.finding(symbol, changes, said, wrong)

    def all_run(self) -> Outcome:
        """Run what is accepted; return the outcome of it all."""
        ran, left = Outcome(), {symbol: [*changes] for symbol, changes in self.right.items()}
        while left := {symbol: changes for symbol, changes in left.items() if changes}:
            ran += self.checked({symbol: self.layer(symbol, some) for symbol, some in left.items()})
        for symbol, change, said in self.odd:
            ran += self.checked({symbol: [change]}, said)
        right = self.proved - sum(ran.not_run.values()) - len(ran.findings)
        late = {f"no verdict in {_SECONDS} s": self.late} if self.late else {}
        return self.total + ran + Outcome(self.refused, max(right, 0), late)


def _apart(changes: list[Change]) -> list[Change]:
    """Take changes out of a list that do not overlap, and return them."""
    taken, left, end = list[Change](), list[Change](), 0
    for change in sorted(changes, key=lambda one: one.at):
        if change.at < end:
            left.append(change)
        else:
            taken.append(change)
            end = change.at + len(change.content)
    changes[:] = left
    return taken


def attempt(
    options: Options, number: int, one: Ready, changes: Sequence[Change], rng: random.Random
) -> Outcome:
    """Ask the rules about changes of an object, and run what they accept of it."""
    found = _Attempt(options, number, one, rng)
    refused = [pair for change in changes for pair in found.change(change)]
    if refused and rng.random() < _SEARCHED:
        found.search(*rng.choice(refused))
    return found.all_run()


PART = Part(
    NAME,
    "compact kernels: jumps changed, certificates with lies; what is accepted is run",
    _tasks,
    _work,
)
