"""`open` that leaves its output alone where the tag is wrong: it is proved, wrong twins are not."""

import json
from dataclasses import replace
from typing import Any

import pytest
from helpers.gcm_proving import text_of
from helpers.open_by_hand import OPEN, SPEC, data

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec, statement_text
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.message import certificate
from ghashgen.verify.x86_64.elf import load_image

ZERO = GcmKernel(128, "avx", "k", "clmul1", 2)
KEPT = replace(ZERO, on_failure="untouched")
UNTOUCHED = replace(SPEC, untouched=True)


def check(spec: Any, obj: bytes) -> None:
    """Search for a certificate of `open`, and check it as it is read from its text.

    Raises:
        Refutation: there is none.
    """
    (function,) = [f for f in spec.functions if f.operation == "open"]
    image = load_image(obj)
    one = certificate(Checker(image, spec.meaning(function), {}), spec.abi)
    assertions = read_certificate(json.loads(json.dumps(one)))
    Checker(image, spec.meaning(function), assertions).check()


def of_kernel(kernel: GcmKernel, old: str = "", new: str = "") -> bytes:
    """The object of a kernel, with another text at one place of `open`."""
    head, label, own = text_of(kernel).partition(f"\n{kernel.name}_open:\n")
    if old:
        assert own.count(old) == 1
        own = own.replace(old, new)
    return assemble_text(find_nasm(), kernel.name, head + label + own, "elf64")


def stated(kernel: GcmKernel) -> Any:
    return statement(kernel, kernel.name, "sysv")


def test_a_kernel_by_hand_is_proved_if_it_writes_nothing() -> None:
    check(UNTOUCHED, data(WRONG=""))


def test_a_kernel_of_ours_is_proved() -> None:
    assert stated(KEPT).untouched
    assert not stated(ZERO).untouched
    check(stated(KEPT), of_kernel(KEPT))


@pytest.mark.parametrize("wrong", ["CLEAR", "DECRYPT"])
def test_what_is_written_after_a_wrong_tag_is_refused(wrong: str) -> None:
    with pytest.raises(Refutation, match="written"):
        check(UNTOUCHED, data(WRONG=wrong))


def test_a_text_that_is_written_before_its_tag_is_known_is_refused() -> None:
    spec = replace(stated(ZERO), untouched=True)
    with pytest.raises(Refutation, match="the output is written before the tag is known"):
        check(spec, of_kernel(ZERO))


WRONG = {
    "a byte of the output": (" mov eax, 0x01\n", "    mov  byte [r12], 0\n    mov eax, 1\n"),
    "the status of a right tag": (" mov eax, 0x01\n", "    xor eax, eax\n"),
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_twin_of_ours_is_refused(what: str) -> None:
    with pytest.raises(Refutation):
        check(stated(KEPT), of_kernel(KEPT, *WRONG[what]))


def test_zeros_are_still_wanted_by_default() -> None:
    with pytest.raises(Refutation):
        check(replace(stated(KEPT), untouched=False), of_kernel(KEPT))


def test_a_file_states_it(tmp_path: Any) -> None:
    path = tmp_path / "statement.toml"
    for spec in (SPEC, UNTOUCHED):
        path.write_text(statement_text(spec), encoding="utf-8")
        assert load_spec(path) == spec


@pytest.mark.parametrize(
    "others", [{"messages": False}, {"compact": True, "key": 256, "blocks": 4}]
)
def test_kernels_without_such_an_open_are_refused(others: dict[str, Any]) -> None:
    with pytest.raises(GhashgenError, match="takes an open of its own"):
        replace(KEPT, **others)


def test_the_name_and_the_command_tell_it() -> None:
    assert KEPT.name.endswith("_untouched")
    assert OPEN.operation == "open"
