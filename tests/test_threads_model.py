"""The protocol of the pool in all interleavings, and the model of it beside the C."""

from __future__ import annotations

import re

import pytest
from threading_runtime import runtime
from threads_machine import Machine, Setting, explore
from threads_model import ACCESSES, FAULTS, STEPS

SEEN = {
    Setting((2,), 1, 2): 13163,
    Setting((1,), 2, 2): 154443,
    Setting((2,), 2, 1): 128727,
    Setting((2, 2), 1, 1): 83012,
}
"""What is explored, and how many states that has: two calls of one caller with one thread and with
two, one call of two pieces with two, two callers that meet. Each ends in `destroy`."""

SMALL = (Setting((2,), 1, 1), Setting((2, 2), 1, 1))

C = runtime()["ghashgen_threads.c"]
ACCESS = re.compile(r"\b(?:atomic_\w+|acquire|release|sleep_on|wake_all)\(")


@pytest.mark.parametrize("setting", SEEN)
def test_nothing_goes_wrong_in_any_interleaving(setting: Setting) -> None:
    found = explore(Machine(setting, STEPS))
    assert (found.wrong, found.trace) == ("", [])
    assert found.states == SEEN[setting]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    settings = [Setting(s.callers, s.workers, s.pieces, fault) for s in SMALL]
    explored = [explore(Machine(setting, STEPS)) for setting in settings]
    found = [result for result in explored if result.wrong]
    assert found
    assert found[0].trace


def body(function: str) -> str:
    name = {"destroy": "ghashgen_pool_destroy"}.get(function, function)
    (found,) = re.findall(
        rf"^[\w ]*\W{name}\([^;{{]*\)\n{{\n(.*?)^}}$", C, re.MULTILINE | re.DOTALL
    )
    return str(found)


@pytest.mark.parametrize("function", ACCESSES)
def test_the_model_has_every_access_of_the_c_in_its_order(function: str) -> None:
    text, at = body(function), 0
    for step, line in ACCESSES[function]:
        assert step in STEPS or not step
        assert line in text[at:], line
        at = text.index(line, at) + len(line)
    modelled = sum(len(ACCESS.findall(line)) for _, line in ACCESSES[function])
    assert len(ACCESS.findall(text)) == modelled


def test_what_else_is_atomic_in_the_c_is_no_part_of_the_protocol() -> None:
    rest = C
    for function in ACCESSES:
        rest = rest.replace(body(function), "")
    rest = re.sub(r"/\*.*?\*/", "", rest, flags=re.DOTALL)
    lines = {line.strip() for line in rest.splitlines() if "atomic_" in line}
    lines -= {line for line in lines if line.startswith("atomic_init(")}
    assert lines == {
        "_Alignas(LINE) atomic_flag taken;",
        "atomic_signal_fence(memory_order_seq_cst);",
        "return atomic_load_explicit(&pool->crossover, memory_order_relaxed);",
        "atomic_store_explicit(&pool->crossover, crossover, memory_order_relaxed);",
        "atomic_store_explicit(&pool->spin_ns, spin_ns, memory_order_relaxed);",
        "atomic_store_explicit(&pool->spins, spins_of(spin_ns), memory_order_relaxed);",
        "atomic_flag_clear(&pool->taken);",
    }


def test_every_step_is_one_of_the_c_or_of_what_lies_between() -> None:
    """Plain accesses, looks again and joins have no line of their own in ACCESSES."""
    paired = {step for steps in ACCESSES.values() for step, _ in steps}
    assert STEPS.keys() - paired == {
        *("read the job", "begin to hash", "end to hash", "combine", "wipe"),
        *("begin to write the job", "end to write the job"),
        *("look again, at pieces", "asleep", "lock again", "waits", "lock again to wait"),
        *("join callers", "join"),
    }
