"""The objects that were made to fool a prover, against the rules: none has a certificate.

A twin that the rules do not prove either is a miss of the search, listed with its reason: then the
refusal of the wrong object says nothing of the rules.
"""

from pathlib import Path

import pytest
from helpers import attack_objects
from helpers.attacking import source, statement
from helpers.core_checking import proved
from helpers.verify_objects import assembled
from test_verify_attack import LEFT, LENGTHS
from test_verify_objects import ATTACKS

MISSES = {
    "block_kept": "the loop is entered in two ways, which differ in what is to be done behind it",
}
"""Right objects that are not proved, and why."""


@pytest.fixture(autouse=True)
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 1500)


@pytest.mark.parametrize("name", sorted(LENGTHS))
def test_wrong_at_some_lengths(name: str) -> None:
    spec = statement("update", length_multiple=LENGTHS[name][0])
    assert not proved(assembled(source(name, True)), spec)
    assert proved(assembled(source(name, False)), spec) == (name not in MISSES)


def test_the_last_lengths() -> None:
    """The wrong object leaves out so many blocks that nobody counts them one by one."""
    assert not proved(assembled(source("last_lengths", True)), statement("update"))
    assert proved(assembled(source("last_lengths", False)), statement("update"))


@pytest.mark.parametrize("name", ["null_input", "wrapped_pointer"])
def test_a_null_pointer_and_no_bytes(name: str) -> None:
    assert not proved(assembled(source(name, True)), statement("update"))
    assert proved(assembled(source(name, False)), statement("update"))


def test_a_mask_register_narrows() -> None:
    assert not proved(assembled(source("mask_width", True)), statement("mul"))
    assert proved(assembled(source("mask_width", False)), statement("mul"))


@pytest.mark.parametrize("name", sorted(LEFT))
def test_a_secret_left_behind(name: str) -> None:
    spec = statement(LEFT[name][0], wipe=True)
    assert not proved(assembled(source(name, True)), spec)
    assert proved(assembled(source(name, False)), spec)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_a_wrong_object_is_refused_and_its_twin_is_proved(name: str, tmp_path: Path) -> None:
    path = attack_objects.source(name)
    wrong, right = (attack_objects.assemble(path, tmp_path, fault) for fault in (True, False))
    spec = attack_objects.statement("win64" if name.startswith("frame") else "sysv")
    assert not proved(wrong.read_bytes(), spec)
    assert proved(right.read_bytes(), spec)
