"""The sweep over Dask workers: each gets what it can run; what a lost one had is done again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, masked
from helpers.tuning import (
    AVX,
    COARSE,
    FINE,
    MODES,
    SSE,
    candidate,
    host,
    measured,
    real_candidates,
    throughput,
)

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.cli.verbs.tune import _unmeasurable
from ghashgen.lab.store import complete, open_store
from ghashgen.lab.tune.lab import Lab, lab
from ghashgen.lab.tune.measure import Batch, Host, alone, describe, measure
from ghashgen.lab.tune.sweep import Plan, Task, sweep
from ghashgen.records.core import Results
from ghashgen.support.errors import GhashgenError

if TYPE_CHECKING:  # it takes half a second
    from distributed import Client

PLAN = Plan(coarse=COARSE, fine=FINE, batch=1, finalists=2)


@contextmanager
def cluster(*names: str) -> Iterator[Client]:
    """A cluster on the loopback interface: workers of these names in this process."""
    from distributed import Client, Scheduler, Worker
    from distributed.deploy.spec import SpecCluster

    workers = {name: {"cls": Worker, "options": {"nthreads": 1, "name": name}} for name in names}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "host": "127.0.0.1", "port": 0}}
    with (
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as made,
        Client(made, set_as_default=False) as client,
    ):
        if names:
            client.wait_for_workers(len(names))
        yield client


def by_name() -> Host:
    """A worker's name says what it is."""
    from distributed import get_worker

    name = str(get_worker().name)
    if name.startswith("old"):
        return Host("CPU", AVX, "another method")
    return host("no AVX", SSE) if name.startswith("sse") else host("with AVX", AVX)


def answer(batch: Batch) -> Results:
    return measured(by_name(), batch)


def refuse(batch: Batch) -> Results:
    raise GhashgenError(f"{batch.units[0].name} gives a wrong GHASH", "validate it")


CANDIDATES = tuple(candidate(isa, n) for isa in ("sse", "avx") for n in (1, 4, 8))
FAR = candidate("avx512", 16, needs=(*AVX, "vpclmulqdq"))


def test_two_workers_of_different_cpus(tmp_path: Path) -> None:
    with cluster("sse", "avx") as client, open_store(tmp_path / "s.sqlite") as store:
        swept = sweep((*CANDIDATES, FAR), Lab(client, answer, by_name), store, PLAN)
        assert [h.cpu for h in swept.hosts] == ["no AVX", "with AVX"]
        assert swept.failures == []
        narrow, wide = (store.figures(h, COARSE) for h in swept.hosts)
        cells = throughput(16, 16384)
        for item in CANDIDATES:
            assert complete(wide, item.unit.code, cells)
            # The worker without AVX is never given a kernel that needs it.
            assert complete(narrow, item.unit.code, cells) == (item.unit.isa == "sse")
        for figures in (narrow, wide):
            assert not complete(figures, FAR.unit.code, throughput(16))
        # Nobody has it: it is left to the model, which the command names as such.
        assert _unmeasurable((*CANDIDATES, FAR), swept) == ([FAR], {})
        again = sweep((*CANDIDATES, FAR), Lab(client, answer, by_name), store, PLAN)
        assert (again.measured, again.kept) == (0, swept.measured)


def test_a_worker_with_another_harness_is_refused() -> None:
    with cluster("old", "avx") as client:
        runner = Lab(client, answer, by_name)
        assert [h.cpu for h in runner.hosts()] == ["with AVX"]
        assert list(runner.refused.values()) == ["its harness differs from the one here"]


def test_nobody_there_and_nobody_fit() -> None:
    with cluster() as client, pytest.raises(GhashgenError, match="has no worker"):
        Lab(client, answer, by_name, patience=0).hosts()
    with cluster("old") as client:
        with pytest.raises(GhashgenError, match="its harness differs"):
            Lab(client, answer, by_name).hosts()
        task = Task(host("elsewhere"), Batch(COARSE, (FAR.unit,), (16,), MODES))
        (outcome,) = Lab(client, answer, by_name, patience=0.1).run([task])
        assert (outcome.measured, outcome.failure) == (None, "no worker of this kind is left")
    for address, why in (("nonsense://x:1", "nonsense"), ("nowhere", "that names no port")):
        told = pytest.raises(GhashgenError, match=f"no scheduler answers at {address}: .*{why}")
        with told, lab(address):
            pass


def test_a_wrong_kernel_ends_the_sweep_with_its_name(tmp_path: Path) -> None:
    with cluster("avx") as client, open_store(tmp_path / "s.sqlite") as store:
        with pytest.raises(GhashgenError, match=r"tcp://.*: ghash_.* gives a wrong GHASH"):
            sweep(CANDIDATES, Lab(client, refuse, by_name), store, PLAN)
        assert store.last() == 0


