"""An `open` by hand that checks its tag before it decrypts: it is proved, its wrong twins are not.

It reads the text twice. Nothing is written before the tag is known to be right; where it is wrong,
the output is cleared.
"""

import json
from functools import cache
from typing import Any

import pytest
from helpers.open_by_hand import OPEN, SPEC, data

from ghashgen.verify.core.linear import Case, Facts
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.term import Lane, Term
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.text import ANSWER, DIFFERS, DONE
from ghashgen.verify.meaning.text import RIGHT as RIGHT_TAG
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.entry import entered
from ghashgen.verify.rules.state import own
from ghashgen.verify.search.message import certificate
from ghashgen.verify.x86_64.elf import load_image


@cache
def image(**changes: str) -> Image:
    """Return the object of the kernel, with other definitions."""
    return load_image(data(**changes))


def check(found: Image, one: dict[str, Any]) -> None:
    """Check a certificate as it is read from its text.

    Raises:
        Refutation: it is refused.
    """
    assertions = read_certificate(json.loads(json.dumps(one)))
    Checker(found, SPEC.meaning(OPEN), assertions).check()


def proved(found: Image) -> dict[str, Any]:
    """Return the certificate that is found and accepted.

    Raises:
        Refutation: none is found, or it is refused.
    """
    one = certificate(Checker(found, SPEC.meaning(OPEN), {}), SPEC.abi)
    check(found, one)
    return one


@cache
def right() -> dict[str, Any]:
    """Return the certificate of the kernel as it is."""
    return proved(image())


def test_it_is_proved() -> None:
    assertions = right()["assertions"]
    ghosts = [one["ghosts"] for one in assertions.values()]
    assert [g["answer"] for g in ghosts if g["answer"]] == ["differs", "right"]
    # The text is hashed to its end where none of it is written.
    assert any(g["x"] and g["x"]["hashed"] == "length" and g["output"] == "0" for g in ghosts)


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "fifteen bytes of the tag": ({"COMPARED": "17"}, "a condition depends on a secret"),
    "the text of a wrong tag": ({"WRONG": "DECRYPT"}, "read after it has been written over"),
    "nothing is cleared": ({"WRONG": ""}, "length, which has to be known"),
    "the hash of the output": ({"HASHED": "OUT"}, "no loop behind the answer"),
}
"""Definitions, and why it is refused. The last is right in place, and wrong for two buffers."""


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_twin_is_refused(name: str) -> None:
    changes, refused = WRONG[name]
    with pytest.raises(Refutation, match=refused):
        proved(image(**changes))


def test_the_right_certificate_does_not_prove_a_wrong_twin() -> None:
    with pytest.raises(Refutation, match="a condition depends on a secret"):
        check(image(COMPARED="17"), right())


def last_block(output: int, answer: str | None) -> Lane | None:
    """Return what the last block of 23 bytes is where so much of the output is written."""
    meaning = SPEC.meaning(OPEN)
    facts = Facts({**meaning.numbers})
    state = entered(image(), meaning.terms, meaning.call(own(facts), (16, 8)), facts)
    state.ghosts = meaning.begin() | own(facts) | {DONE: output, "counter": 0}
    state.ghosts |= {ANSWER: answer} if answer else {}
    known = state.within(Case(values=(("length", 23),)))
    assert known is not None
    meaning.entering(known)
    return meaning.buffers["input"].content(known.memory, 16)


def test_a_last_block_that_is_written_over_is_not_what_was_read() -> None:
    """It is neither whole nor before the place up to which all is known by whole blocks."""
    assert isinstance(last_block(16, None), Term)
    assert isinstance(last_block(0, RIGHT_TAG), Term)
    for output, answer in ((23, None), (23, RIGHT_TAG), (0, DIFFERS), (16, DIFFERS)):
        with pytest.raises(Refutation, match="read after it has been written over"):
            last_block(output, answer)
