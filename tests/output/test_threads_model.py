"""The protocol of the pool in all interleavings, and the model of it beside the C."""

import re

import pytest
from helpers.threads_machine import Machine, Setting, explore
from helpers.threads_model import FAULTS, SMALL, STEPS
from helpers.threads_steps import ACCESSES, CALLS, COUNTERS, SILENT, C, body

SEEN = {
    Setting((2,), 1, 2): 14158,
    Setting((1,), 2, 2): 158009,
    Setting((2,), 2, 1): 137878,
    Setting((2, 2), 1, 1): 183502,
}
"""What is explored, and how many states that has: two jobs of one caller with one thread and with
two, one job of two pieces with two, two callers that meet. Each ends in `destroy`."""

ATOMIC = re.compile(r"\batomic_(?!init|flag_clear\(|signal_fence|flag |int )\w+\(")
ACCESS = re.compile(rf"{ATOMIC.pattern}|\b(?:acquire|release|sleep_on|wake_all|thread_join)\(")


@pytest.mark.parametrize("setting", SEEN)
def test_nothing_goes_wrong_in_any_interleaving(setting: Setting) -> None:
    found = explore(Machine(setting, STEPS))
    assert (found.wrong, found.trace) == ("", [])
    assert found.states == SEEN[setting]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    settings = [Setting(s.callers, s.workers, s.pieces, fault) for s in SMALL]
    explored = (explore(Machine(setting, STEPS)) for setting in settings)
    found = next((result for result in explored if result.wrong), None)
    assert found
    assert found.trace


@pytest.mark.parametrize("function", ACCESSES)
def test_every_access_of_the_c_is_a_step_in_its_order(function: str) -> None:
    text = body(function)
    places = [text.index(expression) for _, expression in ACCESSES[function]]
    assert places == sorted(places)
    assert all(text.count(expression) == 1 for _, expression in ACCESSES[function])
    for _, expression in ACCESSES[function]:
        text = text.replace(expression, "")
    assert ACCESS.findall(without_counters(text)) == []


def without_counters(text: str) -> str:
    """The C without what orders nothing: relaxed, of members that are counters."""
    return re.sub(
        rf"atomic_\w+_explicit\(&pool->(?:{'|'.join(COUNTERS)})\b[^;]*?, memory_order_relaxed\)",
        "",
        text,
    )


def test_what_else_is_atomic_in_the_c_orders_nothing() -> None:
    rest = re.sub(r"/\*.*?\*/", "", C, flags=re.DOTALL)
    rest = without_counters(rest)
    for function in ACCESSES:
        rest = rest.replace(
            without_counters(re.sub(r"/\*.*?\*/", "", body(function), flags=re.DOTALL)), ""
        )
    assert ATOMIC.findall(rest) == []


@pytest.mark.parametrize("function", CALLS)
def test_functions_of_the_protocol_are_called_in_this_order(function: str) -> None:
    """By whoever calls any of them."""
    found = re.findall(rf"\b({'|'.join(ACCESSES)})\(", body(function))
    assert tuple(found) == CALLS[function]


def test_nobody_else_calls_them() -> None:
    """But who asks for helpers, where no step is but who helps."""
    functions = re.findall(r"^[\w ]*\W(\w+)\([^;{]*\)\n{\n(.*?)^}$", C, re.MULTILINE | re.DOTALL)
    called = "|".join(f for f in ACCESSES if f not in ("helpers_for", "hash_held", "destroy"))
    callers = {name for name, text in functions if re.search(rf"\b(?:{called})\(", text)}
    assert callers == CALLS.keys()


def test_every_step_is_one_of_the_c_or_says_why_not() -> None:
    paired = {step for steps in ACCESSES.values() for step, _ in steps}
    assert STEPS.keys() == paired | SILENT.keys()
    assert not paired & SILENT.keys()
