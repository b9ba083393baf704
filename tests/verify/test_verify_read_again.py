"""An `open` that reads the text again after its output is written: wrong where both are one buffer.

It was accepted by a certificate that named the text's bytes in memory before the output is written:
what is named seemed to stay. Its twin, which keeps the text in a register, is right.
"""

import ctypes
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.gcm_by_hand import table
from helpers.open_by_hand import OPEN, RIGHT, SPEC
from helpers.verify_objects import ASM, assembled

from ghashgen.arch.elf import read_elf
from ghashgen.support.toolchain import find_cc
from ghashgen.verify.checking import check_function
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.x86_64.elf import load_image

CHOICE = """
    cmp         rdx, 12
    jne         .usual
    test        r8, r8
    jnz         .usual
    mov         rax, LENGTH
    cmp         rax, 16
    jne         .usual
    mov         rax, TAG_LENGTH
    cmp         rax, 16
    je          .one_block
.usual:
"""
"""A message of one block, without AAD, under an IV of 12 bytes and with a whole tag."""

ONE_BLOCK = """
.one_block:
    movdqa      xmm2, [fold_constant]
    movdqa      xmm1, [reverse_bytes]
    movq        xmm14, [rsi]
    pinsrd      xmm14, [rsi + 8], 2
    mov         eax, 0x01000000
    pinsrd      xmm14, eax, 3
    movdqa      xmm0, xmm14
    ENCRYPT
    movdqa      xmm15, xmm0
    movdqa      xmm13, xmm14
    pshufb      xmm13, xmm1
    pxor        xmm8, xmm8
    movdqu      xmm12, [r9]
    NEXT
    pxor        xmm0, xmm12
    mov         rcx, OUT
    movdqu      [rcx], xmm0             ; the text, before the tag is compared
    movdqa      xmm0, xmm12
    pshufb      xmm0, xmm1
    TIMES_H
    mov         eax, 128
    movq        xmm0, rax
    TIMES_H
    pshufb      xmm8, xmm1
    pxor        xmm8, xmm15
    mov         rsi, TAG
    movdqu      xmm9, [rsi]
    pxor        xmm9, xmm8
    pshufd      xmm7, xmm9, 0x4e
    por         xmm9, xmm7
    movq        rax, xmm9
    test        rax, rax
    jz          .fine
    AGAIN
    pxor        xmm0, xmm12             ; zero, if the input is still what it was
    movdqu      [rcx], xmm0
    mov         eax, 1
    ret
.fine:
    xor         eax, eax
    ret
section .note.GNU-stack noalloc noexec nowrite progbits
"""

KEPT, READ = "movdqa xmm0, xmm12", "movdqu xmm0, [r9]"

SWAPPED = [[8 * (2 * k - 15), hex(0xFF << 8 * k)] for k in range(16)]

SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")

NUMBERS = {"length": 16, "iv_length": 12, "aad_length": 0, "tag_length": 16}


@cache
def data(again: str) -> bytes:
    """Return the object; `again` is how it has the text a second time."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_init")
    defined = [f"%define {name} {value}" for name, value in (RIGHT | {"AGAIN": again}).items()]
    text = (ASM / "gcm_open.asm").read_text().replace(".allowed:\n", f".allowed:\n{CHOICE}")
    return assembled("\n".join([*defined, head, text, ONE_BLOCK]))


@cache
def usual() -> dict[str, Any]:
    """Return the certificate of the right twin."""
    return find_function(load_image(data(KEPT)), SPEC, OPEN)[OPEN.symbol]


def naming(**text: Any) -> dict[str, Any]:
    """Return the same with an assertion where the text of one block has not been read yet."""
    at = {symbol.name: symbol.value for symbol in read_elf(data(KEPT)).symbols}
    one = {
        "at": at["gcm_open.one_block"] - at["gcm_open"],
        "unknowns": {name: [n, n] for name, n in NUMBERS.items()}, "among": {}, "facts": [],
        "places": {
            "rdi": ["p", "table", "0"], "rsi": ["p", "iv", "0"], "r9": ["p", "input", "0"],
            "rsp": ["p", "stack", "0"], **{name: ["@", name] for name in SAVED},
            "stack+8:8": ["n", "length"], "stack+16:8": ["p", "output", "0"],
            "stack+24:8": ["p", "tag", "0"], "stack+32:8": ["n", "tag_length"], **text,
        },
        "ghosts": {
            "iv": None, "x": {"of": "aad", "hashed": "0", "ahead": 0, "sum": []},
            "counter": None, "output": "0", "mask": False, "answer": None,
        },
        "flags": "secret", "dirty": False, "level": 0, "falls": "0",
        "from": {"entry": [{name: name for name in NUMBERS}]},
    }  # fmt: skip
    return {"assertions": {**usual()["assertions"], "one": one}}


def check(again: str, certificate: dict[str, Any]) -> None:
    """Check the object by a certificate as it is read from its text.

    Raises:
        Refutation: it is refused.
    """
    check_function(load_image(data(again)), SPEC, OPEN, json.loads(json.dumps(certificate)))


def test_a_text_that_is_kept_is_right() -> None:
    check(KEPT, usual())
    check(KEPT, naming())


def test_a_text_that_is_read_again_is_refused_whatever_names_it() -> None:
    named = {"input+0:16": ["t", "moves", ["t", "block", "C", ["n", "0"]], SWAPPED]}
    for certificate in (usual(), naming()):
        with pytest.raises(Refutation, match="read after it has been written over"):
            check(READ, certificate)
    for again in (READ, KEPT):
        with pytest.raises(Refutation, match=r"input\+0:16, which is only read"):
            check(again, naming(**named))


def test_in_place_it_gives_the_keystream_away(tmp_path: Path) -> None:
    if not {"pclmulqdq", "aes", "sse4_1"} <= set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip("this CPU lacks AES or pclmulqdq")
    key, iv, text = bytes(range(16)), bytes(range(12)), b"one block of it."
    sealed = AESGCM(key).encrypt(iv, text, b"")
    stream = bytes(a ^ b for a, b in zip(text, sealed, strict=False))
    for again, left in ((KEPT, bytes(16)), (READ, stream)):
        place = tmp_path / f"{again[:6]}.o"
        place.write_bytes(data(again))
        library = place.with_suffix(".so")
        subprocess.run([*find_cc().command, "-shared", "-o", library, place], check=True)
        buffer = ctypes.create_string_buffer(sealed[:16], 16)
        cells = aligned(table(key)[:16] + table(key)[64:])
        none, sizes = ctypes.c_char_p(), [ctypes.c_size_t(n) for n in (12, 0, 16, 16)]
        asked = (cells, iv, sizes[0], none, sizes[1], buffer, sizes[2], buffer, bytes(16), sizes[3])
        assert ctypes.CDLL(str(library)).gcm_open(*asked) == 1
        assert buffer.raw == left


def aligned(content: bytes) -> Any:
    """Return a buffer at a multiple of 16."""
    room = ctypes.create_string_buffer(len(content) + 16)
    start = -ctypes.addressof(room) % 16
    out = (ctypes.c_char * len(content)).from_buffer(room, start)
    out.raw = content
    return out
