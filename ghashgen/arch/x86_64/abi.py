"""Calling conventions of x86-64."""

from collections.abc import Mapping
from types import MappingProxyType

from ghashgen.arch.core import Abi
from ghashgen.arch.x86_64.registers import GPR_NAMES


def _numbers(names: str) -> tuple[int, ...]:
    return tuple(GPR_NAMES.index(name) for name in names.split())


SYSV = Abi(
    name="sysv",
    title="System V AMD64 psABI, section 3.2",
    params=_numbers("rdi rsi rdx rcx r8 r9"),
    volatile=_numbers("rax rcx rdx rsi rdi r8 r9 r10 r11"),
    saved=_numbers("rbx rbp r12 r13 r14 r15"),
    saved_vectors=(),
    stack_params_at=8,
    format="elf64",
    attribute="sysv_abi",
)

WIN64 = Abi(
    name="win64",
    title="Microsoft x64 calling convention",
    params=_numbers("rcx rdx r8 r9"),
    volatile=_numbers("rax rcx rdx r8 r9 r10 r11"),
    saved=_numbers("rsi rdi rbx rbp r12 r13 r14 r15"),
    saved_vectors=tuple(range(6, 16)),
    # The return address, and 32 bytes in which the callee may store the register parameters.
    stack_params_at=40,
    format="win64",
    attribute="ms_abi",
    plain_epilogues=True,
)

ABIS: Mapping[str, Abi] = MappingProxyType({abi.name: abi for abi in (SYSV, WIN64)})
"""Every calling convention by name."""
