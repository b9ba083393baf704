"""`open` with an assertion that a value is the right tag: it is proved, its wrong twins are not.

The kernel has a straight path for short texts, which meets the others only where the tag is known.
"""

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from helpers.gcm_proving import text_of
from helpers.open_by_hand import OPEN, SPEC, data

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.message import certificate
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.elf import load_image

SHORT = GcmKernel(128, "avx", "k", "clmul1", 2, short=True)
NAME = f"{SHORT.name}_open"

Certificate = dict[str, Any]


def meaning() -> Function:
    """Return what `open` means."""
    spec: Any = statement(SHORT, SHORT.name, "sysv")
    return spec.meaning(next(f for f in spec.functions if f.operation == "open"))


@cache
def image(old: str = "", new: str = "") -> Image:
    """Return the object of the kernel, with another text at one place of `open`."""
    head, label, own = text_of(SHORT, "sysv").partition(f"\n{NAME}:\n")
    if old:
        assert own.count(old) == 1
        own = own.replace(old, new)
    return load_image(assemble_text(find_nasm(), SHORT.name, head + label + own, "elf64"))


@cache
def found(old: str = "", new: str = "") -> Certificate:
    """Return the certificate that is found.

    Raises:
        Refutation: none is.
    """
    return certificate(Checker(image(old, new), meaning(), {}), "sysv")


def check(where: Image, one: Certificate, what: Callable[[], Function] = meaning) -> None:
    """Check a certificate as it is read from its text.

    Raises:
        Refutation: it is refused.
    """
    Checker(where, what(), read_certificate(json.loads(json.dumps(one)))).check()


def labels(where: Image) -> dict[int, str]:
    """Return the labels in `open` by their offsets."""
    begin = where.symbol(NAME)
    return {at - begin: n for n, at in where.symbols.items() if n.startswith(f"{NAME}.")}


def moved(where: Image) -> Certificate:
    """Return the right certificate at the labels of another object."""
    out, at = copy.deepcopy(found()), {n: offset for offset, n in labels(where).items()}
    for one in out["assertions"].values():
        one["at"] = at[labels(image())[one["at"]]]
    return out


def joint() -> str:
    """Return the name of the assertion that says what the right tag is."""
    tagged = [
        n for n, a in found()["assertions"].items() if isinstance(a["ghosts"]["answer"], dict)
    ]
    (name,) = tagged
    return name


def test_it_is_proved_by_a_joint_before_the_comparison() -> None:
    one = found()["assertions"][joint()]
    assert labels(image())[one["at"]] == f"{NAME}.wanted"
    assert one["places"]["v0.0"] == ["v", one["ghosts"]["answer"]["tag"]]
    # Ways of every length of text come there, and go on in ways of every length of a tag.
    assert len(one["among"]["tag_length"]) == 7
    check(image(), found())


WRONG = {
    "the last block is not hashed": (" cmp rbx, 0x00\n je .tail_reduce\n", " jmp .tail_reduce\n",
        "a value that is not the tag"),
    "the lengths are exchanged": (" vmovq xmm4, r8\n vpunpcklqdq xmm3, xmm3, xmm4 ",
        " vmovq xmm4, r8\n vpunpcklqdq xmm3, xmm4, xmm3 ", "a value that is not the tag"),
    "the tag without its mask": (" vpxor xmm0, xmm0, xmm1 ; the tag\n.wanted:\n", ".wanted:\n",
        "a value that is not the tag"),
    "the mask of the short path is another block": (" jmp .short_reduce\n.short_none:\n",
        " jmp .wanted\n.short_none:\n", "a value that is not the tag"),
    "compared before the lengths are hashed": (".written:\n.tag:\n",
        ".written:\n.tag:\n vpshufb xmm0, xmm2, xmm0\n jmp .wanted\n",
        "a value that is not the tag"),
    "the last byte of a whole tag is not compared": (
        ".whole:\n vmovdqu xmm1, [rax] ; the given tag\n vpxor xmm0, xmm0, xmm1 ; differences\n",
        ".whole:\n vmovdqu xmm1, [rax]\n vpxor xmm0, xmm0, xmm1\n vpslldq xmm0, xmm0, 1\n",
        "a condition depends on a secret"),
    "a byte more than the tag has is compared": ("; differences\n vmovq xmm1, r10\n",
        "\n lea rcx, [r10 + 1]\n vmovq xmm1, rcx\n", "a condition depends on a secret"),
    "a tag of 8 bytes is compared as one of 4": (" jb .four\n vmovq xmm1, [rax] ",
        " jbe .four\n vmovq xmm1, [rax] ", "a condition depends on a secret"),
    "only one half is compared": (" vpor xmm0, xmm0, xmm1 ; all differences\n", "",
        "a condition depends on a secret"),
    "a jump on a bit of the tag": (".wanted:\n",
        ".wanted:\n vmovq rcx, xmm0\n test cl, 1\n jz .whole\n", "a condition depends on a secret"),
}  # fmt: skip
"""A text in the kernel, what stands there instead, and why the right certificate is refused."""


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_kernel_is_refused(name: str) -> None:
    old, new, words = WRONG[name]
    where = image(old, new)
    with pytest.raises(Refutation, match=words):
        check(where, moved(where))


