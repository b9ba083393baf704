"""Which expression of the runtime's C each step of threads_model.py stands for.

By function of the C, in the order of its text: every access to what threads share. Two lists of
what is no step, with the reason, hold the rest: `COUNTERS`, and what only one thread sees.
"""

import re

from helpers.threading_runtime import runtime

SILENT = {
    "call": "a call begins or there is none left",
    "end to write the job": "one assignment of the C, which others could see half done",
    "asleep": "in the wait for a condition",
    "lock again": "in the wait for a condition",
    "waits": "in the wait for a condition",
    "lock again to wait": "in the wait for a condition",
    "join callers": "the host's, before it destroys the pool",
}
"""Steps that no expression stands for, and why."""

COUNTERS = ("alone", "since", "ended", "spins", "spin_ns", "crossover")
"""Members of the pool that order nothing: they are atomic, always relaxed, and say what to try."""

ACCESSES = {
    "hash_piece": (("read the job", "job->pieces - (size_t)left"),
        ("begin to hash", "memset(result->y, 0, BLOCK)"), ("end to hash", "job->update("),
        ("done", "atomic_store(&result->done, number)"),
        ("who waits", "atomic_load(&pool->waiting)"), ("lock to report", "acquire(&pool->lock)"),
        ("report", "wake_all(&pool->finished)"), ("unlock, reported", "release(&pool->lock)")),
    "help": (("look for pieces", "atomic_load(&pool->claims)"),
        ("take", "atomic_compare_exchange_weak(&pool->claims, &claims, claims - 1)")),
    "sleep_until_woken": (("lock to sleep", "acquire(&pool->lock)"),
        ("say so", "atomic_fetch_add(&pool->sleepers, 1)"),
        ("look again, at pieces", "atomic_load(&pool->claims)"),
        ("look again, at stop", "atomic_load(&pool->stop)"),
        ("sleep", "sleep_on(&pool->work, &pool->lock)"),
        ("unsay it", "atomic_fetch_sub(&pool->sleepers, 1)"),
        ("unlock, awake", "release(&pool->lock)")),
    "serve": (("serve", "atomic_load_explicit(&pool->stop, memory_order_relaxed)"),),
    "publish": (
        ("last job", "atomic_load_explicit(&pool->claims, memory_order_relaxed)"),
        (
            "publish and wake nobody",
            "atomic_store_explicit(&pool->claims, claims, memory_order_release)",
        ),
        ("publish", "atomic_store(&pool->claims, claims)"),
        ("who sleeps", "atomic_load(&pool->sleepers)"),
        ("lock to wake", "acquire(&pool->lock)"),
        ("wake", "wake_all(&pool->work)"),
        ("unlock, woken", "release(&pool->lock)"),
    ),
    "hold": (("hold", "atomic_flag_test_and_set_explicit(&pool->taken, memory_order_acquire)"),),
    "leave": (("give back", "atomic_flag_clear_explicit(&pool->taken, memory_order_release)"),),
    "begin": (("begin to write the job", "pool->job = *job"),
        ("this job", "atomic_load_explicit(&pool->claims, memory_order_relaxed)")),
    "await": (("look for the hash", "atomic_load_explicit(&result->done, memory_order_acquire)"),
        ("lock to wait", "acquire(&pool->lock)"), ("wait", "atomic_store(&pool->waiting, 1)"),
        ("look again for the hash", "atomic_load(&result->done)"),
        ("sleep till reported", "sleep_on(&pool->finished, &pool->lock)"),
        ("wait no more", "atomic_store(&pool->waiting, 0)"),
        ("unlock, waited", "release(&pool->lock)")),
    "helpers_for": (("who helps", "atomic_load_explicit(&pool->sleepers, memory_order_relaxed)"),),
    "hash_held": (("own piece", "update(table, x, in, job.first)"),
        ("combine", "key->combine(x, pool->results[i].y, p)"),
        ("wipe", "wipe(pool->results[i].y, BLOCK)")),
    "destroy": (("lock to stop", "acquire(&pool->lock)"), ("stop", "atomic_store(&pool->stop, 1)"),
        ("wake to stop", "wake_all(&pool->work)"), ("unlock, stopped", "release(&pool->lock)"),
        ("join", "thread_join(pool->ids[i])"), ("free", "free(pool->memory)")),
}  # fmt: skip
"""Step, and its expression, or how that begins up to the bracket of its arguments."""

CALLS = {
    "help": ("hash_piece",),
    "serve": ("help", "sleep_until_woken"),
    "begin": ("publish",),
    "hash_held": ("begin", "help", "await"),
    "engage": ("hold",),
    "disengage": ("leave",),
    "hash_rows": ("begin", "help", "await"),
}
"""Who calls functions of the protocol, and in which order: the interleaved split like any other."""

C = runtime()["ghashgen_threads.c"]


def body(function: str, text: str = C) -> str:
    name = {"destroy": "ghashgen_pool_destroy"}.get(function, function)
    (found,) = re.findall(
        rf"^[\w ]*\W{name}\([^;{{]*\)\n{{\n(.*?)^}}$", text, re.MULTILINE | re.DOTALL
    )
    return str(found)
