"""AES-GCM on the rules: right kernels are proved by certificates that are found, wrong ones not.

Input and output are two buffers or one: a proof is of both.
"""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from helpers.gcm_proving import SMALL, WHOLE, text_of
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search import hash as loops
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec
from ghashgen.verify.x86_64.elf import load_image

TEXT = ("encrypt", "decrypt")
COVERED = (*TEXT, "seal", "open")
"""The functions that have a meaning on the rules."""


def proved(image: Image, spec: GcmSpec, function: GcmFunction) -> dict[str, Any]:
    """Return the certificate that is found, and checked as it is read from its text.

    Raises:
        Refutation: none is found, or it is refused.
    """
    found: dict[str, Any] = find_function(image, spec, function)[function.symbol]
    return found


def check(image: Image, spec: GcmSpec, function: GcmFunction, data: dict[str, Any]) -> None:
    """Check a certificate.

    Raises:
        Refutation: it is refused.
    """
    assertions = read_certificate(json.loads(json.dumps(data)))
    Checker(image, spec.meaning(function), assertions).check()


@cache
def right() -> tuple[Image, GcmSpec]:
    """Return a small kernel without a fault."""
    return load_image(assembled(text_of(SMALL))), statement(SMALL, SMALL.name, "sysv")


def function_of(operation: str) -> GcmFunction:
    return next(f for f in right()[1].functions if f.operation == operation)


@cache
def certificate(operation: str) -> dict[str, Any]:
    """Return the certificate of one of its functions."""
    return proved(*right(), function_of(operation))


@pytest.mark.parametrize("operation", COVERED)
def test_a_right_function_is_proved(operation: str) -> None:
    # Those that bring cases together are named by where they stand.
    names = [n for n in certificate(operation)["assertions"] if not n.startswith("at_")]
    ways = {n.rstrip("0123456789") for n in names}
    assert ways == ({"loop"} if operation in TEXT else {"loop", "joint"})


Named = tuple[str, dict[str, Any]]


def edits(data: dict[str, Any]) -> Iterator[Named]:
    """Yield certificates of seal that are wrong in one thing."""

    def changed(words: str, name: str, field: str, key: str, value: Any) -> Named:
        out = copy.deepcopy(data)
        assert out["assertions"][name][field].get(key) != value, words
        out["assertions"][name][field][key] = value
        return words, out

    names = list(data["assertions"])
    first, text = names[0], names[-1]
    joint = next(n for n in names if n.startswith("joint"))
    yield changed("a counter one block on", text, "ghosts", "counter", "0")
    yield changed("an output that is a block further", text, "ghosts", "output", "32*t+96")
    yield changed("no mask", text, "ghosts", "mask", False)
    x = data["assertions"][text]["ghosts"]["x"]
    yield changed("a block hashed too far", text, "ghosts", "x", {**x, "hashed": "32*t+16"})
    yield changed("a power too much", text, "ghosts", "x", {**x, "ahead": 1})
    yield changed("an IV that is hashed already", first, "ghosts", "counter", "0")
    yield changed("a pointer that stands still", text, "places", "rbp", ["p", "output", "0"])
    yield changed("a joint that is before its loop", joint, "from", first, [])
    yield changed("a range that does not cover", text, "unknowns", "aad_length", [0, 100])


def test_wrong_certificates_of_seal_are_refused() -> None:
    wrong = list(edits(certificate("seal")))
    assert len(wrong) == 9
    accepted = []
    for words, one in wrong:
        try:
            check(*right(), function_of("seal"), one)
        except Refutation:
            continue
        accepted.append(words)
    assert not accepted


def test_a_counter_that_is_read_again_behind_a_cut_is_that_of_the_entry() -> None:
    """Its loop would use one keystream in every turn, where IV ‖ N is named anew at the cut."""
    text = text_of(WHOLE)
    head, label, own = text.partition(f"\n{WHOLE.name}_encrypt:\n")
    again = "\n.group:\n vmovdqu xmm2, [rsi]\n vpshufb xmm2, xmm2, xmm0\n"
    assert "\n.group:\n" in own
    wrong = head + label + own.replace("\n.group:\n", again, 1)
    spec: GcmSpec = statement(WHOLE, WHOLE.name, "sysv")
    function = next(f for f in spec.functions if f.operation == "encrypt")
    before, after = (load_image(assembled(one)) for one in (text, wrong))
    found = loops.certificates(Checker(before, spec.meaning(function), {}), spec.abi)
    data = next(one for one in found if list(one["assertions"]) == ["loop"])
    check(before, spec, function, data)
    loop = data["assertions"]["loop"]
    assert loop["places"]["v2.0"][2][:2] == ["t", "counter"]
    assert loop["ghosts"]["counter"] == "32*t+32"
    loop["places"]["v2.0"] = "?"
    with pytest.raises(Refutation, match=r"the counter at 0, of that at 32\*t\+32"):
        check(after, spec, function, data)


def test_a_decryption_that_leaves_out_a_round_is_not_proved() -> None:
    """What it writes has no polynomials, and nothing else says that it is the plaintext."""
    text = text_of(WHOLE)
    head, label, own = text.partition(f"\n{WHOLE.name}_decrypt:\n")
    lines = own.split("\n")
    at = [k for k, line in enumerate(lines) if "AES: round 9" in line][1]
    wrong = head + label + "\n".join(lines[:at] + lines[at + 1 :])
    spec: GcmSpec = statement(WHOLE, WHOLE.name, "sysv")
    function = next(f for f in spec.functions if f.operation == "decrypt")
    proved(load_image(assembled(text)), spec, function)
    with pytest.raises(Refutation):
        proved(load_image(assembled(wrong)), spec, function)
