"""A machine of threads that take steps, and an explorer of all their interleavings.

A step is one access to what threads share. `explore` takes every interleaving of all threads, with
wake-ups that nobody sent, from the first state to the last. Memory is sequentially consistent here;
that the C asks for enough order is what ThreadSanitizer looks at. The steps of the pool, and which
lines of the C they stand for, are in threads_model.py.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Setting:
    """Who takes part."""

    callers: tuple[int, ...]
    """Jobs that each caller has, in calls of one or of several; the first destroys the pool when
    all are through."""
    workers: int
    pieces: int
    """Of each call, the caller's first not counted."""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """Where a thread is, and what it knows."""

    at: str
    job: int = 0
    """The number of the job that it works for."""
    left: int = 0
    """Of claims, when it looked."""
    piece: int = 0
    """The piece that it hashes or waits for."""
    calls: int = 0
    """Jobs still to have; 0 for threads of the pool."""
    quiet: bool = False
    """Whether its call wakes nobody."""


@dataclass(frozen=True, slots=True)
class State:
    """What threads share, and where each is. Numbers of jobs are from 1; y is 0 where it is wiped
    and -1 where it is being written, and so is the job."""

    threads: tuple[Thread, ...]
    done: tuple[int, ...]
    y: tuple[int, ...]
    number: int = 0
    left: int = 0
    job: int = 0
    sleepers: int = 0
    lock: int = -1
    taken: bool = False
    waiting: bool = False
    stop: bool = False
    freed: bool = False
    quiet: bool = False
    """Whether the job is there for who looks for work, and wakes nobody."""


class WrongError(Exception):
    """What must never happen has happened."""


@dataclass
class Explored:
    """What an exploration found."""

    states: int = 0
    steps: int = 0
    wrong: str = ""
    trace: list[str] = field(default_factory=list)
    """The steps that lead to what is wrong, as thread: step."""


_FIELDS = tuple(f.name for f in fields(State))

Moves = Iterator[State]
Step = Callable[["Machine", State, int, Thread], Moves]


class Machine:
    """The steps of a setting, by where a thread is."""

    def __init__(self, setting: Setting, steps: Mapping[str, Step]) -> None:
        self.setting = setting
        self.steps = steps
        self.fault = setting.fault
        self.callers = len(setting.callers)

    def first(self) -> State:
        callers = tuple(Thread("call", calls=calls) for calls in self.setting.callers)
        workers = (Thread("serve"),) * self.setting.workers
        return State(callers + workers, (0,) * self.setting.pieces, (0,) * self.setting.pieces)

    def last(self, s: State) -> bool:
        return all(thread.at == "end" for thread in s.threads)

    def moves(self, s: State, t: int) -> Moves:
        """Return the states that thread t can make of this one by its next step."""
        thread = s.threads[t]
        if thread.at == "end":
            return
        if s.freed and t >= self.callers:
            raise WrongError(f"thread {t} uses a pool that is freed")
        yield from self.steps[thread.at](self, s, t, thread)

    def to(self, s: State, t: int, at: str, /, **changes: object) -> State:
        """Return the state in which thread t is elsewhere; own fields begin with my_."""
        old = s.threads[t]
        mine = {k[3:]: v for k, v in changes.items() if k.startswith("my_")}
        values = {
            "job": old.job, "left": old.left, "piece": old.piece, "calls": old.calls,
            "quiet": old.quiet, **mine,
        }  # fmt: skip
        thread = Thread(at, **values)  # type: ignore[arg-type]
        threads = (*s.threads[:t], thread, *s.threads[t + 1 :])
        shared = {name: getattr(s, name) for name in _FIELDS}
        shared |= {k: v for k, v in changes.items() if not k.startswith("my_")}
        shared["threads"] = threads
        return State(**shared)

    def woken(self, s: State, asleep: str, awake: str) -> State:
        """Return the state in which all that slept want the lock back."""
        threads = tuple(
            Thread(awake, x.job, x.left, x.piece, x.calls, x.quiet) if x.at == asleep else x
            for x in s.threads
        )
        return State(threads, *(getattr(s, name) for name in _FIELDS[1:]))

    def spurious(self, s: State, t: int) -> Moves:
        """Return the states after a wake-up that nobody sent."""
        awake = {"asleep": "lock again", "waits": "lock again to wait"}
        if s.threads[t].at in awake:
            yield self.to(s, t, awake[s.threads[t].at])

    def check(self, s: State) -> None:
        """Refuse a state in which a thread sleeps over pieces that nobody will wake it for."""
        waking = {"who sleeps", "lock to wake", "wake"}
        if self.fault == "looks who sleeps before it publishes":
            waking.add("publish")
        asleep = not s.quiet and any(x.at == "asleep" for x in s.threads)
        if s.left and asleep and not any(x.at in waking for x in s.threads):
            raise WrongError("a thread sleeps over pieces, and nobody will wake it")


def explore(machine: Machine) -> Explored:
    """Take every interleaving, until something is wrong or all states are seen.

    Wrong is what a step refuses, a thread that sleeps over pieces, and a state from which no
    sequence of steps leads to the end, wake-ups that nobody sent not counted: threads that wait for
    each other, or for nobody.
    """
    found = Explored()
    first = machine.first()
    parents: dict[State, tuple[State, str] | None] = {first: None}
    behind: dict[State, list[State]] = {}
    todo, lasts = [first], []

    def refuse(s: State, why: str) -> Explored:
        found.states, found.wrong = len(parents), why
        here: tuple[State, str] | None = parents[s]
        while here is not None:
            found.trace.insert(0, here[1])
            here = parents[here[0]]
        return found

    while todo:
        s = todo.pop()
        try:
            machine.check(s)
            for t, thread in enumerate(s.threads):
                sent = list(machine.moves(s, t))
                for new in (*sent, *machine.spurious(s, t)):
                    found.steps += 1
                    if new not in parents:
                        parents[new] = (s, f"{t}: {thread.at}")
                        todo.append(new)
                for new in sent:
                    behind.setdefault(new, []).append(s)
        except WrongError as why:
            return refuse(s, str(why))
        if machine.last(s):
            lasts.append(s)
    ends, todo = set(lasts), lasts
    while todo:
        for s in behind.get(todo.pop(), ()):
            if s not in ends:
                ends.add(s)
                todo.append(s)
    for s in parents:
        if s not in ends:
            return refuse(s, "threads wait for each other, or for nobody")
    found.states = len(parents)
    return found
