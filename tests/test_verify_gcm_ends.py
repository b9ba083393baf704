"""Wrong beginnings and ends of messages in pieces, each refused beside a repaired twin.

They are made of an emitted kernel by hand. A twin differs in that alone which makes the
other wrong, and is proved.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from test_verify_gcm_stream import AVX, KERNELS, proved, text_of

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category, Refutation

Edit = Callable[[str], str]

FUNCTION, MEMORY, TIMING = Category.FUNCTION, Category.MEMORY, Category.CONSTANT_TIME
ABI, WIPE, OPEN = Category.ABI, Category.WIPE, Category.UNSUPPORTED

WIDE = KERNELS[3]
WIPED = replace(AVX, wipe=True)


def put(*edits: tuple[str, str]) -> Edit:
    """Return an edit: the first place of each text holds another."""

    def edit(own: str) -> str:
        for old, new in edits:
            assert old in own, f"no such text: {old!r}"
            own = own.replace(old, new, 1)
        return own

    return edit


def behind(*edits: tuple[str, str]) -> Edit:
    """Return an edit: these lines follow the first place of each text."""
    return put(*((old, f"{old}{new}") for old, new in edits))


def _lines(*lines: str) -> str:
    return "\n    ".join(lines)


ENTRY = "endbr64\n"
# start.
PHASE, SET_PHASE = "mov         eax, 0x01\n", "mov         [rsi + 80], rax"
ZEROED = "vmovdqu     [rsi + 80], xmm1                    ; no message\n"
STEP = f"vpaddd      xmm1, xmm1, [rel {AVX.name}_one]"
COUNTER = "vmovdqu     [rsi + 16], xmm1                    ; the counter block of the text\n"
KEPT = "vmovdqu     [rsi + 32], xmm0                    ; E_K(J_0)"
MOST = "cmp         rcx, rax\n    ja          .refused\n"
AGAIN = "jae         .whole\n"
REFUSED = ".refused:\n"
ZERO = "vpxor       xmm2, xmm2, xmm2\n    mov         r9"
SECOND = "vpxor xmm2, xmm2, xmm2\n    vpxor xmm9, xmm9, xmm9\n    mov r9"
LOADED = "vmovdqu     xmm3, [rdx]                         ; C, bytes as in memory\n"
STEPPED = "add         rdx, 0x10 "
TOGETHER = (".after_whole:\n", ".after_whole:\n    vpxor xmm2, xmm2, xmm9\n")
HASHED = "vpshufb     xmm0, xmm2, xmm0                    ; J_0\n"
COUNTED = f"""    vpshufb xmm0, xmm0, [rel {AVX.name}_byte_swap]
    {{}} xmm0, xmm0, [rel {AVX.name}_one]
    vpshufb xmm0, xmm0, [rel {AVX.name}_byte_swap]
"""
SEVERAL = "    cmp r9, 32\n    jb .whole\n"
NEXT = """.whole:
    mov r10, rdx
    cmp r9, 48
    jb .one
    lea r10, [rdx + {}]
.one:
"""
ALIGNED = """.ready:
    mov r11, rsp
    and r11, -64
    vmovdqa ymm9, [{}]
    vzeroupper
"""
LONG = """jb .after_whole
    mov rax, 1 << {}
    cmp r9, rax
    jb .whole
"""
TWICE = """jb .after_whole
    mov rax, {}
    cmp rcx, rax
    jne .whole
    sub rdx, 16
    jmp .whole
