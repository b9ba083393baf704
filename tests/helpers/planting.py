"""Faults planted in emitted text, found by what an instruction does, wherever its values lie.

A fault names an instruction of an emission, as ``vpandq zmm6, zmm0, [rsi + rcx + 32]``. Where the
emission has that no more, its registers are letters: each stands for whichever register the
allocator takes now, the same one wherever it is named, xmm6 and zmm6 being parts of one. Widths,
numbers, addresses within a buffer and comments are as written; runs of spaces are one. The
instruction must then be the only one that fits, so that the fault is the one that was meant.
"""

import re
from collections.abc import Callable

_GENERAL = "rax|rbx|rcx|rdx|rsi|rdi|rbp|r8|r9|r10|r11|r12|r13|r14|r15"
"""RSP is not among them: it is always the stack."""

_TOKEN = re.compile(
    rf"(?P<space>\s+)|\b(?P<width>[xyz]mm|k)(?P<number>\d+)\b|\b(?P<general>{_GENERAL})\b"
)


def pattern(wanted: str) -> re.Pattern[str]:
    """Return what finds an instruction, or a piece of one, whatever its registers.

    A register is the group of its letter: v6 of xmm6, ymm6 and zmm6; k1; rcx.
    """
    out, end, seen = [], 0, set[str]()
    for token in _TOKEN.finditer(wanted):
        out.append(re.escape(wanted[end : token.start()]))
        end = token.end()
        if token["space"]:
            out.append(r"\s*\n\s*" if "\n" in token["space"] else r"[ \t]+")
            continue
        name = _letter(token)
        found = r"\d+" if token["width"] else _GENERAL
        part = f"(?P={name})" if name in seen else f"(?P<{name}>{found})"
        seen.add(name)
        out.append(rf"\b{token['width'] or ''}{part}\b")
    return re.compile("".join([*out, re.escape(wanted[end:])]))


def _letter(token: re.Match[str]) -> str:
    if token["general"]:
        return token["general"]
    return ("k" if token["width"] == "k" else "v") + token["number"]


def planted(text: str, wanted: str, wrong: str, at: int = 0) -> str:
    """Return the text with an instruction made another one: of those as written, number ``at``.

    Registers of ``wrong`` that ``wanted`` names are those found; others are as they stand.
    """
    parts = text.split(wanted)
    if len(parts) > at + 1:
        return wanted.join(parts[: at + 1]) + wrong + wanted.join(parts[at + 1 :])
    found = list(pattern(wanted).finditer(text))
    assert found, f"no such text: {wanted!r}"
    assert len(found) == 1, f"{len(found)} places fit {wanted!r}: name a comment or a neighbour"
    (match,) = found
    registers = match.groupdict()

    def placed(token: re.Match[str]) -> str:
        if token["space"] or (register := registers.get(_letter(token))) is None:
            return token[0]
        return (token["width"] or "") + register

    return text[: match.start()] + _TOKEN.sub(placed, wrong) + text[match.end() :]


def put(*edits: tuple[str, str]) -> Callable[[str], str]:
    """Return an edit of a text: the first place of each instruction holds another."""

    def change(text: str) -> str:
        for wanted, wrong in edits:
            text = planted(text, wanted, wrong)
        return text

    return change
