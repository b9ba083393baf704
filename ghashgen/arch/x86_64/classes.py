"""What an audit counts an x86-64 instruction as, by its mnemonic and whether it has memory.

A row says its class itself (`Row.audit_class`); this is for bytes that no row made. A test holds
the two to each other.
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
"""What does nothing but load where its source is memory; a duplicate is made by the load port."""
_STORES = (*_LOADS, "EXTRACT", "MOVHP", "MOVLP")
"""What takes a store alone, and no port that shuffles, where its destination is memory."""


def class_of(form: str) -> str:
    """Return the class of a form of `arch.x86_64.forms`, the same as of an instruction of it."""
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