"""

START: dict[str, tuple[Edit, Edit, Category, str]] = {
    "text may come, and no AAD": (
        put((PHASE, "mov eax, 2\n")), put((PHASE, "mov eax, 2\n    sub eax, 1\n")),
        FUNCTION, "the phase, byte 80 of the state, is wrong",
    ),
    "a phase of 4 bytes where others stood": (
        put((ZEROED, ""), (SET_PHASE, "mov [rsi + 80], eax")),
        put((SET_PHASE, "mov [rsi + 80], eax")),
        FUNCTION, "the phase, byte 80 of the state, is not written",
    ),
    "the lengths are those that stood there": (
        put(("vmovdqu     [rsi + 64], xmm1", "")),
        put(("vmovdqu     [rsi + 64], xmm1", "vmovq [rsi + 64], xmm1\n    vmovq [rsi + 72], xmm1")),
        FUNCTION, "the block of numbers, byte 64 of the state, is not written",
    ),
    "the length of the IV for that of the AAD": (
        put((ZEROED, f"mov [rsi + 64], rcx\n    {ZEROED}")),
        put((ZEROED, f"mov [rsi + 88], rcx\n    {ZEROED}")),
        FUNCTION, "the state holds a number that was given",
    ),
    "the sum is what stood there": (
        put(("vmovdqu     [rsi], xmm1", "vmovdqu     [rsi + 16], xmm1")),
        put(("vmovdqu     [rsi], xmm1", "vmovdqu     [rsi], ymm1")),
        FUNCTION, "X, byte 0 of the state, is not written",
    ),
    "the text begins at J_0": (
        put((STEP, "")), put((STEP, f"vpxor xmm3, xmm3, xmm3\n    {STEP}")),
        FUNCTION, "the counter block, byte 16 of the state, is wrong",
    ),
    "a counter of 64 bits": (
        put((STEP, STEP.replace("vpaddd", "vpaddq"))),
        put((STEP, STEP.replace("xmm1, [", "[").replace("vpaddd      xmm1, ", "vmovdqu xmm3, ")
             + "\n    vpaddd xmm1, xmm3, xmm1")),
        FUNCTION, "depends on an addition of secrets",
    ),
    "E_K(J_0) where the keystream is": (
        put((KEPT, "vmovdqu [rsi + 48], xmm0")),
        put((KEPT, _lines("vmovdqu [rsi + 48], xmm0", "vpxor xmm1, xmm1, xmm1", KEPT, "",
                          "vmovdqu [rsi + 48], xmm1"))),
        FUNCTION, "E_K(J_0), byte 32 of the state, is wrong",
    ),
    "E_K of the first block of text": (
        behind((COUNTER, "    vmovdqa xmm0, xmm1\n")),
        behind((COUNTER, "    vmovdqa xmm0, xmm0\n")),
        FUNCTION, "E_K(J_0), byte 32 of the state, is wrong",
    ),
    "J_0 itself for E_K(J_0)": (
        behind((COUNTER, "    vmovdqa xmm6, xmm0\n"),
               (f"{KEPT}\n", "    vmovdqu [rsi + 32], xmm6\n")),
        behind((COUNTER, "    vmovdqa xmm6, xmm0\n"),
               (f"{KEPT}\n", "    vmovdqu [rsi + 32], xmm0\n")),
        FUNCTION, "E_K(J_0), byte 32 of the state, is wrong",
    ),
    # Lengths.
    "an IV of 2^61 bytes": (
        put(("2305843009213693951", "2305843009213693952")),
        put(("2305843009213693951", "2305843009213693952"),
            ("ja          .refused", "jae .refused")),
        OPEN, "a comparison that depends on the unknown",
    ),
    "an IV of no bytes": (
        put(("je          .refused\n", "\n")),
        put(("cmp         rcx, 0x00\n    je          .refused\n",
             "test rcx, rcx\n    jz .refused\n")),
        MEMORY, "load from 1 bytes of iv that end 1 beyond it",
    ),
    "13 bytes are taken for 12": (
        put(("cmp         rcx, 0x0c\n    jne ", "lea r8, [rcx - 12]\n    cmp r8, 1\n    ja ")),
        put(("cmp         rcx, 0x0c\n    jne ", "lea r8, [rcx - 12]\n    cmp r8, 0\n    ja ")),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "the length of the IV in 32 bits": (
        put(("shl         rcx, 0x03", "shl ecx, 3")),
        put(("shl         rcx, 0x03", "shl rcx, 1\n shl rcx, 2")),
        OPEN, "a length that may wrap around",
    ),
    "long IVs end early": (
        put((AGAIN, LONG.format(40))), put((AGAIN, LONG.format(62))),
        OPEN, "a comparison that depends on the unknown",
    ),
    "a block of long IVs is absorbed twice": (
        put((AGAIN, TWICE.format("1000"))), put((AGAIN, TWICE.format("1 << 62"))),
        OPEN, "a comparison that depends on the unknown",
    ),
    # Flags of the comparison before the last.
    "whether a part is left, by stale flags": (
        put(("cmp         r9, 0x00\n    je ", "je ")),
        put(("cmp         r9, 0x00\n    je ", "test r9, r9\n    je ")),
        MEMORY, "of iv that end 1 beyond it",
    ),
    # Refusals and the status.
    "the phase is erased, though a length is refused": (
        behind((REFUSED, "    mov qword [rsi + 80], 0\n")), behind((REFUSED, "    mov eax, 0\n")),
        FUNCTION, "stream is written, though a length is refused",
    ),
    "a refusal is done": (
        put(("mov         eax, 0x02", "mov eax, 0")),
        put(("mov         eax, 0x02", "mov eax, 1\n add eax, 1")),
        FUNCTION, "the status of lengths that there are none of is wrong",
    ),
    "done is 1": (
        put(("mov         eax, 0x00", "")), put(("mov         eax, 0x00", "sub eax, eax")),
        FUNCTION, "the status is wrong",
    ),
    # Memory.
    "what the state was is read": (
        behind((ENTRY, "    mov rax, [rsi + 80]\n")), behind((ZEROED, "    mov rax, [rsi + 80]\n")),
        MEMORY, "load from byte 80 of stream, which holds nothing",
    ),
    "97 bytes of a state": (
        behind((ZEROED, "    vmovdqu [rsi + 81], xmm1\n")),
        behind((ZEROED, "    vmovdqu [rsi + 80], xmm1\n")),
        MEMORY, "store to 16 bytes of stream that end 1 beyond it",
    ),
    "a state that is aligned": (
        put(("vmovdqu     [rsi + 48], xmm1", "vmovdqa [rsi + 48], xmm1")),
        put(("vmovdqu     [rsi + 48], xmm1", "vmovups [rsi + 48], xmm1")),
        MEMORY, "needs 16-byte alignment",
    ),
    "12 bytes of an IV by 16": (
        put(("vmovd       xmm1, [rdx + 8]", "vmovq xmm1, [rdx + 8]")),
        put(("vmovd       xmm1, [rdx + 8]", "mov eax, [rdx + 8]\n    vmovd xmm1, eax")),
        MEMORY, "load from 8 bytes of iv that end 4 beyond it",
    ),
    "the IV is written": (
        behind((ENTRY, "    mov byte [rdx], 0\n")), behind((ENTRY, "    nop dword [rdx]\n")),
        MEMORY, "store to iv, which is read-only",
    ),
    # Constant time.
    "an IV of zeros has a way of its own": (
        behind((".other:\n", "    cmp byte [rdx], 0\n    je .refused\n")),
        behind((".other:\n", "    cmp rcx, 0\n    je .refused\n")),
        TIMING, "a condition depends on a secret",
    ),
    "a prefetch at E_K(J_0)": (
        put((KEPT, f"vmovq rax, xmm0\n    prefetcht0 [rax]\n    {KEPT}")),
        put((KEPT, f"vmovq rax, xmm0\n    {KEPT}")),
        TIMING, "an address depends on a secret",
    ),
    # The convention.
    "a register of the caller's": (
        behind((ENTRY, "    mov rbx, rcx\n")), behind((ENTRY, "    mov r10, rcx\n")),
        ABI, "rbx",
    ),
    "the direction of strings": (
        behind((ENTRY, "    std\n")), behind((ENTRY, "    xor r10d, r10d\n")),
        OPEN, "std",
    ),
    # Against the induction over the IV's blocks, and what is named there.
    "what is left of the IV for its length": (
        put((".lengths:\n", ".lengths:\n    mov rcx, r9\n")),
        put((".lengths:\n", ".lengths:\n    mov r9, rcx\n    mov rcx, r9\n")),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "the first of several blocks is not hashed": (
        put((".whole:\n", f"{SEVERAL}    add rdx, 16\n    sub r9, 16\n.whole:\n")),
        put((".whole:\n", f"{SEVERAL}    add rdx, 0\n    sub r9, 0\n.whole:\n")),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "blocks of long IVs in another order": (
        put((".whole:\n", NEXT.format(16)), (LOADED, "vmovdqu xmm3, [r10]\n")),
        put((".whole:\n", NEXT.format(0)), (LOADED, "vmovdqu xmm3, [r10]\n")),
        OPEN, "a comparison that depends on the unknown",
    ),
    "a second sum that holds the last block": (
        put((ZERO, SECOND), (STEPPED, f"vmovdqa xmm9, xmm3\n    {STEPPED}"), TOGETHER),
        put((ZERO, SECOND), (STEPPED, f"vmovdqa xmm8, xmm3\n    {STEPPED}"), TOGETHER),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "a register of zeros that J_0 is added to": (
        put((".other:\n", ".other:\n    vpxor xmm9, xmm9, xmm9\n"),
            (STEPPED, f"vpcmpeqd xmm9, xmm9, xmm9\n    {STEPPED}"), TOGETHER),
        put((".other:\n", ".other:\n    vpxor xmm9, xmm9, xmm9\n"),
            (STEPPED, f"vpxor xmm9, xmm9, xmm9\n    {STEPPED}"), TOGETHER),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "a hashed IV is counted on by two": (
        put((HASHED, HASHED + COUNTED.format("vpaddd"))),
        put((HASHED, HASHED + COUNTED.format("vpaddd") + COUNTED.format("vpsubd"))),
        FUNCTION, "the counter block, byte 16 of the state, is wrong",
    ),
    "the sum is left where the IV has 12 bytes": (
        put(("jmp         .ready\n", "vpxor xmm1, xmm1, xmm1\n    jmp .half\n"),
            (".ready:\n", ".ready:\n    vpxor xmm1, xmm1, xmm1\n    vmovdqu [rsi], xmm1\n.half:\n"),
            ("vmovdqu     [rsi], xmm1                         ; no message\n", "")),
        put((".ready:\n", ".ready:\n    vpxor xmm1, xmm1, xmm1\n    vmovdqu [rsi], xmm1\n.half:\n"),
            ("vmovdqu     [rsi], xmm1                         ; no message\n", "")),
        FUNCTION, "X, byte 0 of the state, is not written",
    ),
    "the state is the place of J_0 for a while": (
        put((".ready:\n", ".ready:\n    vmovdqu [rsi + 64], xmm0\n"),
            ("vmovdqu     [rsi + 64], xmm1", "")),
        put((".ready:\n", ".ready:\n    vmovdqu [rsi + 64], xmm0\n")),
        FUNCTION, "the block of numbers, byte 64 of the state, is wrong",
    ),
    "aligned for one stack of four": (
        put((".ready:\n", ALIGNED.format("rsp - 40"))),
        put((".ready:\n", ALIGNED.format("r11 - 64"))),
        MEMORY, "needs 32-byte alignment",
    ),
}  # fmt: skip
"""What is wrong of `start`: how it is made wrong, its twin, and the refusal."""

# verify.
LOOKED, FOUND = "vpshufd     xmm1, xmm0, 0x4e\n", "vmovq       rax, xmm0\n"
JOINED = "vpor        xmm0, xmm0, xmm1                    ; all differences"
ERASE = "vpxor       xmm0, xmm0, xmm0\n    vmovdqu     [rsi], xmm0"
LAST = "vmovdqu     [rsi + 80], xmm0                    ; no message\n"
DECIDE = "cmp         rax, 0x00\n    je          .right\n"
FIRST = "cmp         rcx, 0x04\n"
NO_PHASE = "cmp         rax, 0x00\n    je          .misplaced\n"
EARLY = "cmp rax, 0\n    jne .differs\n    "
ERASED = "".join(f"    vmovdqu [rsi + {16 * k}], xmm0\n" for k in range(6))
CHOSEN = """mov ecx, 1
    xor r8d, r8d
    cmp rax, 0
    {} ecx, r8d
    mov eax, ecx
    ret
