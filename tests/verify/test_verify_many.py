"""Many messages, one after the other: an `open_many` by hand is proved, its wrong twins are not."""

import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from signal import SIGSEGV
from typing import Any

import pytest
from helpers.open_by_hand import ASM, RIGHT, SPEC
from helpers.verify_objects import assembled

from ghashgen.support.toolchain import find_cc
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search import kernel, telling
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.statements.gcm import OPERATIONS, GcmFunction
from ghashgen.verify.x86_64.elf import load_image

OPEN = GcmFunction("open_many", "gcm_open_many", OPERATIONS["open_many"])
Edit = Callable[[str], str]


def data(edit: Edit = str, **changes: str) -> bytes:
    """Return the object, with other definitions and an edit of the loop."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_init")
    macros, _, body = (ASM / "gcm_open.asm").read_text().partition("global gcm_open\ngcm_open:\n")
    macros = re.sub(r"%define (LENGTH|OUT|TAG|TAG_LENGTH) .*\n", "", macros)
    loop = (ASM / "gcm_open_many.asm").read_text()
    loop = edit(loop.replace("    BODY\n", body.replace("\n    ret", "\n    jmp .end")))
    defined = [f"%define {k} {v}" for k, v in {**RIGHT, "STATUS_AT": "72", **changes}.items()]
    section = "section .note.GNU-stack noalloc noexec nowrite progbits\n"
    return assembled("\n".join([*defined, head, macros, loop, section]))


def image(edit: Edit = str, **changes: str) -> Image:
    """Return the function in it."""
    return load_image(data(edit, **changes))


@cache
def proved() -> dict[str, Any]:
    """Return the certificate that is found and accepted."""
    return find_function(image(), SPEC, OPEN)[OPEN.symbol]


def replacing(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return edit


def test_it_is_proved_for_any_count() -> None:
    assertions = proved()["assertions"]
    assert [one["places"]["rbx"] for one in assertions.values()] == [
        ["p", "messages", "80*record"]
    ] * len(assertions)
    assert len({*assertions["next"]["from"]} - {"entry", "next"}) == len(assertions) - 1


REFUSED = "mov         eax, 2"
READS = f"test r8, r8\n    jz .empty\n    movzx eax, byte [rcx]\n.empty:\n    {REFUSED}"
ENDS = "cmp r8, 99\n    ja .end\n    add r8, rcx\n    cmp rcx, r8"
COMPARES = f"{REFUSED}\n    {ENDS}\n    jbe .end\n    xor eax, eax"

WRONG: dict[str, tuple[dict[str, str], Edit, str]] = {
    "another word": ({"STATUS_AT": "64"}, str, "the status is wrong"),
    "the next one's word": ({"STATUS_AT": "127"}, str, "not known to be in it"),
    "no status": ({}, replacing("mov         [rbx + STATUS_AT], rax", "nop dword [rax]"),
                  "the status is wrong"),
    "another status": ({}, replacing("mov         eax, 2", "mov         eax, 3"),
                       "the status is wrong"),
    "every other record": ({}, replacing("add         rbx, 80", "add         rbx, 127"), "rbx"),
    "the same record": ({}, replacing("add         rbx, 80", "add         rbx, 0"), "rbx"),
    "a count off by one": ({}, replacing("sub         rbp, 1", "sub         rbp, 2"), "rbp"),
    "fifteen bytes of a tag": ({"COMPARED": "17"}, str, "a condition depends on a secret"),
    "a text that is not cleared": ({"WRONG": "DECRYPT"}, str, "after it has been written over"),
    "the next one's length": ({}, replacing("[rbx + 40]", "[rbx + 120]"), "not known to be in it"),
    "the next one's tag": ({}, replacing("[rbx + 32]", "[rbx + 112]"), "not known to be in it"),
    "a refused one's AAD": ({}, replacing(REFUSED, READS), "a refused message"),
    "where a refused one's AAD ends": ({}, replacing(REFUSED, COMPARES), "a refused message"),
    "the input written": ({}, replacing("OUT         [rbx + 24]", "OUT         [rbx + 16]"),
                          "read-only"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_twin_is_refused(name: str) -> None:
    changes, edit, why = WRONG[name]
    assertions = read_certificate(proved())
    with pytest.raises(Refutation, match=re.escape(why)):
        Checker(image(edit, **changes), SPEC.meaning(OPEN), assertions).check()


@pytest.mark.parametrize(
    ("name", "hidden", "why"),
    [
        (
            "joint2",
            "iv_length is iv_length_0",
            "joint2 -> joint4: rbx is not as the assertion has"
            " it: wanted ['p', 'messages', '80*record'], found messages+80*record+80",
        ),
        (
            "loop7",
            "the status is wrong",
            "joint6 -> loop7: rbx is not as the assertion has"
            " it: wanted ['p', 'messages', '80*record+80'], found messages+80*record",
        ),
    ],
)
def test_where_no_assertion_fits_the_refusal_says_where_and_why(
    name: str, hidden: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the rules say last is of another record."""
    unfit = deepcopy(proved())
    unfit["assertions"][name]["places"]["rbx"] = ["p", "messages", "80*record+80"]
    with pytest.raises(Refutation, match=hidden):
        Checker(image(), SPEC.meaning(OPEN), read_certificate(unfit)).check()
    monkeypatch.setattr(kernel, "proposed", lambda *given: iter([unfit]))
    monkeypatch.setattr(telling.Runs, "go_on", lambda *given: None)
    with pytest.raises(Refutation) as refused:
        find_function(image(), SPEC, OPEN)
    assert refused.value.message == f"no certificate is found, the last is refused: {why}"
    assert refused.value.at is not None


CALL = """
import ctypes, sys
record = (ctypes.c_uint64 * 10)(0, 2**64 - 8, 0, 0, 0, 0, 16, 0, 0, 9)
ctypes.CDLL(sys.argv[1]).gcm_open_many(bytes(192), record, ctypes.c_size_t(1))
sys.exit(record[9])
"""
"""A record without an IV, whose AAD would end behind the address space."""


@pytest.mark.parametrize(
    ("instead", "status"), [(REFUSED, 2), (READS, -SIGSEGV), (COMPARES, 0)], ids=["", "r", "c"]
)
def test_pointers_of_a_refused_message_may_be_anything(
    instead: str, status: int, tmp_path: Path
) -> None:
    place, library = tmp_path / "many.o", tmp_path / "many.so"
    place.write_bytes(data(replacing(REFUSED, instead)))
    subprocess.run([*find_cc().command, "-shared", "-o", library, place], check=True)
    called = subprocess.run([sys.executable, "-c", CALL, library], check=False)
    assert called.returncode == status
