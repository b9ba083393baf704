"""Runs single instructions on this CPU; a separate process, because they may crash it.

It reads pickled cases (code bytes, registers, memory) on stdin and writes pickled results on
stdout. A file named on the command line has machine code to go around the tested instruction: it
loads every register from the context page, falls through to the slot, and stores every register.
"""

import ctypes
import mmap
import pickle
import sys
from pathlib import Path

SLOT, SLOT_BYTES = 0x800, 64
CONTEXT, CONTEXT_BYTES = 0x1000, 256 + 32 * 64
BUFFER, BUFFER_BYTES = 0x2000, 256
BASE_REGISTER_AT = 6 * 8  # rsi in the order rax rcx rdx rbx rsp rbp rsi rdi r8 …

MOVES = {"xmm": "movdqu", "ymm": "vmovdqu", "zmm": "vmovdqu64"}
"""The instruction that loads and stores a vector register of each kind. The widest one that a CPU
has decides how many bits of its registers are compared.
"""

_SOURCE = f"""
bits 64
default rel
org 0
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov [context + 32], rsp
    push qword [context + 128]
    popfq
%assign i 0
%ifidn VECTOR, zmm
%rep 8
    kmovq k%[i], [context + 136 + 8*i]
%assign i i+1
%endrep
%endif
%assign i 0
%rep VECTORS
    MOVE VECTOR%[i], [context + 256 + 64*i]
%assign i i+1
%endrep
    mov rax, [context]
    mov rcx, [context + 8]
    mov rdx, [context + 16]
    mov rbx, [context + 24]
    mov rbp, [context + 40]
    mov rsi, [context + 48]
    mov rdi, [context + 56]
%assign i 8
%rep 8
    mov r%[i], [context + 8*i]
%assign i i+1
%endrep
    jmp slot
times {SLOT}-($-$$) nop
slot:
times {SLOT_BYTES} nop
    mov [context], rax
    mov [context + 8], rcx
    mov [context + 16], rdx
    mov [context + 24], rbx
    mov [context + 40], rbp
    mov [context + 48], rsi
    mov [context + 56], rdi
%assign i 8
%rep 8
    mov [context + 8*i], r%[i]
%assign i i+1
%endrep
    mov rsp, [context + 32]
    pushfq
    pop qword [context + 128]
%assign i 0
%ifidn VECTOR, zmm
%rep 8
    kmovq [context + 136 + 8*i], k%[i]
%assign i i+1
%endrep
%endif
%assign i 0
%rep VECTORS
    MOVE [context + 256 + 64*i], VECTOR%[i]
%assign i i+1
%endrep
%ifnidn VECTOR, xmm
    vzeroupper
%endif
    cld
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
times {CONTEXT}-($-$$) nop
context:
"""


def source(vector: str) -> str:
    """Return the code around an instruction on a CPU whose widest registers are these.

    Without zmm, registers 16 to 31 and masks are not loaded but keep their place in the context.
    """
    text = _SOURCE.replace("VECTORS", "32" if vector == "zmm" else "16")
    return text.replace("VECTOR", vector).replace("MOVE", MOVES[vector])


def main() -> None:
    """Run the cases."""
    blob = Path(sys.argv[1]).read_bytes()
    cases = pickle.load(sys.stdin.buffer)
    page = mmap.mmap(
        -1,
        0x4000,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
    )
    page[: len(blob)] = blob
    base = ctypes.addressof(ctypes.c_char.from_buffer(page))
    function = ctypes.CFUNCTYPE(None)(base)
    results = []
    for code, context, memory in cases:
        page[SLOT : SLOT + SLOT_BYTES] = code.ljust(SLOT_BYTES, b"\x90")
        page[CONTEXT : CONTEXT + CONTEXT_BYTES] = context
        start = base + BUFFER + BUFFER_BYTES // 4
        page[CONTEXT + BASE_REGISTER_AT : CONTEXT + BASE_REGISTER_AT + 8] = start.to_bytes(
            8, "little"
        )
        page[BUFFER : BUFFER + BUFFER_BYTES] = memory
        function()
        results.append(
            (page[CONTEXT : CONTEXT + CONTEXT_BYTES], page[BUFFER : BUFFER + BUFFER_BYTES], start)
        )
    pickle.dump(results, sys.stdout.buffer)


if __name__ == "__main__":
    main()
