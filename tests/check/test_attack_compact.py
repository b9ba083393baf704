"""The attack on compact kernels: its mutants, its lies, and that it catches a prover that errs."""

import json
import random
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.emulating import needs_emulator

from ghashgen.check.attack.core import Options
from ghashgen.check.attack.jumps import Change, Jumping, together
from ghashgen.check.attack.lies import lied
from ghashgen.check.attack.parts import compact
from ghashgen.check.attack.verdict import Verdict, judged, verdict
from ghashgen.kernels.selection import Choice
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.search.telling import wrong_at
from ghashgen.verify.x86_64.elf import load_image

KERNEL = compact.KERNELS[0]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(5, tmp_path_factory.mktemp("attack"))


@pytest.fixture
def one(options: Options) -> compact.Ready:
    return compact.ready(KERNEL, "sysv", options.folder)


def of(one: compact.Ready, operation: str) -> tuple[object, object]:
    """Return a function, and the statement of it alone."""
    (function,) = (f for f in one.spec.functions if f.operation == operation)
    return function, replace(one.spec, functions=(function,))


def skipping(one: compact.Ready) -> Change:
    """Return the change by which a key of 192 bits is expanded as one of 128."""
    never = (c for c in one.changes if c.what.endswith("never"))
    return next(c for c in never if " je " in c.what and "init" in one.jumping.touched(c)[0])


def test_every_jump_is_changed_once(one: compact.Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {change.made(one.jumping.obj).data for change in one.changes}
    assert len(made) == len(one.changes) > 50 * len(one.jumping.jumps)
    assert all(one.jumping.touched(change) for change in one.changes[::50])
    options = Options(1, Path(), Choice(name=("gcm_sse_winograd_clmul1_x8_compact",)), ("sysv",))
    tasks = [*islice(compact.PART.tasks(options), 160)]
    monkeypatch.setattr(Jumping, "drawn", lambda self, rng: Change("drawn", 0, b""))
    assert {task.kernel.name for task in tasks} == set(options.choice.name)
    made = [[*compact._changes(one, task, 1, random.Random(task.number))] for task in tasks]
    listed = [change for some in made for change in some if change.content]
    assert len(listed) == len(set(listed)) == len(one.changes)
    assert all(len(some) == compact._EACH for some in made[: len(one.changes) // compact._EACH])


def test_no_change_moves_an_address(one: compact.Ready) -> None:
    rng = random.Random(3)
    obj = one.jumping.obj
    for change in (*one.changes[::97], *(one.jumping.drawn(rng) for _ in range(40))):
        made = change.made(obj)
        assert made.data != obj.data
        assert len(made.data) == len(obj.data)
        assert load_image(made.data).symbols == load_image(obj.data).symbols


def test_functions_that_are_refused_are_the_right_ones(
    one: compact.Ready, options: Options
) -> None:
    """A changed function has code of its own behind theirs; their certificates are as good."""
    function, own = of(one, "encrypt")
    ruin = Change("all of it", 0, b"\xc3" * len(one.jumping.obj.code))
    right = compact._certificate(one.jumping.obj.data, one.spec, function, options.folder)
    given = {function.symbol: right}
    others = {symbol: [ruin] for symbol in one.jumping.starts if symbol != function.symbol}
    assert verdict(together(one.jumping, others).data, own, given=given) == Verdict()
    ruined = together(one.jumping, {**others, function.symbol: [ruin]})
    assert verdict(ruined.data, own, given=given).refused


def test_single_runs_say_what_the_rules_say(one: compact.Ready, options: Options) -> None:
    """Whether a change or a lie is accepted: by the runs that it concerns, and by all."""
    function, own = of(one, "encrypt")
    traced = compact._traced(KERNEL, "sysv", options.folder, function.symbol)
    changes = random.Random(4).sample(one.changes, 400)
    touching = [c for c in changes if function.symbol in one.jumping.touched(c)]
    rng, answers = random.Random(5), []
    for change in touching[:5]:
        data = change.made(one.jumping.obj).data
        changed = frozenset(at + one.begins for at in one.jumping.changed(change))
        lie = json.loads(json.dumps(lied(rng, traced.certificate)))
        for said in (traced.certificate, lie):
            few = judged(partial(traced.refuted, load_image(data), said, changed))
            whole = verdict(data, own, given={function.symbol: said})
            assert bool(few.refused) == bool(whole.refused), change.what
            answers.append(bool(whole.refused))
    assert {*answers} == {True, False}


def test_lies_are_certificates_of_the_same_form(one: compact.Ready, options: Options) -> None:
    function, own = of(one, "encrypt")
    right = compact._certificate(one.jumping.obj.data, one.spec, function, options.folder)
    rng = random.Random(1)
    lies = [lied(rng, right) for _ in range(12)]
    assert sum(lie != right for lie in lies) >= 10
    assert all(lie["keys"].keys() == right["keys"].keys() for lie in lies)
    said = [
        verdict(one.jumping.obj.data, own, given={function.symbol: json.loads(json.dumps(lie))})
        for lie in lies
    ]
    assert not any(one.stopped for one in said)
    assert sum(bool(one.refused) for one in said) >= 6


def test_the_telling_lengths_are_run_under_every_key_size(one: compact.Ready) -> None:
    _, own = of(one, "init_any")
    assert wrong_at(one.jumping.obj.data, own, (0,)) is None
    refused = wrong_at(skipping(one).made(one.jumping.obj).data, own, (0,))
    assert refused is not None
    assert refused.category is not Category.UNSUPPORTED


@pytest.mark.cpu(AS_FOUND)
class TestRuns:
    pytestmark = needs_emulator

    def test_a_key_size_that_is_wrong_is_refused(
        self, one: compact.Ready, options: Options
    ) -> None:
        found = compact.attempt(options, 0, one, [skipping(one)], random.Random(1))
        assert found.findings == ()
        assert found.right == 0
        assert sum(found.refused.values()) >= 1

    def test_a_prover_that_accepts_it_is_caught(
        self, one: compact.Ready, options: Options, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compact, "judged", lambda *args: Verdict())
        found = compact.attempt(options, 7, one, [skipping(one)], random.Random(1))
        (finding,) = found.findings
        assert "accepted, and wrong when run" in finding.wrong
        assert "under" in finding.wrong or "init" in finding.wrong
        assert "--first 7 --count 1" in finding.repeat
        assert {"object.o", "certificates.json"} <= finding.files.keys()
