"""All rows by instruction code. An instruction without a row is refused by its name.

A row covers a mnemonic in all its forms but those of `LEFT_OUT`. Widths and masks are
the form's, as the decoder has it (`ghashgen.verify.x86_64.operands`). Where the legacy encoding of
a mnemonic has a row, that with a V before it has the same.
"""

import re
from functools import cache
from typing import Any

from iced_x86 import Code, Instruction, Mnemonic, OpCodeInfo

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.machine.machine import Step
from ghashgen.verify.x86_64.machine import Builder
from ghashgen.verify.x86_64.rows import aes, flow, general, move, stack, vector, wide

MODULES = (general, stack, flow, vector, move, wide, aes)

LEFT_OUT = re.compile(
    "(MVEX|VEX_KNC)_.*"  # Xeon Phi.
    "|.*_MMM?(32|64)?(_.*)?"  # MMX.
    "|EVEX_VPCMP.*|EVEX_VMOV[AU]PD.*|VEX_VLDDQU_Y.*|VEX_KMOV._M.*|(BSWAP|LEA)_R16.*"
    "|MOVZX_R16_RM16|TEST_.*_F[67]R1|MOV_.*(MOFFS|SREG|CR|DR).*|J.*_(REL16|REL8_16)|JMP_.*M.*"
    "|.*P(INSR|EXTR).*_R64M.*|.*PEXTRW_R.._.*|.*PMOVMSKB_R64.*"
)
"""Forms without a row, of mnemonics that have one."""


@cache
def _names() -> dict[Any, str]:
    return {code: name for name, code in vars(Code).items() if isinstance(code, int)}


def code_name(code: int) -> str:
    """Return the name of an instruction form, for example VEX_VPXOR_XMM_XMM_XMMM128."""
    return _names().get(code, str(code))


@cache
def rows() -> dict[int, Builder]:
    """Return the rows by iced's instruction code.

    Raises:
        ValueError: two rows claim one code, or a row has no form.
    """
    forms: dict[int, list[int]] = {}
    for code in _names():
        if (form := OpCodeInfo(code)).mode64:
            forms.setdefault(form.mnemonic, []).append(code)
    table: dict[int, Builder] = {}
    for module in MODULES:
        for names, build in module.ROWS.items():
            for name in names.split():
                found = _forms(name, forms)
                if not found or not table.keys().isdisjoint(found):
                    raise ValueError(f"no row for {name}, or two")
                table |= dict.fromkeys(found, build)
    return table


def _forms(name: str, forms: dict[int, list[int]]) -> list[int]:
    """Return the codes of a form, or those of a mnemonic."""
    if hasattr(Code, name):
        return [getattr(Code, name)]
    mnemonics = [getattr(Mnemonic, n) for n in (name, f"V{name}") if hasattr(Mnemonic, n)]
    codes = [code for mnemonic in mnemonics for code in forms[mnemonic]]
    return [code for code in codes if not LEFT_OUT.fullmatch(code_name(code))]


def step_of(instruction: Instruction) -> Step:
    """Return the semantics of a decoded instruction.

    Raises:
        Refutation: no row covers it.
    """
    build = rows().get(instruction.code)
    if build is None:
        raise unsupported(f"no row for {code_name(instruction.code)}", int(instruction.ip))
    return build(instruction)
