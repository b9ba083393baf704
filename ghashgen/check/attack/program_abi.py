"""The calling conventions of the random programs: code around a body, and a thunk that calls it.

A body assumes fixed registers: the state in rdi, the table in rsi, the input in rdx, the length in
rcx, other values in FREE and in xmm0 to xmm15. For a convention that passes or keeps others, code
around the body moves and saves them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.toolchain import assemble_text

_VECTORS = range(6, 16)
_SAVES = tuple(f"movdqu [rsp + {16 * k}], xmm{n}" for k, n in enumerate(_VECTORS))
_RESTORES = tuple(f"movdqu xmm{n}, [rsp + {16 * k}]" for k, n in enumerate(_VECTORS))
_ROOM = 96


@dataclass(frozen=True)
class Convention:
    """A calling convention, as a body needs it."""

    name: str
    arguments: tuple[str, ...]
    """Registers of state, table, input and length."""
    kept: tuple[str, ...]
    """General registers that a function must keep, except rsp."""
    kept_vectors: tuple[int, ...] = ()
    home: int = 0
    """Bytes above the return address that belong to the function."""
    enter: tuple[str, ...] = ()
    restores: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    """Emitted after `restores`, with rsp as `enter` left it."""
    room: int = 0
    """Bytes at rsp for the body, if there is no red zone."""


SYSV = Convention("sysv", ("rdi", "rsi", "rdx", "rcx"), ("rbx", "rbp", "r12", "r13", "r14", "r15"))

WIN64 = Convention(
    "win64",
    ("rcx", "rdx", "r8", "r9"),
    (*SYSV.kept, "rdi", "rsi"),
    tuple(_VECTORS),
    home=32,
    enter=(
        *("push rdi", "push rsi", f"sub rsp, {16 * len(_VECTORS) + 8}", *_SAVES),
        *("mov rdi, rcx", "mov rsi, rdx", "mov rdx, r8", "mov rcx, r9", f"sub rsp, {_ROOM}"),
    ),
    restores=(f"add rsp, {_ROOM}", *_RESTORES),
    leave=(f"add rsp, {16 * len(_VECTORS) + 8}", "pop rsi", "pop rdi"),
    room=_ROOM,
)

CONVENTIONS: Mapping[str, Convention] = {c.name: c for c in (SYSV, WIN64)}
"""Conventions by the names that statements use."""

_MARK = 0x5A17C3F00DFE1ED1
_STACK, _TORN, _BACKWARDS, _VECTOR = (1 << k for k in range(16, 20))


def _kept(k: int) -> int:
    return 0x6B00000000000001 + 17 * k


def _thunk(convention: Convention) -> str:
    c = convention
    own = SYSV.kept
    mark = f"0x{_MARK:x}"
    free = [name for name in ("r8", "r9", "r10", "r11") if name not in c.arguments]
    # In this order no argument is overwritten before it is moved.
    given = list(zip(c.arguments, ("rsi", "rdx", "rcx", "r8"), strict=True))
    moves = [f"mov {to}, {at}" for to, at in (given if c is SYSV else given[::-1])]
    lines = ["bits 64", "default rel", *(f"push {name}" for name in own)]
    lines += [f"sub rsp, {24 + c.home}", f"mov rax, {mark}"]
    lines += [f"mov [rsp + {c.home}], rax", f"mov [rsp + {c.home + 8}], rax"]
    for k, n in enumerate(c.kept_vectors):
        lines += [f"mov rax, 0x{_kept(k):x}", f"movq xmm{n}, rax", f"punpcklqdq xmm{n}, xmm{n}"]
    lines += ["mov [stack], rsp", "mov rax, rdi", *moves]
    lines += [f"mov {name}, 0x{_kept(k):x}" for k, name in enumerate(c.kept)]
    lines += [f"mov {name}, 0x{0x8877665544332211 + k:x}" for k, name in enumerate(free)]
    lines += ["call rax", "xor eax, eax", "cmp rsp, [stack]", "je .there", "mov rsp, [stack]"]
    lines += [f"or eax, {_STACK}", ".there:"]
    for k, name in enumerate(c.kept):
        # No function keeps rcx.
        lines += [f"mov rcx, 0x{_kept(k):x}", f"cmp {name}, rcx", f"je .k{k}"]
        lines += [f"or eax, {1 << k}", f".k{k}:"]
    for k, n in enumerate(c.kept_vectors):
        lines += [f"mov rcx, 0x{_kept(k):x}", "movq xmm0, rcx", "punpcklqdq xmm0, xmm0"]
        lines += [f"pcmpeqb xmm0, xmm{n}", "pmovmskb ecx, xmm0", "cmp ecx, 0xffff", f"je .v{k}"]
        lines += [f"or eax, {_VECTOR}", f".v{k}:"]
    lines += [f"mov rcx, {mark}", f"cmp [rsp + {c.home}], rcx", "jne .torn"]
    lines += [f"cmp [rsp + {c.home + 8}], rcx", "je .whole", ".torn:", f"or eax, {_TORN}"]
    lines += [".whole:", "pushfq", "pop rcx", "test ecx, 1024", "jz .up", f"or eax, {_BACKWARDS}"]
    lines += [".up:", "cld", f"add rsp, {24 + c.home}", *(f"pop {name}" for name in own[::-1])]
    return "\n".join([*lines, "ret", "align 8", "stack: dq 0", ""])


@cache
def thunk(convention: Convention) -> bytes:
    """Return machine code of uint64_t thunk(function, state, table, input, length), in System V.

    It calls a function of a convention, and returns which registers the function wrongly changed:
    one bit each, then rsp, the caller's stack, the direction flag, and vectors.
    """
    return assemble_text(find_nasm(), "thunk", _thunk(convention), "bin")
