"""The protocol of templates/threads/protocol.c.j2 and hash.c.j2 as steps of threads_machine.py.

A step is one atomic operation, one operation on the lock or a condition, or one plain access. Every
atomic operation and every operation on the lock and the conditions in the C has a step, which
`ACCESSES` pairs; tests/test_threads_model.py holds the two together.
"""

from __future__ import annotations

from threads_machine import Machine, Moves, State, Step, Thread, WrongError

ACCESSES = {
    "hash_piece": (
        ("done", "atomic_store(&result->done, number);"),
        ("who waits", "if (atomic_load(&pool->waiting)) {"),
        ("lock to report", "acquire(&pool->lock);"),
        ("report", "wake_all(&pool->finished);"),
        ("unlock, reported", "release(&pool->lock);"),
    ),
    "help": (
        ("look for pieces", "uint64_t claims = atomic_load(&pool->claims);"),
        ("take", "if (atomic_compare_exchange_weak(&pool->claims, &claims, claims - 1)) {"),
    ),
    "sleep_until_woken": (
        ("lock to sleep", "acquire(&pool->lock);"),
        ("say so", "atomic_fetch_add(&pool->sleepers, 1);"),
        (
            "look again, at stop",
            "if (!(atomic_load(&pool->claims) & LEFT) && !atomic_load(&pool->stop))",
        ),
        ("sleep", "sleep_on(&pool->work, &pool->lock);"),
        ("unsay it", "atomic_fetch_sub(&pool->sleepers, 1);"),
        ("unlock, awake", "release(&pool->lock);"),
    ),
    "serve": (
        ("serve", "while (!atomic_load_explicit(&pool->stop, memory_order_relaxed)) {"),
        ("", "atomic_load_explicit(&pool->spins, memory_order_relaxed)) {"),
    ),
    "publish": (
        ("last job", "claims = atomic_load_explicit(&pool->claims, memory_order_relaxed)"),
        (
            "publish and wake nobody",
            "atomic_store_explicit(&pool->claims, claims, memory_order_release);",
        ),
        ("publish", "atomic_store(&pool->claims, claims);"),
        ("who sleeps", "if (atomic_load(&pool->sleepers) && !in_child(pool)) {"),
        ("lock to wake", "acquire(&pool->lock);"),
        ("wake", "wake_all(&pool->work);"),
        ("unlock, woken", "release(&pool->lock);"),
    ),
    "await": (
        ("", "unsigned spins = atomic_load_explicit(&pool->spins, memory_order_relaxed);"),
        (
            "look for the hash",
            "if (atomic_load_explicit(&result->done, memory_order_acquire) == number)",
        ),
        ("lock to wait", "acquire(&pool->lock);"),
        ("wait", "atomic_store(&pool->waiting, 1);"),
        ("look again for the hash", "while (atomic_load(&result->done) != number)"),
        ("sleep till reported", "sleep_on(&pool->finished, &pool->lock);"),
        ("wait no more", "atomic_store(&pool->waiting, 0);"),
        ("unlock, waited", "release(&pool->lock);"),
    ),
    "helpers_for": (
        ("who helps", "sleepers = atomic_load_explicit(&pool->sleepers, memory_order_relaxed);"),
        ("", "spin_ns = atomic_load_explicit(&pool->spin_ns, memory_order_relaxed);"),
    ),
    "hold": (("", "!atomic_flag_test_and_set_explicit(&pool->taken, memory_order_acquire);"),),
    "begin": (("", "atomic_load_explicit(&pool->claims, memory_order_relaxed)"),),
    "leave": (("", "atomic_flag_clear_explicit(&pool->taken, memory_order_release);"),),
    "hash": (
        ("call", "hold(pool);"),
        ("this job", "number = begin(pool, &job, helpers);"),
        ("give back, alone", "leave(pool, NONE);"),
        ("give back", "leave(pool, helpers);"),
    ),
    "destroy": (
        ("lock to stop", "acquire(&pool->lock);"),
        ("stop", "atomic_store(&pool->stop, 1);"),
        ("wake to stop", "wake_all(&pool->work);"),
        ("unlock, stopped", "release(&pool->lock);"),
    ),
}
"""By function of the C: step, and a text of the line that it stands for, in their order. What
bounds the looking before a sleep has no step: here a thread may go to sleep after any look."""

FAULTS = (
    "says that it sleeps after it has looked",
    "looks who sleeps before it publishes",
    "wakes without the lock",
    "reads hashes without a look",
    "says done before it has hashed",
    "looks who waits before it says done",
    "done without the number of its job",
    "takes pieces of whatever job",
    "waits once, whatever woke it",
    "calls though it is taken",
    "stops without waking",
    "frees without joining",
)
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
        at = "look for pieces"
    yield m.to(s, t, at, done=_put(s.done, me.piece, me.job))


def _who_waits(m: Machine, s: State, t: int, me: Thread) -> Moves:
    other = "look for pieces"
    if m.fault == "looks who waits before it says done":
        other = "done"
    yield m.to(s, t, "lock to report" if s.waiting else other)


def _unlock_reported(m: Machine, s: State, t: int, me: Thread) -> Moves:
    before = m.fault == "looks who waits before it says done"
    yield m.to(s, t, "done" if before else "look for pieces", lock=-1)


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
    if not me.calls:
        yield m.to(s, t, "join callers" if t == 0 else "end")
    elif s.taken and m.fault != "calls though it is taken":
        yield m.to(s, t, "call", my_calls=me.calls - 1)  # alone
    else:
        yield m.to(s, t, "who helps", taken=True, my_calls=me.calls - 1)


def _who_helps(m: Machine, s: State, t: int, me: Thread) -> Moves:
    """Whether a wake-up is worth its price the clock says: here it may be or not."""
    yield m.to(s, t, "begin to write the job", quiet=s.sleepers == 0)
    if s.sleepers == m.setting.workers:
        yield m.to(s, t, "give back, alone")
    elif s.sleepers:
        yield m.to(s, t, "begin to write the job", quiet=True)


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
    """The caller's own piece lies before: it is nobody else's."""
    yield m.to(s, t, "look for pieces", my_job=s.number, my_left=0)


def _ready(m: Machine, s: State, me: Thread) -> bool:
    if m.fault == "done without the number of its job":
        return s.done[me.piece] != 0
    return s.done[me.piece] == me.job or m.fault == "reads hashes without a look"


def _look_for_hash(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if _ready(m, s, me):
        yield m.to(s, t, "combine")
    else:
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
    more = me.piece + 1 < m.setting.pieces
    at = "look for the hash" if more else "give back"
    yield m.to(s, t, at, y=_put(s.y, me.piece, 0), my_piece=me.piece + more)


def _give_back(m: Machine, s: State, t: int, me: Thread) -> Moves:
    yield m.to(s, t, "call", taken=False, quiet=False, my_job=0, my_left=0, my_piece=0)


def _join_callers(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if all(x.at == "end" for x in s.threads[1 : m.callers]):
        yield m.to(s, t, "lock to stop")


def _stop(m: Machine, s: State, t: int, me: Thread) -> Moves:
    silent = m.fault == "stops without waking"
    yield m.to(s, t, "unlock, stopped" if silent else "wake to stop", stop=True)


def _join(m: Machine, s: State, t: int, me: Thread) -> Moves:
    if m.fault == "frees without joining" or all(x.at == "end" for x in s.threads[m.callers :]):
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
    "give back, alone": _give_back,
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
    "unlock, stopped": _unlock("join"),
    "join": _join,
}
