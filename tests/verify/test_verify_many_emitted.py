"""Kernels that take many messages one after another are proved, and refused with a fault."""

import re
from functools import cache
from typing import Any

import pytest
from helpers.verify_objects import assembled

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.verify.checking import check_function
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.x86_64.elf import load_image

KERNELS = {
    "sse": GcmKernel(128, "sse", "k", "clmul1", 2, many="each"),
    "avx": GcmKernel(128, "avx", "k", "clmul1", 2, many="each"),
    "avx2": GcmKernel(256, "avx2", "winograd", "clmul1", 4, many="each"),
    "wipe": GcmKernel(128, "sse", "k", "clmul1", 2, many="each", short=True, wipe=True),
    # Behind an IV of 12 bytes its AAD has a loop of its own.
    "short": GcmKernel(128, "avx512", "k", "clmul1", 4, many="each", short=True),
}
BOTH = ("seal_many", "open_many")


@cache
def source(name: str) -> str:
    return make(KERNELS[name], target(), find_nasm()).text


def stated(name: str, operation: str) -> tuple[Any, Any]:
    """Return what a kernel claims, and of which function."""
    spec = statement(KERNELS[name], KERNELS[name].name, "sysv")
    (function,) = (f for f in spec.functions if f.operation == operation)
    return spec, function


@cache
def proved(name: str, operation: str) -> Any:
    """Return the certificate that is found and accepted."""
    spec, function = stated(name, operation)
    return find_function(load_image(assembled(source(name))), spec, function)[function.symbol]


@pytest.mark.parametrize("operation", BOTH)
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_proved_for_any_count(name: str, operation: str) -> None:
    assertions = proved(name, operation)["assertions"]
    assert {*assertions["next"]["from"]} == {"entry", *assertions}


WRONG = {
    ("seal_many", "the tag of the next message"): (
        r"\[rax \+ 32\]( +; tag\n)", r"[rax + 112]\1", "not known to be in it"),
    ("seal_many", "the status of the message before"): (
        r"\[rax \+ 72\]", "[rax - 8]", "messages at 80*record-8, not known to be in it"),
    ("seal_many", "the length of the next message"): (
        r"\[rsi \+ 40\]", "[rsi + 120]", "not known to be in it"),
    ("seal_many", "a status that is never 2"): (
        "mov +ecx, 0x02", "mov ecx, 0x00", "status is wrong, not 2"),
    ("seal_many", "a tail in the bytes behind"): (
        r"vmovd( +\[r11\])", r"vmovq\1", "output"),
    ("seal_many", "a message left out at the end"): (
        r"(cmp +rax, )0x00(\n +)je( +\.done)", r"\g<1>0x01\2jbe\3", "not every message is done"),
    ("seal_many", "a message counted twice"): (
        r"(sub +rax, )0x01", r"\g<1>0x02", "stack+-56:8 is not as the assertion has it"),
    ("seal_many", "the same message again"): (
        "0x50( +; the next message)", r"0x00\1", "rsi is not as the assertion has it"),
    ("open_many", "the tag of the next message"): (
        r"\[rax \+ 32\]( +; tag\n)", r"[rax + 112]\1", "not known to be in it"),
    ("open_many", "the size of the tag before"): (
        r"\[rax \+ 64\]", "[rax - 16]", "not known to be in it"),
    ("open_many", "half of a tag"): (
        r"(vpshufd +xmm1, xmm0, )0x4e", r"\g<1>0xe4", "a condition depends on a secret"),
    ("open_many", "a text that stays"): (
        r"vmovdqu +\[rbp\], xmm0", "db 0x0f, 0x1f, 0x44, 0x00, 0x00", "output"),
    ("open_many", "a status that is never 1"): (
        "mov +ecx, 0x01", "mov ecx, 0x00", "status is wrong, not 1"),
}  # fmt: skip
"""By function and fault: what stands in its text, what is put there, why it is refused."""


@pytest.mark.parametrize(("operation", "fault"), WRONG)
def test_a_planted_fault_is_refused(operation: str, fault: str) -> None:
    old, new, why = WRONG[operation, fault]
    certificate, (spec, function) = proved("avx", operation), stated("avx", operation)
    before, label, own = source("avx").partition(f"\n{function.symbol}:\n")
    own, end, behind = own.partition("\n.end:")
    changed, count = re.subn(old, new, own)
    assert count
    image = load_image(assembled("".join((before, label, changed, end, behind))))
    with pytest.raises(Refutation, match=re.escape(why)):
        check_function(image, spec, function, certificate)
