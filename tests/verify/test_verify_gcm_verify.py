"""Wrong comparisons at the end of messages in pieces, each beside a repaired twin."""

import pytest
from helpers.piece_faults import (
    ABI,
    ALIGNED,
    ASKED,
    AVX,
    FUNCTION,
    MEMORY,
    OPEN,
    REFUSED,
    TIMING,
    WIDE,
    Edit,
    Row,
    after,
    at,
    require_refused,
    require_wiped,
)
from helpers.planting import put

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category

LOOKED, FOUND = "vpshufd xmm1, xmm0, 0x4e\n", "vmovq rax, xmm0\n"
JOINED = "vpor xmm0, xmm0, xmm1 ; all differences"
ERASE = "vpxor xmm0, xmm0, xmm0\n vmovdqu [rsi], xmm0"
LAST = "vmovdqu [rsi + 80], xmm0 ; no message\n"
DECIDE = "cmp rax, 0x00\n je .right\n"
FIRST = "cmp rcx, 0x04\n"
NO_PHASE = "cmp rax, 0x00\n je .misplaced\n"
NO_MESSAGE = "cmp qword [rsi + 80], 0\n je .misplaced\n "
EARLY = "cmp rax, 0\n jne .differs\n "
ERASED = "".join(f" vmovdqu [rsi + {16 * k}], xmm0\n" for k in range(6))
EQUAL = f"vpxor xmm1, xmm1, xmm1\n vpcmpeqb xmm1, xmm0, xmm1\n vpmovmskb r9d, xmm1\n {LOOKED}"
ALL = "cmp r9d, 0xffff\n je .right\n"
WIDEN = "movzx eax, al\n ret\n"
LONGER = """.tag_length:
 cmp rcx, 13
 jb .as_it_is
 {}
.as_it_is:
"""
AT = """.lengths:
 mov r11, {1}
 cmp {0}, r11
 jne .right_there
 vpxor xmm0, xmm0, xmm0
.right_there:
"""
TEST_BEGUN = "cmp r8, 0x00\n je .lengths"

