"""Calling conventions: where parameters arrive and which registers a callee must keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

RSP = 4

GPR_NAMES = (
    *("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"),
    *("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"),
)
"""General registers by hardware number."""


def _numbers(names: str) -> tuple[int, ...]:
    return tuple(GPR_NAMES.index(name) for name in names.split())


@dataclass(frozen=True)
class Abi:
    """A calling convention for x86-64; registers by hardware number."""

    name: str
    title: str
    params: tuple[int, ...]
    volatile: tuple[int, ...]
    """General registers free to use, in the order to take them."""
    saved: tuple[int, ...]
    """General registers that the callee must restore, in the order to take them."""
    saved_vectors: tuple[int, ...]
    """Vector registers whose low 128 bits the callee must restore."""


SYSV = Abi(
    name="sysv",
    title="System V AMD64 psABI, section 3.2",
    params=_numbers("rdi rsi rdx rcx"),
    volatile=_numbers("rax rcx rdx rsi rdi r8 r9 r10 r11"),
    saved=_numbers("rbx rbp r12 r13 r14 r15"),
    saved_vectors=(),
)

WIN64 = Abi(
    name="win64",
    title="Microsoft x64 calling convention",
    params=_numbers("rcx rdx r8 r9"),
    volatile=_numbers("rax rcx rdx r8 r9 r10 r11"),
    saved=_numbers("rsi rdi rbx rbp r12 r13 r14 r15"),
    saved_vectors=tuple(range(6, 16)),
)

ABIS: Mapping[str, Abi] = MappingProxyType({abi.name: abi for abi in (SYSV, WIN64)})
"""Every calling convention by name."""
