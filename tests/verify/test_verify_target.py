"""The checker on a second target: GHASH `update` by its own specification, and wrong twins of it.

The target is `toy_target`: a decoder, rows, and one value. Neither the rules nor the meaning of
`update` know which machine they are asked about.
"""

import copy
import json
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from helpers.toy_target import TABLE, TOY, assembled, decode, encoded

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.core.limits import GREATEST_LENGTH
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.machine.image import Image, Kind, Section
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search.hash import certificate
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec

UPDATE = FunctionSpec("update", "update", ("table", "state", "input", "length"), 16)
SPEC = KernelSpec("toy", "sysv", Order.REFLECTED, 1, (("B", 1), ("K", 1)), 32, (UPDATE,))

CODE = """
       add  sp, sp, -32
       str  r8, sp, 0
       str  lr, sp, 8
       std  v8, sp, 16
       add  r8, r3, 0
       movh lr, 0xc200         # Q', which folds by 64
       dup  v8, lr
       ldq  v0, r1, 0
       rev  v0, v0             # X
       ldq  v1, r0, 0          # B
       ldq  v2, r0, 16         # K
       cmp  r8, 0
       b.eq done
loop:  ldq  v3, r2, 0
       rev  v3, v3
       eor  v0, v0, v3         # A = X + C
       pmul v3, v0, v2, 0      # A0·K0
       pmul v4, v0, v2, 2      # A0·K1
       pmul v5, v0, v1, 1      # A1·B0
       pmul v0, v0, v1, 3      # A1·B1
       eor  v3, v3, v5
       eor  v0, v0, v4
       pmul v4, v3, v8, 0
       swap v3, v3
       eor  v0, v0, v3
       eor  v0, v0, v4         # (X + C)·H
       add  r2, r2, 16
       add  r8, r8, -16
       cmp  r8, 0
       b.ne loop
done:  rev  v0, v0
       stq  v0, r1, 0
       ldr  r8, sp, 0
       ldr  lr, sp, 8
       ldd  v8, sp, 16
       add  sp, sp, 32
       ret
"""

LOOP = 13
"""The instructions before the loop."""

Q = "0xc200000000000000"

LENGTH = GREATEST_LENGTH // 16

KEPT = ["r9", "r10", "r11", *(f"v{k}.0" for k in range(9, 16))]

CERTIFICATE: dict[str, Any] = {
    "assertions": {
        "loop": {
            "at": 4 * LOOP,
            "unknowns": {"length": [1, LENGTH], "t": [0, LENGTH]},
            "among": {},
            "facts": ["length-t-1"],
            "places": {
                "r0": ["p", "table", "0"],
                "r1": ["p", "state", "0"],
                "r2": ["p", "input", "16*t"],
                "r8": ["n", "16*length-16*t"],
                "sp": ["p", "stack", "-32"],
                "v0.0": ["v", "x"],
                "v1.0": ["t", "entry", "B", 1],
                "v2.0": ["t", "entry", "K", 1],
                "v8.0": ["c", Q + Q[2:]],
                **{name: ["@", name] for name in KEPT},
                "stack+-32:8": ["@", "r8"],
                "stack+-24:8": ["@", "lr"],
                "stack+-16:8": ["t", "moves", ["@", "v8.0"], [[0, "0xffffffffffffffff"]]],
            },
            "ghosts": {"x": {"of": "input", "hashed": "16*t", "ahead": 0, "sum": [["x", 0]]}},
            "flags": "public",
            "dirty": False,
            "level": 1,
            "falls": "length-t-1",
            "from": {
                "entry": [{"length": "length", "t": "0"}],
                "loop": [{"length": "length", "t": "t+1"}],
            },
        }
    }
}


def meaning(wipe: bool = False) -> Function:
    """Return what `update` means, by the convention of the toy."""
    return replace(meaning_of(replace(SPEC, wipe=wipe), UPDATE), abi="toy")


def check(image: Image, data: dict[str, Any] = CERTIFICATE, wipe: bool = False) -> Checker:
    """Check a certificate as it is read from its text.

    Raises:
        Refutation: it is refused.
    """
    assertions = read_certificate(json.loads(json.dumps(data)))
    checker = Checker(image, meaning(wipe), assertions)
    checker.check()
    return checker


@cache
def toy(old: str = "", new: str = "") -> Image:
    """Return the function, with another text in one place."""
    assert not old or CODE.count(old) == 1
    return assembled(CODE.replace(old, new) if old else CODE, "update")


def test_update_is_proved_on_a_second_target() -> None:
    assert check(toy()).returns


def test_the_search_finds_a_certificate_there() -> None:
    check(toy(), certificate(toy(), meaning(), "toy"))


def first(*lines: str) -> tuple[str, str]:
    """Return the change that puts lines before the others."""
    return "       add  sp, sp, -32", "\n".join((*lines, "add sp, sp, -32"))


ABI, FUNCTION, MEMORY, UNSUPPORTED = (
    Category.ABI, Category.FUNCTION, Category.MEMORY, Category.UNSUPPORTED,
)  # fmt: skip