"""
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
TEST_BEGUN = "cmp         r8, 0x00\n    je          .lengths"

VERIFY: dict[str, tuple[Edit, Edit, Category, str]] = {
    # What is compared.
    "15 bytes of 16": (
        put((LOOKED, f"vpslldq xmm0, xmm0, 1\n    {LOOKED}")),
        put((LOOKED, f"vpslldq xmm0, xmm0, 0\n    {LOOKED}")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "half of a tag": (
        put((JOINED, "")), put((JOINED, "vpor xmm0, xmm1, xmm0")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "32 bits of what differs": (
        put((DECIDE, DECIDE.replace("rax", "eax"))),
        put((DECIDE, "test rax, rax\n    jz .right\n")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "a byte of the tag that is given has to be 0": (
        put((FOUND, f"{FOUND}    movzx ecx, byte [rdx]\n    or rax, rcx\n")),
        put((FOUND, f"{FOUND}    movzx ecx, byte [rdx]\n    or rax, rax\n")),
        FUNCTION, "a condition on some bits of the tag, or on others too",
    ),
    "another mask": (
        put(("[rsi + 32]", "[rsi + 48]")), put(("[rsi + 32]", "[rsi + 64 - 32]")),
        FUNCTION, "a condition on the tag that is given, and on another than is right",
    ),
    "lengths swapped": (
        put(("vpunpcklqdq xmm1, xmm1, xmm2", "vpunpcklqdq xmm1, xmm2, xmm1")),
        put(("vpunpcklqdq xmm1, xmm1, xmm2", "vpslldq xmm2, xmm2, 8\n    vpor xmm1, xmm1, xmm2")),
        FUNCTION, "a condition on the tag that is given, and on another than is right",
    ),
    "the length of AAD says how far the text's block has begun": (
        put(("je          .begun", "jmp .begun")), put(("je          .begun", "jbe .begun")),
        FUNCTION, "a condition on the tag that is given, and on another than is right",
    ),
    "a begun block by 3 bits of a length": (
        put(("and         r8, 0x0f", "and r8, 0x07")),
        put(("and         r8, 0x0f", "mov r11, 15\n    and r8, r11")),
        FUNCTION, "a condition on the tag that is given, and on another than is right",
    ),
    "a block has begun, by stale flags": (
        put((TEST_BEGUN, "cmp rax, 1\n    je .lengths")), put((TEST_BEGUN, "je .lengths")),
        FUNCTION, "a condition on the tag that is given, and on another than is right",
    ),
    "AAD's length in 32 bits": (
        put(("shl         r10, 0x03 ", "shl r10d, 3 ;")),
        put(("shl         r10, 0x03 ", "lea r10, [r10 * 8] ;")),
        OPEN, "a length that may wrap around",
    ),
    # Lengths of tags, and phases.
    "a tag of 5 bytes": (
        put((FIRST, f"cmp rcx, 5\n    je .tag_length\n    {FIRST}")),
        put((FIRST, f"cmp rcx, 4\n    je .tag_length\n    {FIRST}")),
        FUNCTION, "a tag of 5 bytes is not refused",
    ),
    "a tag of 17 bytes": (
        put(("cmp         rcx, 0x11", "cmp rcx, 0x12")),
        put(("cmp         rcx, 0x11\n    jae ", "cmp rcx, 0x10\n    ja ")),
        FUNCTION, "a tag of 17 bytes is not refused",
    ),
    "a tag of 4 bytes is refused": (
        put((FIRST, "cmp rcx, 8\n")), put((FIRST, "lea r9, [rcx - 4]\n    cmp r9, 0\n")),
        FUNCTION, "nothing depends on whether the tag is right",
    ),
    "the length of a tag modulo 2^32": (
        put((FIRST, f"mov ecx, ecx\n    {FIRST}")), put((FIRST, f"mov rcx, rcx\n    {FIRST}")),
        OPEN, "a length that may wrap around",
    ),
    "a message that has not begun": (
        put((NO_PHASE, "")), put((NO_PHASE, "test rax, rax\n    jz .misplaced\n")),
        FUNCTION, "what is no message is not refused",
    ),
    "a phase of 3": (
        put(("cmp         rax, 0x03", "cmp rax, 0x04")),
        put(("cmp         rax, 0x03\n    jae ", "cmp rax, 0x02\n    ja ")),
        FUNCTION, "what is no message is not refused",
    ),
    "a phase beyond 32 bits": (
        put(("mov         rax, [rsi + 80]", "mov eax, [rsi + 80]")),
        put(("mov         rax, [rsi + 80]", "lea r9, [rsi + 40]\n    mov rax, [r9 + 40]")),
        OPEN, "part of a pointer or a length loaded",
    ),
    "the phase is asked for before the length": (
        put((FIRST, f"cmp qword [rsi + 80], 0\n    je .misplaced\n    {FIRST}")),
        put((FIRST, f"cmp qword [rsi + 80], 0\n    je .first\n.first:\n    {FIRST}")),
        FUNCTION, "the status of a length that no tag has is wrong",
    ),
    # What is left.
    "the state outlives a tag that differs": (
        put((ERASE, f"{EARLY}{ERASE}"), (DECIDE, "jmp .right\n.differs:\n")),
        put((ERASE, f"{EARLY}{ERASE}"),
            (DECIDE, f"jmp .right\n.differs:\n    vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        FUNCTION, "X, byte 0 of the state, is not written",
    ),
    "the state outlives a tag that is right": (
        put((ERASE, f"cmp rax, 0\n    je .right\n    {ERASE}"), (DECIDE, "")),
        put((ERASE, f"cmp rax, 0\n    je .same\n    {ERASE}"), (DECIDE, ""),
            (".right:\n", f".same:\n    vpxor xmm0, xmm0, xmm0\n{ERASED}")),
        FUNCTION, "X, byte 0 of the state, is not written",
    ),
    "80 bytes are erased": (
        put((LAST, "")), put((LAST, "vmovups [rsi + 80], xmm0\n")),
        FUNCTION, "the phase, byte 80 of the state, is not written",
    ),
    "the tag stays in the state": (
        behind((LAST, "    vmovdqu [rsi + 48], xmm1\n")),
        behind((LAST, "    vmovdqu [rsi + 48], xmm0\n")),
        FUNCTION, "the keystream, byte 48 of the state, is wrong",
    ),
    "the phase is erased, though a length is refused": (
        behind((REFUSED, "    mov qword [rsi + 80], 0\n")), behind((REFUSED, "    mov eax, 0\n")),
        FUNCTION, "something is written, though the call is refused",
    ),
    "the state of no message is erased": (
        behind((".misplaced:\n", "    vpxor xmm0, xmm0, xmm0\n    vmovdqu [rsi], xmm0\n")),
        behind((".misplaced:\n", "    vpxor xmm0, xmm0, xmm0\n    vmovdqu xmm0, [rsi]\n")),
        FUNCTION, "something is written, though the call is refused",
    ),
    # The status.
    "a tag that differs is right": (
        put(("mov         eax, 0x01", "mov eax, 0")),
        put(("mov         eax, 0x01", "xor eax, eax\n    inc eax")),
        FUNCTION, "the status of a tag that differs is wrong",
    ),
    "a tag that is right differs": (
        put((DECIDE, DECIDE.replace("je ", "jne "))),
        put((DECIDE, "cmp rax, 0\n    jne .differs\n    jmp .right\n.differs:\n")),
        FUNCTION, "the status of a tag that is right is wrong",
    ),
    "whatever differs is right": (
        put((DECIDE, "jmp .right\n")), put((DECIDE, "test rax, rax\n    je .right\n")),
        FUNCTION, "nothing depends on whether the tag is right",
    ),
    "2 for 3": (
        put(("mov         eax, 0x03", "mov eax, 2")),
        put(("mov         eax, 0x03", "mov eax, 2\n    inc eax")),
        FUNCTION, "the status of what is no message is wrong",
    ),
    # Memory.
    "16 bytes of a shorter tag": (
        put(("je          .whole", "jmp .whole")), put(("je          .whole", "jae .whole")),
        MEMORY, "load from 16 bytes of tag that end 12 beyond it",
    ),
    "8 bytes of a tag of 4": (
        put(("jb          .four", "")),
        put(("cmp         rcx, 0x08\n    jb          .four", "cmp rcx, 4\n    je .four")),
        MEMORY, "load from 8 bytes of tag that end 4 beyond it",
    ),
    "the byte behind a tag": (
        put((".compare:\n", ".compare:\n    movzx r9d, byte [rdx + rcx]\n")),
        put((".compare:\n", ".compare:\n    movzx r9d, byte [rdx + rcx - 1]\n")),
        MEMORY, "load from 1 bytes of tag that end 1 beyond it",
    ),
    "the tag is overwritten": (
        put((LAST, "vmovd [rdx], xmm0\n    " + LAST)),
        put((LAST, "vmovd xmm2, [rdx]\n    " + LAST)),
        MEMORY, "store to tag, which is read-only",
    ),
    "97 bytes of a state": (
        behind((LAST, "    vmovdqu [rsi + 81], xmm0\n")),
        behind((LAST, "    vmovdqu [rsi + 80], xmm0\n")),
        MEMORY, "store to 16 bytes of stream that end 1 beyond it",
    ),
    "a tag that is aligned": (
        put(("vmovdqu     xmm1, [rdx]", "vmovdqa xmm1, [rdx]")),
        put(("vmovdqu     xmm1, [rdx]", "vlddqu xmm1, [rdx]")),
        MEMORY, "needs 16-byte alignment",
    ),
    # Constant time.
    "it is asked twice": (
        behind((".right:\n", "    cmp rax, 0\n    jne .refused\n")),
        behind((".right:\n", "    cmp rcx, rcx\n    jne .refused\n")),
        TIMING, "a condition depends on a secret",
    ),
    "the first byte is asked for by itself": (
        put((FOUND, f"{FOUND}    cmp al, 0\n    jne .other\n"), (DECIDE, f"{DECIDE}.other:\n")),
        put((FOUND, f"{FOUND}    cmp rcx, rcx\n    jne .other\n"), (DECIDE, f"{DECIDE}.other:\n")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "the state decides": (
        put((FOUND, f"{FOUND}    vmovq r11, xmm1\n    cmp qword [rsi], 0\n    je .refused\n")),
        put((FOUND, f"{FOUND}    vmovq r11, xmm1\n    cmp qword [rsi + 80], 0\n    je .refused\n")),
        TIMING, "a condition depends on a secret",
    ),
    "a load at what differs": (
        put((ERASE, f"prefetcht0 [rax]\n    {ERASE}")),
        put((ERASE, f"prefetcht0 [rdx]\n    {ERASE}")),
        TIMING, "an address depends on a secret",
    ),
    # The convention.
    "a register of the caller's": (
        put((ERASE, f"mov r12, rcx\n    {ERASE}")), put((ERASE, f"mov r11, rcx\n    {ERASE}")),
        ABI, "r12",
    ),
    "a way that leaves something on the stack": (
        behind((".misplaced:\n", "    push rcx\n")),
        behind((".misplaced:\n", "    push rcx\n    pop rcx\n")),
        ABI, "",
    ),
    # Against how the one question is recognised, and what is behind it.
    "differences that cancel": (
        put((JOINED, "vpxor xmm0, xmm0, xmm1")), put((JOINED, "vpor xmm0, xmm1, xmm0")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "all differences but one": (
        put((FOUND, f"{FOUND}    shr rax, 1\n")), put((FOUND, f"{FOUND}    shr rax, 0\n")),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "the flags of another instruction": (
        put((DECIDE, "cmp rax, 0\n    xor ecx, ecx\n    je .right\n")),
        put((DECIDE, "cmp rax, 0\n    mov ecx, 0\n    je .right\n")),
        FUNCTION, "nothing depends on whether the tag is right",
    ),
    "whether it is at most 0": (
        put((DECIDE, DECIDE.replace("je ", "jle "))), put((DECIDE, DECIDE.replace("je ", "jz "))),
        TIMING, "a condition depends on a secret",
    ),
    "the wrong one of two statuses": (
        put((DECIDE, CHOSEN.format("cmovne"))), put((DECIDE, CHOSEN.format("cmove"))),
        FUNCTION, "the status of a tag that is right is wrong",
    ),
    "12 bytes of a longer tag": (
        put((".tag_length:\n", LONGER.format("mov ecx, 12"))),
        put((".tag_length:\n", LONGER.format("mov rcx, rcx"))),
        FUNCTION, "a condition on some bits of the tag",
    ),
    "wrong for the longest text alone": (
        put((".lengths:\n", AT.format("r9", (1 << 36) - 32))),
        put((".lengths:\n", AT.format("r9", (1 << 36) - 31))),
        OPEN, "a comparison that depends on the unknown",
    ),
    "wrong for the longest AAD alone": (
        put((".lengths:\n", AT.format("r10", (1 << 61) - 1))),
        put((".lengths:\n", AT.format("r10", 1 << 61))),
        OPEN, "a comparison that depends on the unknown",
    ),
    "erased where a block has begun": (
        put((ERASE, f"cmp r8, 0\n    je .skip\n    {ERASE}"), (DECIDE, f".skip:\n    {DECIDE}")),
        put((ERASE, f"cmp r8, 0\n    je .skip\n.skip:\n    {ERASE}")),
        FUNCTION, "X, byte 0 of the state, is not written",
    ),
    "aligned for one stack of four, where the tag is right": (
        put((".right:\n", ALIGNED.replace(".ready", ".right").format("rsp - 40"))),
        put((".right:\n", ALIGNED.replace(".ready", ".right").format("r11 - 64"))),
        MEMORY, "needs 32-byte alignment",
    ),
}  # fmt: skip
"""Likewise of `verify`."""

MASK = "bzhi        {0}, {0}, {1}"

SET_MASK = "kmovq       k1, rax                             ; one bit a byte that is left\n"

MASKED: dict[str, tuple[str, Edit, Edit, Category, str]] = {
    "16 bytes of a shorter tag": (
        "verify", put((MASK.format("rax", "rcx"), "")),
        put((MASK.format("rax", "rcx"), "shlx rax, rax, rcx\n    not rax")),
        MEMORY, "of tag that end 12 beyond it",
    ),
    "all bytes of a shorter tag": (
        "verify", put(("vmovdqu8    xmm0{k1}{z}, xmm2", "vmovdqu8 xmm0, xmm2")),
        put(("vmovdqu8    xmm0{k1}{z}, xmm2",
             "vpxor xmm0, xmm0, xmm0\n    vmovdqu8 xmm0{k1}, xmm2")),
        FUNCTION, "a condition on some bits of the tag, or on others too",
    ),
    "12 bytes of an IV by 16": (
        "start", put(("vmovdqu8    xmm0{k1}{z}, [rdx]", "vmovdqu8 xmm0, [rdx]")),
        put(("vmovdqu8    xmm0{k1}{z}, [rdx]",
             "vpxor xmm0, xmm0, xmm0\n    vmovdqu8 xmm0{k1}, [rdx]")),
        MEMORY, "of iv that end 4 beyond it",
    ),
    "what a register held behind an IV": (
        "start", put(("vmovdqu8    xmm3{k1}{z}, [rdx]", "vmovdqu8 xmm3{k1}, [rdx]")),
        put(("vmovdqu8    xmm3{k1}{z}, [rdx]",
             "vpxor xmm3, xmm3, xmm3\n    vmovdqu8 xmm3{k1}, [rdx]")),
        FUNCTION, "the counter block, byte 16 of the state, depends on",
    ),
    "a mask that stood there": (
        "verify", put((SET_MASK, "")), put((SET_MASK, "kmovq k2, rax\n    kmovq k1, k2\n")),
        FUNCTION, "a mask that the caller left",
    ),
    "differences under another mask": (
        "verify",
        put(("vmovdqu8    xmm0{k1}{z}, xmm2",
             "kshiftrq k2, k1, 1\n    vmovdqu8 xmm0{k2}{z}, xmm2")),
        put(("vmovdqu8    xmm0{k1}{z}, xmm2", "kmovq k2, k1\n    vmovdqu8 xmm0{k2}{z}, xmm2")),
        FUNCTION, "a condition on some bits of the tag, or on others too",
    ),
    "a byte behind an IV": (
        "start", put((MASK.format("r8", "rax"), "lea r10, [rax + 1]\n    bzhi r8, r8, r10")),
        put((MASK.format("r8", "rax"), "lea r10, [rax + 0]\n    bzhi r8, r8, r10")),
        MEMORY, "of iv that end 1 beyond it",
    ),
}  # fmt: skip
"""Likewise of a kernel with byte masks, with the function."""

FAULTS = [(AVX, name, "start", *row) for name, row in START.items()]
FAULTS += [(AVX, name, "verify", *row) for name, row in VERIFY.items()]
FAULTS += [(WIDE, name, *row) for name, row in MASKED.items()]


def edited(kernel: str, text: str, operation: str, edit: Edit) -> str:
    head, label, tail = text.partition(f"\n{kernel}_{operation}:\n")
    own, end, rest = tail.partition("\n.end:")
    changed = edit(own)
    assert changed != own
    return head + label + changed + end + rest


def refuted(operation: str, edit: Edit, kernel: GcmKernel = AVX) -> Refutation | None:
    text = edited(kernel.name, text_of(kernel, "sysv"), operation, edit)
    return proved(kernel, text, operation=operation).refutation


@pytest.mark.parametrize(
    ("kernel", "operation", "wrong", "twin", "category", "words"),
    [pytest.param(kernel, *row, id=f"{row[0]}: {name}") for kernel, name, *row in FAULTS],
)
def test_what_is_wrong_is_refused_and_its_twin_is_proved(
    kernel: GcmKernel, operation: str, wrong: Edit, twin: Edit, category: Category, words: str
) -> None:
    refutation = refuted(operation, wrong, kernel)
    assert refutation is not None
    assert refutation.category == category, str(refutation)
    assert words in str(refutation)
    assert refuted(operation, twin, kernel) is None


@pytest.mark.parametrize(
    ("operation", "label", "secret"),
    [
        ("start", ".ready:", True),
        ("start", ".refused:", False),
        ("verify", LAST, True),
        ("verify", ".right:", True),
        ("verify", ".refused:", False),
        ("verify", ".misplaced:", False),
    ],
)
def test_nothing_secret_is_left_on_any_way_out(operation: str, label: str, secret: bool) -> None:
    def edit(own: str) -> str:
        before, at, after = own.partition(label)
        wipe = re.search(r" +vpxor +xmm2, xmm2, xmm2 +; wipe\n", after)
        assert wipe is not None
        return before + at + after[: wipe.start()] + after[wipe.end() :]

    text = edited(WIPED.name, text_of(WIPED, "sysv"), operation, edit)
    refutation = proved(WIPED, text, operation=operation).refutation
    if secret:
        assert refutation is not None
        assert refutation.category == Category.WIPE, str(refutation)
    else:
        # No secret has come by then.
        assert refutation is None
