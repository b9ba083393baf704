"""The caller's array of messages: one record for each, ten 64-bit words.

    iv  aad  in  out  tag  len  aad_len  iv_len  tag_len  status

`len` and `aad_len` are neighbours, so that one load takes both halves of the length block.
"""

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, Operand, VReg

WORDS = ("iv", "aad", "in", "out", "tag", "len", "aad_len", "iv_len", "tag_len", "status")
"""The words of a record, in order."""

WORD_BYTES = 8
RECORD_BYTES = WORD_BYTES * len(WORDS)

RECORD_TYPE = "struct ghashgen_message"
"""The type of a record in C."""

RECORD_DECLARED = f"""\
#ifndef GHASHGEN_MESSAGE
#define GHASHGEN_MESSAGE
{RECORD_TYPE} {{
    const uint8_t *iv, *aad, *in;
    uint8_t *out, *tag;
    uint64_t {", ".join(WORDS[5:])};
}};
#endif"""
"""The same, declared."""

IN_RECORDS = "messages"
"""The region of the array (`ir.program.Mem`). Nothing that a record points to overlaps it."""


def place(record: VReg, word: str, ahead: int = 0) -> Mem:
    """Return where a word is, in the record that is `ahead` records after a pointer."""
    disp = RECORD_BYTES * ahead + WORD_BYTES * WORDS.index(word)
    return Mem(base=record, disp=disp, within=IN_RECORDS)


def read(b: Builder, record: VReg, word: str, ahead: int = 0) -> VReg:
    """Record the load of a word."""
    return b.gpr("gpr_load64", place(record, word, ahead), note=word)


def report(b: Builder, record: VReg, status: Operand, ahead: int = 0) -> None:
    """Record the store of a status: a general register, or a number."""
    if isinstance(status, int):
        status = b.gpr("gpr_const", status)
    b.emit("gpr_store64", place(record, "status", ahead), status, note="status")