WRONG: dict[str, tuple[tuple[str, str], Category, str]] = {
    "r8 not restored": (("ldr  r8, sp, 0", ""), ABI, "r8 is callee-saved"),
    "v8 not restored": (("ldd  v8, sp, 16", ""), ABI, "v8 is callee-saved"),
    "v8 of another place": (("ldd  v8, sp, 16", "ldd v8, sp, 8"), ABI, "v8 is callee-saved"),
    "v10 not saved": (("done:", "done: eor v10, v10, v10\n"), ABI, "v10 is callee-saved"),
    "sp not restored": (("add  sp, sp, 32", "add sp, sp, 16"), ABI, "stack pointer is not"),
    "lr not restored": (("ldr  lr, sp, 8", ""), ABI, "lr is not where"),
    "a return elsewhere": (("ldr  lr, sp, 8", "ldr lr, sp, 0"), ABI, "lr is not where"),
    "no return": (("       ret", ""), UNSUPPORTED, "outside the code"),
    "a branch on lr": (first("cmp lr, 0", "b.eq done"), FUNCTION, "what the caller left"),
    "a branch on the state": (
        first("ldr r4, r1, 0", "cmp r4, 0", "b.eq done"),
        Category.CONSTANT_TIME, "a condition depends on a secret",
    ),
    "an address from the state": (
        first("ldr r4, r1, 0", "ldr r4, r4, 0"),
        Category.CONSTANT_TIME, "an address depends on a secret",
    ),
    "a product whose time tells": (
        ("pmul v4, v3, v8, 0", "slowmul v4, v3, v8, 0"), Category.TIMING, "slowmul meets a secret",
    ),
    "a block too far": (("ldq  v3, r2, 0", "ldq v3, r2, 16"), MEMORY, "not known to be in it"),
    "a store over the key": (("stq  v0, r1, 0", "stq v0, r0, 0"), MEMORY, "read-only"),
    "a store below sp": (("str  r8, sp, 0", "str r8, sp, -8"), MEMORY, "below what may be used"),
    "a store above the frame": (("std  v8, sp, 16", "stq v8, sp, 24"), MEMORY, "beyond it"),
    "a wrong half": (("v4, v0, v2, 2", "v4, v0, v2, 0"), FUNCTION, "no sum of powers of H"),
    "no fold": (("pmul v4, v3, v8, 0", ""), FUNCTION, "no sum of powers of H"),
    "a block twice": (("add  r2, r2, 16", ""), UNSUPPORTED, "r2 is not as"),
    "a block left out": (
        ("cmp  r8, 0\n       b.ne loop", "cmp r8, 16\n b.ne loop"), UNSUPPORTED, "may be negative",
    ),
    "a block hashed for no block": (("b.eq done", ""), MEMORY, "not known to be in it"),
    "no end": (("add  r8, r8, -16", ""), UNSUPPORTED, "may be negative"),
    "bytes not turned": (("done:  rev  v0, v0", "done:"), FUNCTION, "the state is wrong"),
    "nothing written": (("stq  v0, r1, 0", ""), FUNCTION, "the state is not written"),
}  # fmt: skip
"""A change of the text, and how it is refused."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_twin_is_refused(name: str) -> None:
    change, category, said = WRONG[name]
    with pytest.raises(Refutation, match=said) as refused:
        check(toy(*change))
    assert refused.value.category is category


def test_a_secret_left_behind_is_refused() -> None:
    with pytest.raises(Refutation, match="v0 may hold a secret at return"):
        check(toy(), wipe=True)


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "a register of another machine": ({"rax": "?"}, "no place: rax"),
    "a lane too many": ({"v0.1": "?"}, "no place: v0.1"),
    "a mask register": ({"k1": "?"}, "no place: k1"),
    "a high half that is not kept": ({"stack+-16:8": ["@", "v8.0"]}, "stack.-16:8 is not as"),
    "the low half of another": (
        {"v9.0": ["t", "moves", ["@", "v9.0"], [[0, "0xffffffffffffffff"]]]}, "v9.0 is not as",
    ),
    "lr as it was": ({"lr": ["@", "lr"]}, "lr is not as"),
}  # fmt: skip
"""Places in the certificate, and why it is refused."""


@pytest.mark.parametrize("name", PLACES)
def test_a_wrong_certificate_is_refused(name: str) -> None:
    places, said = PLACES[name]
    data = copy.deepcopy(CERTIFICATE)
    data["assertions"]["loop"]["places"] |= places
    with pytest.raises(Refutation, match=said):
        check(toy(), data)


def test_a_convention_of_another_machine_is_refused() -> None:
    with pytest.raises(Refutation, match="no convention win64 of toy"):
        Checker(toy(), replace(meaning(), abi="win64"), {}).check()


def test_the_bytes_of_an_instruction_have_one_reading() -> None:
    random = Random(1)
    read = 0
    for _ in range(4000):
        code = bytes([random.randrange(len(TABLE) + 2), *random.choices(range(256), k=3)])
        section = Section(".text", 1 << 16, code, Kind.CODE, 4)
        try:
            i = decode(Image(TOY, (section,), {}), section.address)
        except Refutation:
            continue
        read += 1
        assert encoded(i) == code
    assert 1000 < read < 3000
