"""A lab: the same sweep over machines with different CPUs, through Dask distributed.

A worker reports its CPU and CPU features. A batch goes to a worker of the right kind, one batch at
a time; two workers on one machine take turns through a lock on that machine. If a worker is lost,
its batch goes to another of the same kind. Results come back here, and only this process writes a
store.
"""

import logging
import re
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ghashgen.lab.tune.measure import Host, Measure, describe, measure, method
from ghashgen.lab.tune.sweep import Outcome, Task
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require

ATTEMPTS = 3
"""Workers that a batch may lose before it is given up."""

_TICK = 0.2
"""Seconds between two looks at the list of workers."""


@dataclass
class Lab:
    """A `Runner` over the workers of a Dask client."""

    client: Any
    measure: Measure = measure
    describe: Callable[[], Host] = describe
    patience: float = 30.0
    """Seconds to wait for a worker: the first one, or a replacement of a lost kind."""
    refused: dict[str, str] = field(default_factory=dict)
    """By address: why a worker is not used."""
    _known: dict[str, Host] = field(default_factory=dict)

    def hosts(self) -> tuple[Host, ...]:
        """Return the kinds of machine among the workers, each once.

        Raises:
            GhashgenError: no worker came in time, or none can be used.
        """
        end = time.monotonic() + self.patience
        while not self._workers() and not self.refused:
            if time.monotonic() > end:
                raise GhashgenError(
                    "the scheduler has no worker", "start some: dask worker ADDRESS --nthreads 1"
                )
            time.sleep(_TICK)
        if not self._known:
            raise GhashgenError(*next(iter(self.refused.items())))
        return tuple(sorted(set(self._known.values()), key=lambda h: (h.cpu, h.features)))

    def tags(self) -> dict[str, Host]:
        """Return the kind of each worker, by address."""
        return dict(self._workers())

    def run(self, tasks: Sequence[Task]) -> Generator[Outcome, None, None]:
        """Yield outcomes as they come; a batch whose kind of machine is gone fails."""
        waiting = deque(tasks)
        running: dict[Any, tuple[Task, str]] = {}
        lost: Counter[int] = Counter()
        seen = time.monotonic()
        try:
            while waiting or running:
                workers = self._workers()
                self._hand_out(workers, waiting, running)
                for future in self._finished(running):
                    task, address = running.pop(future)
                    outcome = _outcome(task, address, future)
                    if outcome is not None:
                        yield outcome
                        continue
                    lost[id(task)] += 1
                    if lost[id(task)] < ATTEMPTS:
                        waiting.appendleft(task)
                    else:
                        yield Outcome(task, None, f"its worker was lost, time {lost[id(task)]}")
                if running or any(task.host in workers.values() for task in waiting):
                    seen = time.monotonic()
                elif waiting and time.monotonic() - seen > self.patience:
                    yield Outcome(waiting.popleft(), None, "no worker of this kind is left")
        finally:
            for future in running:
                future.cancel()

    def _hand_out(
        self, workers: dict[str, Host], waiting: deque[Task], running: dict[Any, tuple[Task, str]]
    ) -> None:
        """Give every idle worker the first batch for its kind."""
        busy = {address for _, address in running.values()}
        for address, host in workers.items():
            task = next((t for t in waiting if t.host == host), None)
            if address in busy or task is None:
                continue
            waiting.remove(task)
            running[self._submit(address, self.measure, task.batch)] = (task, address)

    def _submit(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        # With `pure`, Dask might return an earlier result; the other options keep the task on its
        # worker.
        return self.client.submit(
            function, *arguments, workers=[address], allow_other_workers=False, pure=False
        )

    def _finished(self, running: dict[Any, tuple[Task, str]]) -> list[Any]:
        """Wait a little; return futures that are done or whose worker is gone."""
        end = time.monotonic() + _TICK
        while time.monotonic() < end and not any(future.done() for future in running):
            time.sleep(_TICK / 10)
        here = self._addresses()
        out = []
        for future, (_, address) in running.items():
            if future.done():
                out.append(future)
            elif address not in here:
                future.cancel()
                out.append(future)
        return out

    def _addresses(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def _workers(self) -> dict[str, Host]:
        """Return the kind of each worker, asking new ones."""
        here = self._addresses()
        self._known = {a: host for a, host in self._known.items() if a in here}
        new = [a for a in here if a not in self._known and a not in self.refused]
        asked = {address: self._submit(address, self.describe) for address in new}
        for address, future in asked.items():
            host = self._answer(address, future)
            if host is None:
                continue
            if host.method != method():
                self.refused[address] = "its harness differs from the one here"
            else:
                self._known[address] = host
        return self._known

    def _answer(self, address: str, future: Any) -> Host | None:
        """Return what a worker reports, or None if it was lost meanwhile."""
        end = time.monotonic() + self.patience
        while not future.done() and time.monotonic() < end and address in self._addresses():
            time.sleep(_TICK / 4)
        if future.status == "finished":
            host: Host = future.result()
            return host
        if future.status == "error" and address in self._addresses():
            self.refused[address] = str(future.exception())
        future.cancel()
        return None


def _outcome(task: Task, address: str, future: Any) -> Outcome | None:
    """Return a future's outcome; None if the worker was lost during it.

    Raises:
        GhashgenError: a kernel is wrong, or cannot be measured there at all.
    """
    from distributed import KilledWorker

    if future.status == "finished":
        return Outcome(task, future.result())
    if future.status != "error":
        return None
    error = future.exception()
    if isinstance(error, KilledWorker):
        return None
    if isinstance(error, GhashgenError):
        raise GhashgenError(f"{address}: {error.cause}", error.remedy)
    return Outcome(task, None, f"{address}: {type(error).__name__}: {error}")


@contextmanager
def lab(scheduler: str = "", workers: int = 1) -> Iterator[Lab]:
    """Connect to a scheduler, or start one with `workers` processes on this machine.

    Raises:
        GhashgenError: nothing answers at that address, or the extra `lab` is not installed.
    """
    require("lab")
    import distributed

    # They have no type information.
    Client: Any = distributed.Client
    LocalCluster: Any = distributed.LocalCluster
    if scheduler:
        if not re.fullmatch(r"\w+://.+:\d+", scheduler):
            raise GhashgenError(
                f"no scheduler answers at {scheduler}: that names no port",
                "write it as tcp://host:8786",
            )
        try:
            client = Client(scheduler, timeout=10, set_as_default=False)
        except Exception as error:  # Whatever answers there may be no scheduler.
            raise GhashgenError(
                f"no scheduler answers at {scheduler}: {error}", "start one: dask scheduler"
            ) from None
        with client:
            yield Lab(client)
        return
    with _children_ignore_interrupts():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.ERROR,
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield Lab(client)


@contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore interrupts from the terminal, because this one ends them.

    They inherit the mask. An interrupt that comes meanwhile is raised here at the end.
    """
    from multiprocessing import resource_tracker

    # It unblocks the signal in the thread that first needs it, so start it before the mask is set.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
