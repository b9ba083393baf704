"""Wrong beginnings of messages in pieces, each refused beside a repaired twin that is proved."""

import pytest
from helpers.piece_faults import (
    ABI,
    ALIGNED,
    ASKED,
    AVX,
    ENTRY,
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
    behind,
    lines,
    require_refused,
    require_wiped,
)
from helpers.planting import put

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.refutation import Category

PHASE, SET_PHASE = "mov eax, 0x01\n", "mov [rsi + 80], rax"
ZEROED = "vmovdqu [rsi + 80], xmm1 ; no message\n"
STEP = f"vpaddd xmm1, xmm1, [rel {AVX.name}_one]"
COUNTER = "vmovdqu [rsi + 16], xmm1 ; the counter block of the text\n"
KEPT = "vmovdqu [rsi + 32], xmm0 ; E_K(J_0)"
MOST = "cmp rcx, rax\n ja .refused\n"
AGAIN = "jae .whole\n"
ZERO = "vpxor xmm2, xmm2, xmm2\n mov r9"
SECOND = "vpxor xmm2, xmm2, xmm2\n vpxor xmm9, xmm9, xmm9\n mov r9"
LOADED = "vmovdqu xmm3, [rdx] ; C, bytes as in memory\n"
STEPPED = "add rdx, 0x10 "
TOGETHER = (".after_whole:\n", ".after_whole:\n vpxor xmm2, xmm2, xmm9\n")
HASHED = "vpshufb xmm0, xmm2, xmm0 ; J_0\n"
COUNTED = f""" vpshufb xmm0, xmm0, [rel {AVX.name}_byte_swap]
 {{}} xmm0, xmm0, [rel {AVX.name}_one]
 vpshufb xmm0, xmm0, [rel {AVX.name}_byte_swap]
"""
SEVERAL = " cmp r9, 32\n jb .whole\n"
NEXT = """.whole:
 mov r10, rdx
 cmp r9, 48
 jb .one
 lea r10, [rdx + {}]
.one:
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

START: dict[str, Row] = {
    "text may come, and no AAD": at(PHASE, "mov eax, 2\n", "mov eax, 2\n sub eax, 1\n", FUNCTION,
        "byte 80 of the state is wrong"),
    "a phase of 4 bytes where others stood": (put((ZEROED, ""), (SET_PHASE, "mov [rsi + 80], eax")),
        put((SET_PHASE, "mov [rsi + 80], eax")), FUNCTION, "byte 80 of the state is not written"),
    "the lengths are those that stood there": at("vmovdqu [rsi + 64], xmm1", "",
        "vmovq [rsi + 64], xmm1\n vmovq [rsi + 72], xmm1", FUNCTION,
        "byte 64 of the state is not written"),
    "the length of the IV for that of the AAD": at(ZEROED, f"mov [rsi + 64], rcx\n {ZEROED}",
        f"mov [rsi + 88], rcx\n {ZEROED}", FUNCTION, "byte 64 of the state is wrong"),
    "the sum is what stood there": at("vmovdqu [rsi], xmm1", "vmovdqu [rsi + 16], xmm1",
        "vmovdqu [rsi], ymm1", FUNCTION, "byte 0 of the state is not written"),
    "the text begins at J_0": at(STEP, "", f"vpxor xmm3, xmm3, xmm3\n {STEP}", FUNCTION,
        "byte 16 of the state is wrong"),
    "a counter of 64 bits": (
        put((STEP, STEP.replace("vpaddd", "vpaddq"))),
        put((STEP, STEP.replace("xmm1, [", "[").replace("vpaddd xmm1, ", "vmovdqu xmm3, ")
             + "\n vpaddd xmm1, xmm3, xmm1")),
        FUNCTION, "byte 16 of the state: an addition of secrets",
    ),
    "E_K(J_0) where the keystream is": (
        put((KEPT, "vmovdqu [rsi + 48], xmm0")),
        put((KEPT, lines("vmovdqu [rsi + 48], xmm0", "vpxor xmm1, xmm1, xmm1", KEPT, "",
                          "vmovdqu [rsi + 48], xmm1"))),
        FUNCTION, "byte 32 of the state is wrong",
    ),
    "E_K of the first block of text": after(COUNTER, " vmovdqa xmm0, xmm1\n",
        " vmovdqa xmm0, xmm0\n", FUNCTION, "byte 32 of the state is wrong"),
    "J_0 itself for E_K(J_0)": (
        behind((COUNTER, " vmovdqa xmm6, xmm0\n"), (f"{KEPT}\n", " vmovdqu [rsi + 32], xmm6\n")),
        behind((COUNTER, " vmovdqa xmm6, xmm0\n"), (f"{KEPT}\n", " vmovdqu [rsi + 32], xmm0\n")),
        FUNCTION, "byte 32 of the state is wrong"),
    # Lengths.
    "an IV of 2^61 bytes": (put(("2305843009213693951", "2305843009213693952")),
        put(("2305843009213693951", "2305843009213693952"), ("ja .refused", "jae .refused")), OPEN,
        "the status is wrong, not 2"),
    "an IV of no bytes": (put(("je .refused\n", "\n")),
        put(("cmp rcx, 0x00\n je .refused\n", "test rcx, rcx\n jz .refused\n")), MEMORY,
        "load from 1 bytes of iv that end 1 beyond it"),
    "13 bytes are taken for 12": at("cmp rcx, 0x0c\n jne ", "lea r8, [rcx - 12]\n cmp r8, 1\n ja ",
        "lea r8, [rcx - 12]\n cmp r8, 0\n ja ", OPEN, "a counter that nobody knows"),
    "the length of the IV in 32 bits": at("shl rcx, 0x03", "shl ecx, 3", "shl rcx, 1\n shl rcx, 2",
        OPEN, "a counter that nobody knows"),
    "long IVs end early": at(AGAIN, LONG.format(40), LONG.format(62), OPEN,
        "entry -> loop0: iv_length = iv_length is not in its range"),
    "a block of long IVs is absorbed twice": at(AGAIN, TWICE.format("1000"),
        TWICE.format("1 << 62"), OPEN, "entry -> loop0: iv_length = iv_length is not in its range"),
    # Flags of the comparison before the last.
    "whether a part is left, by stale flags": at("cmp r9, 0x00\n je ", "je ", "test r9, r9\n je ",
        MEMORY, "of iv that end 1 beyond it"),
    # Refusals and the status.
    "the phase is erased, though a length is refused": after(REFUSED, " mov qword [rsi + 80], 0\n",
        " mov eax, 0\n", FUNCTION, "something is written, where all is to stay"),
    "a refusal is done": at("mov eax, 0x02", "mov eax, 0", "mov eax, 1\n add eax, 1", FUNCTION,
        "the status is wrong, not 2"),
    "done is 1": at("mov eax, 0x00", "", "sub eax, eax", FUNCTION, "the status is wrong"),
    # Memory.
    "what the state was is read": (behind((ENTRY, " mov rax, [rsi + 80]\n")),
        behind((ZEROED, " mov rax, [rsi + 80]\n")), MEMORY,
        "load from stream, which has no initial content"),
    "97 bytes of a state": after(ZEROED, " vmovdqu [rsi + 81], xmm1\n",
        " vmovdqu [rsi + 80], xmm1\n", MEMORY, "store to 16 bytes of stream that end 1 beyond it"),
    "a state that is aligned": at("vmovdqu [rsi + 48], xmm1", "vmovdqa [rsi + 48], xmm1",
        "vmovups [rsi + 48], xmm1", MEMORY, "needs 16-byte alignment"),
    "12 bytes of an IV by 16": at("vmovd xmm1, [rdx + 8]", "vmovq xmm1, [rdx + 8]",
        "mov eax, [rdx + 8]\n vmovd xmm1, eax", MEMORY,
        "load from 8 bytes of iv that end 4 beyond it"),
    "the IV is written": after(ENTRY, " mov byte [rdx], 0\n", " nop dword [rdx]\n", MEMORY,
        "store to iv, which is read-only"),
    # Constant time.
    "an IV of zeros has a way of its own": after(".other:\n", " cmp byte [rdx], 0\n je .refused\n",
        " cmp rcx, 0\n je .refused\n", *ASKED),
    "a prefetch at E_K(J_0)": at(KEPT, f"vmovq rax, xmm0\n prefetcht0 [rax]\n {KEPT}",
        f"vmovq rax, xmm0\n {KEPT}", TIMING, "an address depends on a secret"),
    # The convention.
    "a register of the caller's": after(ENTRY, " mov rbx, rcx\n", " mov r10, rcx\n", ABI, "rbx"),
    "the direction of strings": after(ENTRY, " std\n", " xor r10d, r10d\n", OPEN, "std"),
    # Against the induction over the IV's blocks, and what is named there.
    "what is left of the IV for its length": at(".lengths:\n", ".lengths:\n mov rcx, r9\n",
        ".lengths:\n mov r9, rcx\n mov rcx, r9\n", OPEN, "a counter that nobody knows"),
    "the first of several blocks is not hashed": at(".whole:\n",
        f"{SEVERAL} add rdx, 16\n sub r9, 16\n.whole:\n",
        f"{SEVERAL} add rdx, 0\n sub r9, 0\n.whole:\n", OPEN, "a counter that nobody knows"),
    "blocks of long IVs in another order": (
        put((".whole:\n", NEXT.format(16)), (LOADED, "vmovdqu xmm3, [r10]\n")),
        put((".whole:\n", NEXT.format(0)), (LOADED, "vmovdqu xmm3, [r10]\n")), OPEN,
        "a counter that nobody knows"),
    "a second sum that holds the last block": (
        put((ZERO, SECOND), (STEPPED, f"vmovdqa xmm9, xmm3\n {STEPPED}"), TOGETHER),
        put((ZERO, SECOND), (STEPPED, f"vmovdqa xmm8, xmm3\n {STEPPED}"), TOGETHER), OPEN,
        "a counter that nobody knows"),
    "a register of zeros that J_0 is added to": (
        put((".other:\n", ".other:\n vpxor xmm9, xmm9, xmm9\n"),
            (STEPPED, f"vpcmpeqd xmm9, xmm9, xmm9\n {STEPPED}"), TOGETHER),
        put((".other:\n", ".other:\n vpxor xmm9, xmm9, xmm9\n"),
            (STEPPED, f"vpxor xmm9, xmm9, xmm9\n {STEPPED}"), TOGETHER),
        OPEN, "a counter that nobody knows",
    ),
    "a hashed IV is counted on by two": at(HASHED, HASHED + COUNTED.format("vpaddd"),
        HASHED + COUNTED.format("vpaddd") + COUNTED.format("vpsubd"), FUNCTION,
        "byte 16 of the state is wrong"),
    "the sum is left where the IV has 12 bytes": (
        put(("jmp .ready\n", "vpxor xmm1, xmm1, xmm1\n jmp .half\n"),
            (".ready:\n", ".ready:\n vpxor xmm1, xmm1, xmm1\n vmovdqu [rsi], xmm1\n.half:\n"),
            ("vmovdqu [rsi], xmm1 ; no message\n", "")),
        put((".ready:\n", ".ready:\n vpxor xmm1, xmm1, xmm1\n vmovdqu [rsi], xmm1\n.half:\n"),
            ("vmovdqu [rsi], xmm1 ; no message\n", "")),
        FUNCTION, "byte 0 of the state is not written",
    ),
    "the state is the place of J_0 for a while": (
        put((".ready:\n", ".ready:\n vmovdqu [rsi + 64], xmm0\n"),
            ("vmovdqu [rsi + 64], xmm1", "")),
        put((".ready:\n", ".ready:\n vmovdqu [rsi + 64], xmm0\n")),
        FUNCTION, "byte 64 of the state is wrong",
    ),
    "aligned for one stack of four": at(".ready:\n", ALIGNED.format("rsp - 40"),
        ALIGNED.format("r11 - 64"), MEMORY,
        "load from stack needs 32-byte alignment, which is not assured"),
}  # fmt: skip
"""What is wrong of `start`: how it is made wrong, its twin, and the refusal."""

EXACT: dict[str, Row] = {
    "12 bytes of an IV by 16": at("vmovd xmm1, [rdx + 8]", "vmovq xmm1, [rdx + 8]",
        "lea r9, [rdx + 8]\n vmovd xmm1, [r9]", MEMORY, "of iv that end 4 beyond it"),
    "bytes that an IV has twice": at("vpshufb xmm4, xmm4, [r8 + 24]",
        "vpshufb xmm4, xmm4, [r8 + 25]", "vmovdqu xmm5, [r8 + 24]\n vpshufb xmm4, xmm4, xmm5", OPEN,
        "a counter that nobody knows"),
    "a byte behind an IV": at("vmovq xmm4, [rdx + rax - 8]", "vmovq xmm4, [rdx + rax - 7]",
        "lea r9, [rdx + rax]\n vmovq xmm4, [r9 - 8]", MEMORY,
        "load from 8 bytes of iv that end 1 beyond it"),
}  # fmt: skip
"""Likewise of a kernel with byte masks."""

FAULTS = [(AVX, name, *row) for name, row in START.items()]
FAULTS += [(WIDE, name, *row) for name, row in EXACT.items()]


NOT_FOUND = (
    "the first of several blocks is not hashed",
    "blocks of long IVs in another order",
    "aligned for one stack of four",
)
"""Whose twins are right, but no certificate of them is found."""


@pytest.mark.parametrize(
    ("kernel", "wrong", "twin", "category", "words", "found"),
    [pytest.param(kernel, *row, name not in NOT_FOUND, id=name) for kernel, name, *row in FAULTS],
)
def test_what_is_wrong_is_refused_and_its_twin_is_proved(
    kernel: GcmKernel, wrong: Edit, twin: Edit, category: Category, words: str, found: bool
) -> None:
    require_refused("start", wrong, twin, category, words, kernel, found)


@pytest.mark.parametrize(("label", "secret"), [(".ready:", True), (".refused:", False)])
def test_nothing_secret_is_left_on_any_way_out(label: str, secret: bool) -> None:
    require_wiped("start", label, secret)
