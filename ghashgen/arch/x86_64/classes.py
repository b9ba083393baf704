"""The audit class of an x86-64 instruction, from its mnemonic and its memory operands.

This is for arbitrary bytes; rows state their class (`Row.audit_class`). A test compares the two.
"""

from functools import cache

from ghashgen.arch.uarch import is_memory

_PREFIXES = (
    ("clmul", ("PCLMULQDQ",)),
    ("xor", ("PXOR", "POR", "PAND", "PTERNLOG", "XORP", "ORP", "ANDP", "ANDNP")),
    (
        "shuffle",
        (
            "PSHUF",
            "PSLL",
            "PSRL",
            "PSRA",
            "PUNPCK",
            "PALIGN",
            "ALIGN",
            "PERM",
            "SHUF",
            "INSERT",
            "EXTRACT",
            "PINSR",
            "PEXTR",
            "UNPCK",
            "PBLEND",
            "BLEND",
            "PROL",
            "PROR",
            "PSHLD",
            "PSHRD",
            "MOVDDUP",
            "MOVSHDUP",
            "MOVSLDUP",
            "MOVHL",
            "MOVLH",
            "MOVHP",
            "MOVLP",
            "BROADCAST",
            "PBROADCAST",
        ),
    ),
)
_LOADS = (
    *("LDDQU", "MOVDQ", "MOVQ", "MOVD", "MOVUP", "MOVAP", "MOVNT", "MOVSS", "MOVSD", "MOVSHDUP"),
    *("MOVSLDUP", "MASKMOV", "PMASKMOV", "KMOV", "MOVZX", "MOVSX", "MOVBE", "BROADCAST"),
    *("PBROADCASTD", "PBROADCASTQ"),
)
"""These only load if their source is memory; the load port makes duplicates."""
_STORES = (*_LOADS, "EXTRACT", "MOVHP", "MOVLP")
"""These only store if their destination is memory; no shuffle port is needed."""


def class_of(form: str) -> str:
    """Return the class of a form of `arch.x86_64.forms`."""
    name, _, operands = form.partition(" ")
    kinds = operands.split(",")
    return class_of_parts(name, any(map(is_memory, kinds)), is_memory(kinds[0]))


@cache
def class_of_parts(name: str, has_memory: bool, writes_memory: bool) -> str:
    """Return the class, by mnemonic and whether an operand, or the first one, is in memory."""
    name = name.upper()
    bare = name[1:] if name.startswith("V") else name
    if has_memory and (bare == "MOV" or bare.startswith(_STORES if writes_memory else _LOADS)):
        return "store" if writes_memory else "load"
    for cls, prefixes in _PREFIXES:
        if bare.startswith(prefixes):
            return cls
    return "other"
