"""The protocol of templates/threads/protocol.c.j2 and hash.c.j2 as steps of threads_machine.py.

A step is one atomic operation, one operation on the lock or a condition, or one plain access.
threads_steps.py says which expression of the C each stands for; test_threads_model.py holds the C's
text to that, and test_threads_trace.py what threads of the C do to the ways that this model has.
What bounds the looking before a sleep has no step: here a thread may go to sleep after any look.
"""

from helpers.threads_machine import Machine, Moves, Setting, State, Step, Thread, WrongError

FAULTS = (
    "says that it sleeps after it has looked", "looks who sleeps before it publishes",
    "wakes without the lock", "reads hashes without a look", "says done before it has hashed",
    "looks who waits before it says done", "done without the number of its job",
    "takes pieces of whatever job", "waits once, whatever woke it", "calls though it is taken",
    "stops without waking", "frees without joining",
)  # fmt: skip
"""Faults that can be planted, by what is wrong then."""


def _put(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*values[:place], value, *values[place + 1 :])


# --- The pool's threads


def _serve(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "end" if s.stop else "look for pieces")


def _look(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if s.left:
        yield m.to(s, t, "take", my_job=s.number, my_left=s.left)
    else:
        yield from _nothing(m, s, t)


def _hashed(m: Machine, t: int) -> str:
    """Return where a thread is behind a piece."""
    return "look for pieces" if t < m.callers else "serve"


def _nothing(m: Machine, s: State, t: int) -> Moves:
    if t < m.callers:
        yield m.to(s, t, "look for the hash", my_piece=0)
    else:
        yield m.to(s, t, "serve")
        yield m.to(s, t, "lock to sleep")


def _take(m: Machine, s: State, t: int, me: Thread) -> Moves:
    same = (s.number, s.left) == (me.job, me.left)
    if m.fault == "takes pieces of whatever job":
        same = s.left == me.left
    if same:
        yield m.to(s, t, "take")  # a weak one may fail
        yield m.to(s, t, "read the job", left=s.left - 1, my_piece=m.setting.pieces - s.left)
    elif s.left:
        yield m.to(s, t, "take", my_job=s.number, my_left=s.left)
    else:
        yield from _nothing(m, s, t)


def _of_this_job(s: State, me: Thread) -> None:
    if s.job != me.job:
        raise WrongError(f"a piece of job {me.job} is hashed by what job {s.job} says")


def _read_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    _of_this_job(s, me)
    early = m.fault == "says done before it has hashed"
    yield m.to(s, t, "done" if early else "begin to hash")


def _begin_hash(m: Machine, s: State, t: int, me: Thread) -> Moves:
    _of_this_job(s, me)
    if s.y[me.piece]:
        raise WrongError(f"piece {me.piece} is hashed twice, or over a hash that was not wiped")
    yield m.to(s, t, "end to hash", y=_put(s.y, me.piece, -1))


def _end_hash(m: Machine, s: State, t: int, me: Thread) -> Moves:
    _of_this_job(s, me)
    late = m.fault == "says done before it has hashed"
    before = m.fault == "looks who waits before it says done"
    at = "who waits" if late or before else "done"
    yield m.to(s, t, at, y=_put(s.y, me.piece, me.job))


def _done(m: Machine, s: State, t: int, me: Thread) -> Moves:
    at = "who waits"
    if m.fault == "says done before it has hashed":
        at = "begin to hash"
    if m.fault == "looks who waits before it says done":
        at = _hashed(m, t)
    yield m.to(s, t, at, done=_put(s.done, me.piece, me.job))


def _who_waits(m: Machine, s: State, t: int, me: Thread) -> Moves:
    other = _hashed(m, t)
    if m.fault == "looks who waits before it says done":
        other = "done"
    yield m.to(s, t, "lock to report" if s.waiting else other)


def _unlock_reported(m: Machine, s: State, t: int, me: Thread) -> Moves:
    before = m.fault == "looks who waits before it says done"
    yield m.to(s, t, "done" if before else _hashed(m, t), lock=-1)


def _lock(then: str) -> Step:
    def step(m: Machine, s: State, t: int, me: Thread) -> Moves:
        if s.lock < 0:
            yield m.to(s, t, then, lock=t)

    return step


def _unlock(then: str) -> Step:
    def step(m: Machine, s: State, t: int, me: Thread) -> Moves:
        yield m.to(s, t, then, lock=-1)

    return step


def _wake(asleep: str, awake: str, then: str) -> Step:
    def step(m: Machine, s: State, t: int, me: Thread) -> Moves:
        yield m.woken(m.to(s, t, then), asleep, awake)

    return step


def _nobody(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """Asleep: only others move this thread."""
    yield from ()


def _locked_to_sleep(m: Machine, s: State, t: int, me: Thread) -> Moves:
    late = m.fault == "says that it sleeps after it has looked"
    if s.lock < 0:
        yield m.to(s, t, "look again, at pieces" if late else "say so", lock=t)


def _say_so(m: Machine, s: State, t: int, me: Thread) -> Moves:
    late = m.fault == "says that it sleeps after it has looked"
    said = min(s.sleepers + 1, m.setting.workers)  # the fault says so again after each wake-up
    yield m.to(s, t, "sleep" if late else "look again, at pieces", sleepers=said)


def _look_again(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "unsay it" if s.left else "look again, at stop")


def _look_at_stop(m: Machine, s: State, t: int, me: Thread) -> Moves:
    late = m.fault == "says that it sleeps after it has looked"
    if s.stop:
        yield m.to(s, t, "unsay it")
    else:
        yield m.to(s, t, "say so" if late else "sleep")


def _unsay(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "unlock, awake", sleepers=s.sleepers - 1)


# --- Callers


def _call(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if me.calls:
        yield m.to(s, t, "who helps")
    else:
        yield m.to(s, t, "join callers" if t == 0 else "end")


def _who_helps(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """Whether a wake-up is worth its price the clock says: here it may be or not."""
    yield m.to(s, t, "hold", my_quiet=s.sleepers == 0)
    if s.sleepers == m.setting.workers:
        yield m.to(s, t, "call", my_calls=me.calls - 1)  # alone
    elif s.sleepers:
        yield m.to(s, t, "hold", my_quiet=True)


def _hold(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if s.taken and m.fault != "calls though it is taken":
        yield m.to(s, t, "call", my_calls=me.calls - 1, my_quiet=False)  # alone
    else:
        yield from _next_job(m, m.to(s, t, "hold", taken=True, quiet=me.quiet), t, me)


def _next_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """What is long enough is cut, and what is not the caller has alone."""
    own: dict[str, object] = {"my_calls": me.calls - 1, "my_job": 0, "my_left": 0, "my_piece": 0}
    yield m.to(s, t, "begin to write the job", **own)
    yield m.to(s, t, "own piece", **own)


def _begin_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "end to write the job", job=-1)


def _end_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "last job", job=s.number + 1)


def _last_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    first = m.fault == "looks who sleeps before it publishes"
    at = "publish and wake nobody" if s.quiet else "who sleeps" if first else "publish"
    yield m.to(s, t, at, my_job=s.number + 1)


def _publish_quietly(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "this job", number=me.job, left=m.setting.pieces)


def _publish(m: Machine, s: State, t: int, me: Thread) -> Moves:
    first = m.fault == "looks who sleeps before it publishes"
    at = "lock to wake" if first and me.left else "this job" if first else "who sleeps"
    yield m.to(s, t, at, number=me.job, left=m.setting.pieces)


def _who_sleeps(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if m.fault == "looks who sleeps before it publishes":
        yield m.to(s, t, "publish", my_left=int(s.sleepers > 0))
    elif m.fault == "wakes without the lock":
        yield m.to(s, t, "wake" if s.sleepers else "this job")
    else:
        yield m.to(s, t, "lock to wake" if s.sleepers else "this job")


def _unlock_woken(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if m.fault == "wakes without the lock":
        yield m.to(s, t, "this job")
    else:
        yield m.to(s, t, "this job", lock=-1)


def _this_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "own piece", my_job=s.number, my_left=0)


def _own_piece(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """What the caller hashes here is nobody else's. Without a job there is nothing to await."""
    if me.job:
        yield m.to(s, t, "look for pieces")
    else:
        yield from _behind_a_job(m, s, t, me)


def _behind_a_job(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """A call has one job, or several: AAD and text, and parts of what is very long."""
    yield m.to(s, t, "give back")
    if me.calls:
        yield from _next_job(m, s, t, me)


def _ready(m: Machine, s: State, me: Thread) -> bool:
    if m.fault == "done without the number of its job":
        return s.done[me.piece] != 0
    return s.done[me.piece] == me.job or m.fault == "reads hashes without a look"


def _look_for_hash(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if _ready(m, s, me):
        yield m.to(s, t, "combine")
    else:
        yield m.to(s, t, "look for the hash")
        yield m.to(s, t, "lock to wait")


def _wait(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "look again for the hash", waiting=True)


def _look_again_for_hash(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "wait no more" if _ready(m, s, me) else "sleep till reported")


def _lock_again_to_wait(m: Machine, s: State, t: int, me: Thread) -> Moves:
    once = m.fault == "waits once, whatever woke it"
    if s.lock < 0:
        yield m.to(s, t, "wait no more" if once else "look again for the hash", lock=t)


def _wait_no_more(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "unlock, waited", waiting=False)


def _combine(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if s.y[me.piece] != me.job:
        raise WrongError(f"the hash of piece {me.piece} of job {me.job} is read, and is not there")
    yield m.to(s, t, "wipe")


def _wipe(m: Machine, s: State, t: int, me: Thread) -> Moves:
    wiped = m.to(s, t, "wipe", y=_put(s.y, me.piece, 0))
    if me.piece + 1 < m.setting.pieces:
        yield m.to(wiped, t, "look for the hash", my_piece=me.piece + 1)
    else:
        yield from _behind_a_job(m, wiped, t, me)


def _give_back(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(
        *(s, t, "call"), taken=False, quiet=False, my_job=0, my_left=0, my_piece=0, my_quiet=False
    )


def _join_callers(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if all(x.at == "end" for x in s.threads[1 : m.callers]):
        yield m.to(s, t, "lock to stop")


def _stop(m: Machine, s: State, t: int, me: Thread) -> Moves:
    silent = m.fault == "stops without waking"
    yield m.to(s, t, "unlock, stopped" if silent else "wake to stop", stop=True)


def _unlock_stopped(m: Machine, s: State, t: int, me: Thread) -> Moves:
    without = m.fault == "frees without joining"
    yield m.to(s, t, "free" if without else "join", lock=-1)


def _join(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """One thread of the pool after the other."""
    if s.threads[m.callers + me.piece].at == "end":
        more = me.piece + 1 < m.setting.workers
        yield m.to(s, t, "join" if more else "free", my_piece=me.piece + more)


def _free(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "end", freed=True)


STEPS: dict[str, Step] = {
    "serve": _serve,
    "look for pieces": _look,
    "take": _take,
    "read the job": _read_job,
    "begin to hash": _begin_hash,
    "end to hash": _end_hash,
    "done": _done,
    "who waits": _who_waits,
    "lock to report": _lock("report"),
    "report": _wake("waits", "lock again to wait", "unlock, reported"),
    "unlock, reported": _unlock_reported,
    "lock to sleep": _locked_to_sleep,
    "say so": _say_so,
    "look again, at pieces": _look_again,
    "look again, at stop": _look_at_stop,
    "sleep": _unlock("asleep"),
    "asleep": _nobody,
    "lock again": _lock("unsay it"),
    "unsay it": _unsay,
    "unlock, awake": _unlock("serve"),
    "call": _call,
    "who helps": _who_helps,
    "hold": _hold,
    "begin to write the job": _begin_job,
    "end to write the job": _end_job,
    "last job": _last_job,
    "publish and wake nobody": _publish_quietly,
    "publish": _publish,
    "who sleeps": _who_sleeps,
    "lock to wake": _lock("wake"),
    "wake": _wake("asleep", "lock again", "unlock, woken"),
    "unlock, woken": _unlock_woken,
    "this job": _this_job,
    "own piece": _own_piece,
    "look for the hash": _look_for_hash,
    "lock to wait": _lock("wait"),
    "wait": _wait,
    "look again for the hash": _look_again_for_hash,
    "sleep till reported": _unlock("waits"),
    "waits": _nobody,
    "lock again to wait": _lock_again_to_wait,
    "wait no more": _wait_no_more,
    "unlock, waited": _unlock("combine"),
    "combine": _combine,
    "wipe": _wipe,
    "give back": _give_back,
    "join callers": _join_callers,
    "lock to stop": _lock("stop"),
    "stop": _stop,
    "wake to stop": _wake("asleep", "lock again", "unlock, stopped"),
    "unlock, stopped": _unlock_stopped,
    "join": _join,
    "free": _free,
}

SMALL = (Setting((2,), 1, 1), Setting((2, 2), 1, 1))
"""Settings with few interleavings."""
