"""Faults planted by hand in functions of messages in pieces, and what the proof says of them."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category, Refutation
from helpers.gcm_proving import AVX, proved, text_of
from helpers.planting import put

Edit = Callable[[str], str]

FUNCTION, MEMORY, TIMING = Category.FUNCTION, Category.MEMORY, Category.CONSTANT_TIME
ABI, WIPE, OPEN = Category.ABI, Category.WIPE, Category.UNSUPPORTED

WIDE = GcmKernel(128, "avx512vl", "k", "clmul1", 2, streams=True, messages=False)
WIPED = replace(AVX, wipe=True)


ENTRY = "endbr64\n"
REFUSED = ".refused:\n"
ALIGNED = """.ready:
 mov r11, rsp
 and r11, -64
 vmovdqa ymm9, [{}]
 vzeroupper
"""


def behind(*edits: tuple[str, str]) -> Edit:
    """Return an edit: these lines follow the first place of each text."""
    return put(*((old, f"{old}{new}") for old, new in edits))


Row = tuple[Edit, Edit, Category, str]
"""A fault, its repaired twin, and how the fault is refused."""

ASKED = TIMING, "a condition depends on a secret"


def at(old: str, wrong: str, twin: str, *refusal: Any) -> Row:
    """Return a row: what stands in the place of a text."""
    return (put((old, wrong)), put((old, twin)), *refusal)


def after(old: str, wrong: str, twin: str, *refusal: Any) -> Row:
    """Return a row: what follows a text."""
    return (behind((old, wrong)), behind((old, twin)), *refusal)


def lines(*lines: str) -> str:
    return "\n ".join(lines)


def edited(kernel: str, text: str, operation: str, change: Edit) -> str:
    head, label, tail = text.partition(f"\n{kernel}_{operation}:\n")
    own, end, rest = tail.partition("\n.end:")
    new = change(own)
    assert new != own
    return head + label + new + end + rest


def refuted(operation: str, change: Edit, kernel: GcmKernel = AVX) -> Refutation | None:
    text = edited(kernel.name, text_of(kernel), operation, change)
    return proved(kernel, text, operation).refutation


def require_refused(
    operation: str, wrong: Edit, twin: Edit, category: Category, words: str,
    kernel: GcmKernel = AVX, found: bool = True,
) -> None:  # fmt: skip
    """What is wrong is refused, in these words; its twin differs in that alone, and is proved.

    `found`: a certificate of the twin is found.
    """
    refutation = refuted(operation, wrong, kernel)
    assert refutation is not None
    assert refutation.category == category, str(refutation)
    assert words in str(refutation)
    refutation = refuted(operation, twin, kernel)
    assert (refutation.category if refutation else None) == (None if found else OPEN)


def require_wiped(operation: str, label: str, secret: bool) -> None:
    """Behind a label one register is not wiped, which is refused if a secret has come by then."""

    def unwiped(own: str) -> str:
        before, at, after = own.partition(label)
        wipe = re.search(r" +vpxor +xmm2, xmm2, xmm2 +; wipe\n", after)
        assert wipe is not None
        return before + at + after[: wipe.start()] + after[wipe.end() :]

    text = edited(WIPED.name, text_of(WIPED), operation, unwiped)
    refutation = proved(WIPED, text, operation).refutation
    if secret:
        assert refutation is not None
        assert refutation.category == Category.WIPE, str(refutation)
    else:
        assert refutation is None


def changed(function: str, old: str, new: str, nth: int = 0) -> str:
    """The kernel's text, one place behind the label of a function changed; NAME is the kernel's."""
    head, label, tail = text_of(AVX).partition(f"\n{AVX.name}_{function}:\n")
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>\\w+)", re.escape(old.replace("NAME", AVX.name)))
    match = list(re.finditer(pattern, tail))[nth]
    assert match.start() < tail.index("\n.end:"), old
    fresh = new.replace("NAME", AVX.name).format(**match.groupdict())
    return head + label + tail[: match.start()] + fresh + tail[match.end() :]