@pytest.mark.parametrize(
    "name", ["the last block is not hashed", "the last byte of a whole tag is not compared"]
)
def test_no_certificate_that_is_found_proves_a_wrong_kernel(name: str) -> None:
    old, new, _ = WRONG[name]
    with pytest.raises(Refutation):
        check(image(old, new), found(old, new))


def edit(name: str, field: str, **values: Any) -> Callable[[], Certificate]:
    """Return the right certificate with other values in an assertion."""

    def edited() -> Certificate:
        out = copy.deepcopy(found())
        (at,) = (at for at, n in labels(image()).items() if n == f"{NAME}.{name}")
        (one,) = (a for a in out["assertions"].values() if a["at"] == at)
        assert one[field] != one[field] | values
        one[field] |= values
        return out

    return edited


FALSE = {
    "another value is the tag": (edit("wanted", "places", **{"v0.0": "?", "v1.0": ["v", "tag"]}),
        "a value that is not the tag"),
    "half of the tag is the tag": (edit("wanted", "places", **{"v0.0": "?", "rcx": ["v", "tag"]}),
        "not the tag|is an address or a length"),
    "a value that is nowhere": (edit("wanted", "ghosts", answer={"tag": "other"}),
        "a ghost of uother, which is no unknown value"),
    "the tag is public": (edit("wanted", "places", **{"v0.0": "!"}), "v0.0 is a secret"),
    "the tag is forgotten": (edit("wanted", "places", **{"v0.0": "?", "v2.0": ["v", "tag"]}),
        "a value that is not the tag"),
    "nothing is said of the tag": (edit("wanted", "ghosts", answer=None),
        "a state of which nothing is known"),
    "the tag before the text": (edit("text", "ghosts", answer={"tag": "x"}),
        "length, which has to be known"),
    "the tag within the text": (edit("group", "ghosts", answer={"tag": "x0"}),
        "length, which has to be known"),
    "the tag behind the answer": (edit("clear_blocks", "ghosts", answer={"tag": "tag"}),
        "another answer"),
    "the tag and the answer": (
        edit("clear_blocks", "ghosts", answer={"tag": "tag", "answer": "differs"}), "no answer"),
    "the answer before it is given": (edit("wanted", "ghosts", answer="right"), "another answer"),
    "a tag that has no name": (edit("wanted", "ghosts", answer={"tag": 1}), "no answer"),
    "a text that is not written yet": (edit("wanted", "ghosts", output="0"),
        "is written and left out"),
}  # fmt: skip
"""A wrong certificate of the right kernel, and why it is refused."""


@pytest.mark.parametrize("name", sorted(FALSE))
def test_a_wrong_certificate_is_refused(name: str) -> None:
    edited, words = FALSE[name]
    with pytest.raises(Refutation, match=words):
        check(image(), edited())


def again(place: str) -> Certificate:
    """Return a certificate that says two instructions later again what the tag is."""
    out = copy.deepcopy(found())
    for one in out["assertions"].values():
        one["level"] = 2 * one["level"] + 2
    first, begin = out["assertions"][joint()], image().symbol(NAME)
    behind = decode(image(), int(decode(image(), begin + first["at"]).next_ip)).next_ip
    first["places"]["v1.0"] = ["v", "other"]
    second = copy.deepcopy(first)
    places = {**second["places"], "v0.0": "?", "v1.0": "?", place: ["v", "again"]}
    out["assertions"]["renamed"] = second | {
        "at": behind - begin,
        "places": places,
        "ghosts": second["ghosts"] | {"answer": {"tag": "again"}},
        "among": {"tag_length": [4, 8, 12, 13, 14, 15]},
        "unknowns": second["unknowns"] | {"tag_length": [4, 15]},
        "level": first["level"] - 1,
        "from": {joint(): next(iter(first["from"].values()))},
    }
    for name, one in out["assertions"].items():
        if isinstance(one["ghosts"]["answer"], str):
            one["level"] = 0
            one["from"]["renamed"] = one["from"][joint()]
            assert name != joint()
    return out


def test_a_value_that_is_the_tag_may_get_another_name() -> None:
    check(image(), again("v0.0"))
    with pytest.raises(Refutation, match="renamed: a value that is not the tag"):
        check(image(), again("v1.0"))


def by_hand(ghosts: dict[str, Any]) -> tuple[Image, Certificate]:
    """Return an `open` that writes no text before the answer, and its certificate with a joint
    where the tag is in xmm8."""
    where = load_image(data())
    out = certificate(Checker(where, SPEC.meaning(OPEN), {}), SPEC.abi)
    end = max(
        (one for one in out["assertions"].values() if one["ghosts"]["answer"] is None),
        key=lambda one: one["at"],
    )
    assert end["ghosts"]["x"]["hashed"] == "length"
    at = where.symbols["gcm_open.tag"]
    while not str(decode(where, at)).startswith("mov rsi"):
        at = int(decode(where, at).next_ip)
    end["at"] = at - where.symbol("gcm_open")
    end["places"] |= {"rax": "!", "r8": "!", "v0.0": "?", "v7.0": "?"}
    end["ghosts"] |= ghosts
    return where, out


def test_the_tag_may_be_known_before_a_text_is_written() -> None:
    where, one = by_hand({"x": None, "answer": {"tag": "x"}})
    check(where, one, lambda: SPEC.meaning(OPEN))
    where, one = by_hand({"answer": None})
    with pytest.raises(Refutation, match="ux is no sum of powers of H"):
        check(where, one, lambda: SPEC.meaning(OPEN))