VERIFY: dict[str, Row] = {
    # What is compared.
    "15 bytes of 16": at(LOOKED, f"vpslldq xmm0, xmm0, 1\n {LOOKED}",
        f"vpslldq xmm0, xmm0, 0\n {LOOKED}", *ASKED),
    "half of a tag": at(JOINED, "", "vpor xmm0, xmm1, xmm0", *ASKED),
    "32 bits of what differs": at(DECIDE, DECIDE.replace("rax", "eax"),
        "test rax, rax\n jz .right\n", *ASKED),
    "a byte of the tag that is given has to be 0": at(FOUND,
        f"{FOUND} movzx ecx, byte [rdx]\n or rax, rcx\n",
        f"{FOUND} movzx ecx, byte [rdx]\n or rax, rax\n", *ASKED),
    "another mask": at("[rsi + 32]", "[rsi + 48]", "[rsi + 64 - 32]", *ASKED),
    "lengths swapped": at("vpunpcklqdq xmm1, xmm1, xmm2", "vpunpcklqdq xmm1, xmm2, xmm1",
        "vpslldq xmm2, xmm2, 8\n vpor xmm1, xmm1, xmm2", *ASKED),
    "the length of AAD says how far the text's block has begun": at("je .begun", "jmp .begun",
        "jbe .begun", *ASKED),
    "a begun block by 3 bits of a length": at("and r8, 0x0f", "and r8, 0x07",
        "mov r11, 15\n and r8, r11", OPEN, "not decided: the low bits of a number"),
    "a block has begun, by stale flags": at(TEST_BEGUN, "cmp rax, 1\n je .lengths", "je .lengths",
        *ASKED),
    "AAD's length in 32 bits": at("shl r10, 0x03 ", "shl r10d, 3 ;", "lea r10, [r10 * 8] ;",
        *ASKED),
    # Lengths of tags, and phases.
    "a tag of 5 bytes": at(FIRST, f"cmp rcx, 5\n je .tag_length\n {FIRST}",
        f"cmp rcx, 4\n je .tag_length\n {FIRST}", FUNCTION, "a tag of 5 bytes is not refused"),
    "a tag of 17 bytes": (put(("cmp rcx, 0x11", "cmp rcx, 0x12")),
        put(("cmp rcx, 0x11\n jae ", "cmp rcx, 0x10\n ja ")), MEMORY,
        "load from tag, which has no initial content"),
    "a tag of 4 bytes is refused": at(FIRST, "cmp rcx, 8\n", "lea r9, [rcx - 4]\n cmp r9, 0\n",
        FUNCTION, "nothing depends on whether the tag is right"),
    "the length of a tag modulo 2^32": at(FIRST, f"mov ecx, ecx\n {FIRST}",
        f"mov rcx, rcx\n {FIRST}", FUNCTION, "a tag of 4294967311 bytes is not refused"),
    "a message that has not begun": at(NO_PHASE, "", "test rax, rax\n jz .misplaced\n", FUNCTION,
        "the status is wrong, not 3"),
    "a phase of 3": (put(("cmp rax, 0x03", "cmp rax, 0x04")),
        put(("cmp rax, 0x03\n jae ", "cmp rax, 0x02\n ja ")), FUNCTION,
        "the status is wrong, not 3"),
    "a phase beyond 32 bits": at("mov rax, [rsi + 80]", "mov eax, [rsi + 80]",
        "lea r9, [rsi + 40]\n mov rax, [r9 + 40]", OPEN, "part of a pointer or a length loaded"),
    "the phase is asked for before the length": at(FIRST,
        f"cmp qword [rsi + 80], 0\n je .misplaced\n {FIRST}",
        f"cmp qword [rsi + 80], 0\n je .first\n.first:\n {FIRST}", OPEN,
        "tag_length, which has to be known"),
    # What is left.
    "the state outlives a tag that differs": (
        put((ERASE, f"{EARLY}{ERASE}"), (DECIDE, "jmp .right\n.differs:\n")),
        put((ERASE, f"{EARLY}{ERASE}"),
            (DECIDE, f"jmp .right\n.differs:\n vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        FUNCTION, "byte 0 of the state is not written",
    ),
    "the state outlives a tag that is right": (
        put((ERASE, f"cmp rax, 0\n je .right\n {ERASE}"), (DECIDE, "")),
        put((ERASE, f"cmp rax, 0\n je .same\n {ERASE}"), (DECIDE, ""),
            (".right:\n", f".same:\n vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        FUNCTION, "byte 0 of the state is not written",
    ),
    "80 bytes are erased": at(LAST, "", "vmovups [rsi + 80], xmm0\n", FUNCTION,
        "byte 80 of the state is not written"),
    "the tag stays in the state": after(LAST, " vmovdqu [rsi + 48], xmm1\n",
        " vmovdqu [rsi + 48], xmm0\n", FUNCTION, "byte 48 of the state is wrong"),
    "the phase is erased, though a length is refused": after(REFUSED, " mov qword [rsi + 80], 0\n",
        " mov eax, 0\n", FUNCTION, "something is written, where all is to stay"),
    "the state of no message is erased": after(".misplaced:\n",
        " vpxor xmm0, xmm0, xmm0\n vmovdqu [rsi], xmm0\n",
        " vpxor xmm0, xmm0, xmm0\n vmovdqu xmm0, [rsi]\n", FUNCTION,
        "something is written, where all is to stay"),
    # The status.
    "a tag that differs is right": at("mov eax, 0x01", "mov eax, 0", "xor eax, eax\n inc eax",
        FUNCTION, "the status is wrong, not 1"),
    "a tag that is right differs": at(DECIDE, DECIDE.replace("je ", "jne "),
        "cmp rax, 0\n jne .differs\n jmp .right\n.differs:\n", FUNCTION,
        "the status is wrong, not 1"),
    "whatever differs is right": at(DECIDE, "jmp .right\n", "test rax, rax\n je .right\n", FUNCTION,
        "nothing depends on whether the tag is right"),
    "2 for 3": at("mov eax, 0x03", "mov eax, 2", "mov eax, 2\n inc eax", FUNCTION,
        "the status is wrong, not 3"),
    # Memory.
    "16 bytes of a shorter tag": at("je .whole", "jmp .whole", "jae .whole", MEMORY,
        "load from 16 bytes of tag that end 12 beyond it"),
    "8 bytes of a tag of 4": (put(("jb .four", "")),
        put(("cmp rcx, 0x08\n jb .four", "cmp rcx, 4\n je .four")), MEMORY,
        "load from 8 bytes of tag that end 4 beyond it"),
    "the byte behind a tag": at(".compare:\n", ".compare:\n movzx r9d, byte [rdx + rcx]\n",
        ".compare:\n movzx r9d, byte [rdx + rcx - 1]\n", MEMORY,
        "load from 1 bytes of tag that end 1 beyond it"),
    "the tag is overwritten": at(LAST, "vmovd [rdx], xmm0\n " + LAST, "vmovd xmm2, [rdx]\n " + LAST,
        MEMORY, "store to tag, which is read-only"),
    "97 bytes of a state": after(LAST, " vmovdqu [rsi + 81], xmm0\n", " vmovdqu [rsi + 80], xmm0\n",
        MEMORY, "store to 16 bytes of stream that end 1 beyond it"),
    "a tag that is aligned": at("vmovdqu xmm1, [rdx]", "vmovdqa xmm1, [rdx]",
        "vmovdqu xmm1, [rdx + 0]", MEMORY, "needs 16-byte alignment"),
    # Constant time.
    "it is asked twice": after(".right:\n", " cmp rax, 0\n jne .refused\n",
        " cmp rcx, rcx\n jne .refused\n", *ASKED),
    "it is asked of what is no message": (
        put((NO_PHASE, ""), (ERASE, f"{EARLY}{NO_MESSAGE}{ERASE}"),
            (DECIDE, f"jmp .right\n.differs:\n {NO_MESSAGE}vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        put((ERASE, f"{EARLY}{NO_MESSAGE}{ERASE}"),
            (DECIDE, f"jmp .right\n.differs:\n {NO_MESSAGE}vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        FUNCTION, "an answer of what is refused",
    ),
    "the first byte is asked for by itself": (
        put((FOUND, f"{FOUND} cmp al, 0\n jne .other\n"), (DECIDE, f"{DECIDE}.other:\n")),
        put((FOUND, f"{FOUND} cmp rcx, rcx\n jne .other\n"), (DECIDE, f"{DECIDE}.other:\n")),
        *ASKED),
    "the state decides": at(FOUND, f"{FOUND} vmovq r11, xmm1\n cmp qword [rsi], 0\n je .refused\n",
        f"{FOUND} vmovq r11, xmm1\n cmp qword [rsi + 80], 0\n je .refused\n", *ASKED),
    "a load at what differs": at(ERASE, f"prefetcht0 [rax]\n {ERASE}",
        f"prefetcht0 [rdx]\n {ERASE}", TIMING, "an address depends on a secret"),
    # The convention.
    "a register of the caller's": at(ERASE, f"mov r12, rcx\n {ERASE}", f"mov r11, rcx\n {ERASE}",
        ABI, "r12"),
    "a way that leaves something on the stack": after(".misplaced:\n", " push rcx\n",
        " push rcx\n pop rcx\n", ABI, ""),
    # Against how the one question is recognised, and what is behind it.
    "differences that cancel": at(JOINED, "vpxor xmm0, xmm0, xmm1", "vpor xmm0, xmm1, xmm0",
        *ASKED),
    "all differences but one": at(FOUND, f"{FOUND} shr rax, 1\n", f"{FOUND} shr rax, 0\n", *ASKED),
    "the flags of another instruction": at(DECIDE, "cmp rax, 0\n xor ecx, ecx\n je .right\n",
        "cmp rax, 0\n mov ecx, 0\n je .right\n", FUNCTION,
        "nothing depends on whether the tag is right"),
    "whether it is at most 0": at(DECIDE, DECIDE.replace("je ", "jle "),
        DECIDE.replace("je ", "jz "), *ASKED),
    "the wrong one of two flags": at(DECIDE, "cmp rax, 0\n sete al\n movzx eax, al\n ret\n",
        "cmp rax, 0\n setne al\n movzx eax, al\n ret\n", FUNCTION, "the status is wrong, not 1"),
    "a flag in one byte of four": at(DECIDE, "cmp rax, 0\n setne al\n ret\n",
        "cmp rax, 0\n setne al\n movzx eax, al\n ret\n", FUNCTION, "the status is wrong, not 1"),
    "15 bytes of 16, by VPMOVMSKB": (
        put((LOOKED, EQUAL), (DECIDE, "cmp r9d, 0x7fff\n je .right\n")),
        put((LOOKED, EQUAL), (DECIDE, "cmp r9d, 0xffff\n je .right\n")), *ASKED),
    "VPMOVMSKB of other bytes": (
        put((LOOKED, EQUAL.replace("xmm1, xmm0, xmm1", "xmm1, xmm2, xmm1")), (DECIDE, ALL)),
        put((LOOKED, EQUAL), (DECIDE, f"cmp r9w, -1\n setne al\n {WIDEN}")), *ASKED),
    "some bytes are right": (put((LOOKED, EQUAL), (DECIDE, "test r9d, r9d\n jne .right\n")),
        put((LOOKED, EQUAL.replace("cmpeqb", "cmpeqd")), (DECIDE, ALL)), *ASKED),
    "12 bytes of a longer tag": at(".tag_length:\n", LONGER.format("mov ecx, 12"),
        LONGER.format("mov rcx, rcx"), *ASKED),
    "wrong for the longest text alone": at(".lengths:\n", AT.format("r9", (1 << 36) - 32),
        AT.format("r9", (1 << 36) - 31), *ASKED),
    "wrong for the longest AAD alone": at(".lengths:\n", AT.format("r10", (1 << 61) - 1),
        AT.format("r10", 1 << 61), *ASKED),
    "erased where a block has begun": (
        put((ERASE, f"cmp r8, 0\n je .skip\n {ERASE}"), (DECIDE, f".skip:\n {DECIDE}")),
        put((ERASE, f"cmp r8, 0\n je .skip\n.skip:\n {ERASE}")), FUNCTION,
        "byte 0 of the state is not written"),
    "aligned for one stack of four, where the tag is right": at(".right:\n",
        ALIGNED.replace(".ready", ".right").format("rsp - 40"),
        ALIGNED.replace(".ready", ".right").format("r11 - 64"), MEMORY,
        "load from stack needs 32-byte alignment, which is not assured"),
}  # fmt: skip
"""Likewise of `verify`."""

GIVEN = "vpandq xmm0, xmm0, [rax + 112] ; differences"

EXACT: dict[str, Row] = {
    "16 bytes of a shorter tag": at("cmp rcx, 0x10\n", "cmp rcx, 0x0c\n",
        "cmp rcx, 0x0f\n ja .given_longest\n cmp rcx, 16\n", MEMORY,
        "load from 16 bytes of tag that end 3 beyond it"),
    "all bytes of a shorter tag": at(GIVEN, "vmovdqa xmm0, xmm0",
        "vmovdqu xmm1, [rax + 112]\n vpand xmm0, xmm0, xmm1", *ASKED),
    "a byte too few compared": at(GIVEN, "vpandq xmm0, xmm0, [rax + 113]",
        "vpand xmm0, xmm0, [rax + 112]", *ASKED),
    "the last bytes of a tag a place off": at("vpshufb xmm2, xmm2, [rax + 24]",
        "vpshufb xmm2, xmm2, [rax + 25]", "vmovdqu xmm3, [rax + 24]\n vpshufb xmm2, xmm2, xmm3",
        *ASKED),
}  # fmt: skip
"""Likewise of a kernel that compares tags in a register."""

FAULTS = [(AVX, name, *row) for name, row in VERIFY.items()]
FAULTS += [(WIDE, name, *row) for name, row in EXACT.items()]

NOT_FOUND = ("aligned for one stack of four, where the tag is right",)
"""Whose twin is right, but no certificate of it is found."""


@pytest.mark.parametrize(
    ("kernel", "wrong", "twin", "category", "words", "found"),
    [pytest.param(kernel, *row, name not in NOT_FOUND, id=name) for kernel, name, *row in FAULTS],
)
def test_what_is_wrong_is_refused_and_its_twin_is_proved(
    kernel: GcmKernel, wrong: Edit, twin: Edit, category: Category, words: str, found: bool
) -> None:
    require_refused("verify", wrong, twin, category, words, kernel, found)


@pytest.mark.parametrize(
    ("label", "secret"),
    [(LAST, True), (".right:", True), (".refused:", False), (".misplaced:", False)],
)
def test_nothing_secret_is_left_on_any_way_out(label: str, secret: bool) -> None:
    require_wiped("verify", label, secret)
