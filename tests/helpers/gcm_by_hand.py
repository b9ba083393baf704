"""Key set-up of AES-GCM by hand: its text, its statement, and the table that it has to write."""

from dataclasses import replace
from functools import cache

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.field.ghash import multiply_blocks
from ghashgen.verify.statements.gcm import OPERATIONS, GcmFunction, GcmSpec, parse_cell
from helpers.verify_objects import ASM, twisted_register

WAYS = [("aesni", 128), ("aesni", 192), ("aesni", 256), ("vaes", 128), ("vaes", 256)]


def spec(bits: int, **changes: object) -> GcmSpec:
    rounds = {128: 10, 192: 12, 256: 14}[bits]
    texts = [f"B{i}" for i in range(1, 5)] + [f"key{i}" for i in range(rounds + 1)]
    stated = GcmSpec(
        name="by hand",
        abi="sysv",
        key_bits=bits,
        order=Order.REFLECTED,
        blocks=4,
        cells=tuple(map(parse_cell, texts)),
        table_bytes=16 * len(texts),
        functions=(GcmFunction("init", "gcm_init", OPERATIONS["init"]),),
    )
    return replace(stated, **changes)  # type: ignore[arg-type]


@cache
def source(way: str, bits: int) -> str:
    """The text of a kernel, behind the constants and macros of foreign.asm."""
    head, _, _ = (ASM / "foreign.asm").read_text().partition("global foreign_init")
    names = ["gcm_aesni"] + (["gcm_vaes"] if way == "vaes" else [])
    text = head + "\n".join((ASM / f"{name}.asm").read_text() for name in names)
    text += "\nsection .note.GNU-stack noalloc noexec nowrite progbits\n"
    return f"%define KEY {bits}\n" + (f"%define VAES\n{text}" if way == "vaes" else text)


def table(key: bytes) -> bytes:
    """Return what init writes for a key, by the specifications."""
    h = aes.cipher(key, bytes(16))
    powers = [h]
    for _ in range(3):
        powers.append(multiply_blocks(powers[-1], h))
    cells = [twisted_register(power).to_bytes(16, "little") for power in powers]
    return b"".join((*cells, *aes.key_expansion(key)))