# --- workers in processes of their own


MARK = "GHASHGEN_TEST_MARK"


def one_kind() -> Host:
    return host("one kind", AVX)


def dies_once(batch: Batch) -> Results:
    """The first to be given the batch of 8 blocks is killed over it."""
    mark = Path(os.environ[MARK])
    if batch.units[0].kernel.blocks == 8 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return measured(one_kind(), batch)


def always_dies(batch: Batch) -> Results:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """The local cluster of the command, with two workers: a nanny starts them again if they die."""
    mark = tmp_path_factory.mktemp("lab") / "mark"
    here = Path(__file__).parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, str(mark))
        patch.setenv("PYTHONPATH", f"{here}:{here.parent}:{here.parents[1]}")
        with lab(workers=2) as runner:
            yield runner.client, mark


def test_a_scheduler_by_its_address() -> None:
    with cluster("avx") as client, lab(client.scheduler.address) as runner:
        named = replace(runner, describe=by_name)
        assert list(named.tags().values()) == [host("with AVX", AVX)]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_real_workers_measure() -> None:
    """No fake: the workers are asked for their CPU, and measure what it can run."""
    with lab(workers=2) as runner:
        measure_really(runner)


def measure_really(runner: Lab) -> None:
    assert runner.hosts() == (describe(),)
    (here,) = runner.hosts()
    units = [item.unit for item in real_candidates(1, 4)]
    tasks = [Task(here, Batch(COARSE, (unit,), (16, 80), MODES)) for unit in units]
    if lacking(units[0].needs):
        with pytest.raises(GhashgenError, match=r"ghash_avx_winograd_clmul1_x[14] cannot run on"):
            run_all(runner, tasks)
        return
    for task, found in zip(tasks, sorted_by_name(run_all(runner, tasks)), strict=True):
        names = {(cell.name, cell.mode, cell.size) for cell in found.cells}
        name = task.batch.units[0].name
        assert names == {(name, "throughput", 16), (name, "throughput", 80), (name, "init", 0)}
        assert all(cell.cycles > 0 for cell in found.cells)
    batch = Batch(COARSE, (candidate("avx", 1, needs=("no such feature",)).unit,), (16,), MODES)
    with pytest.raises(GhashgenError, match="cannot run on"):
        run_all(runner, [Task(runner.hosts()[0], batch)])


def run_all(runner: Lab, tasks: Sequence[Task]) -> list[Results]:
    return [outcome.measured for outcome in runner.run(tasks) if outcome.measured]


def sorted_by_name(found: list[Results]) -> list[Results]:
    return sorted(found, key=lambda item: item.cells[0].name)


def test_a_worker_lost_on_the_way(processes: tuple[Client, Path], tmp_path: Path) -> None:
    client, mark = processes
    with open_store(tmp_path / "s.sqlite") as store:
        swept = sweep(CANDIDATES, Lab(client, dies_once, one_kind), store, PLAN)
        assert mark.read_text().isdigit()
        assert swept.failures == []
        figures = store.figures(one_kind(), COARSE)
        assert all(
            complete(figures, item.unit.code, throughput(16, 64, 16384)) for item in CANDIDATES
        )


def test_what_no_worker_survives_is_given_up(
    processes: tuple[Client, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = processes
    monkeypatch.setattr("ghashgen.lab.tune.lab.ATTEMPTS", 1)
    batch = Batch(COARSE, (FAR.unit,), (16,), MODES)
    runner = Lab(client, always_dies, one_kind)
    (outcome,) = runner.run([Task(one_kind(), batch)])
    assert (outcome.measured, outcome.failure) == (None, "its worker was lost, time 1")


def most_at_once(guard: Callable[[], AbstractContextManager[None]]) -> int:
    """How many of eight threads were inside at the same time."""
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> None:
        with guard():
            inside.append(number)
            time.sleep(0.01)
            most.append(len(inside))
            inside.remove(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(8)))
    return max(most)


def test_one_batch_at_a_time_on_a_machine() -> None:
    assert most_at_once(alone) == 1
    assert most_at_once(nullcontext) > 1


@pytest.mark.cpu(AS_FOUND)
def test_features_can_be_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    present = set(describe().features)
    monkeypatch.setenv(FEATURES_OFF, masked("avx,avx2"))
    assert set(describe().features) == present - {"avx", "avx2"}
    batch = Batch(COARSE, (candidate("avx", 1).unit,), (16,), MODES)
    with pytest.raises(GhashgenError, match="cannot run on"):
        measure(batch)
