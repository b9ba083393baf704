"""What each AArch64 instruction of a kernel does with its operands, and its audit class.

A library reads mnemonics and operands. Which operands are read and written is stated here, because
capstone 5 does not know it for some (CMP, TBL, EOR3). Other instructions are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Mnemonic:
    """One mnemonic."""

    roles: tuple[str, ...]
    """Roles of registers, immediates and memory, in order: w written, r read."""
    audit_class: str
    """The class if an operand is a vector register or memory."""
    flags: str = ""
    """r, w: what it does with NZCV."""


def _table(text: str) -> dict[str, Mnemonic]:
    """Parse lines `class roles flags: mnemonics`, roles with commas, - for none."""
    out: dict[str, Mnemonic] = {}
    for line in text.strip().splitlines():
        head, _, names = line.partition(":")
        cls, roles, flags = head.split()
        given = () if roles == "-" else tuple(roles.split(","))
        for name in names.split():
            out[name] = Mnemonic(given, cls, flags.strip("-"))
    return out


MNEMONICS: Mapping[str, Mnemonic] = MappingProxyType(
    _table("""
        clmul   w,r,r   -:  pmull pmull2
        xor     w,r,r   -:  eor orr and bic
        xor     w,r,r,r -:  eor3
        shuffle w,r,r,r -:  ext
        shuffle w,r,r   -:  zip1 zip2 trn1 trn2 tbl shl ushr sshr ushl
        shuffle w,r     -:  rbit rev64 dup
        other   w,r     -:  mov movi fmov neg adrp
        other   w,r,r   -:  add sub lsl lsr
        other   r,r     w:  cmp
        load    w,r     -:  ldr ldur ldrb
        load    w,w,r   -:  ldp
        store   r,w     -:  str stur strb
        store   r,r,w   -:  stp
        other   r       r:  b.lo b.hs b.eq b.ne
        other   r,r     -:  cbz cbnz
        other   r       -:  b hint
        other   -       -:  ret nop bti
    """)
)
"""Every mnemonic that is known, as capstone spells it."""

BRANCHES = ("b.lo", "b.hs", "b.eq", "b.ne", "cbz", "cbnz")
"""Instructions that may branch."""
