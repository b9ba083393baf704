"""The control-flow protection that an object promises: its GNU property note.

Linux ABI extensions to the gABI, "GNU_PROPERTY_X86_FEATURE_1_AND"; AMD64 psABI, 4.1 and chapter on
program property. A linker gives a program a feature only if all its objects promise it.
"""

import struct

from ghashgen.verify.x86_64.elf_file import NOTE, Part, require

NAME = ".note.gnu.property"

FEATURE_1_AND = 0xC0000002

FEATURES = {1: "IBT", 2: "SHSTK"}


def features_of(parts: tuple[Part, ...]) -> frozenset[str]:
    """Return those of FEATURES that a property note of the object names.

    Some linkers find such a note by its section's name, others in any section of notes. The section
    is one note: its header of 16 bytes, and properties of 16 bytes each, padded.

    Raises:
        GhashgenError: a property note is damaged.
    """
    found: set[str] = set()
    for part in parts:
        if not part.content or (part.type != NOTE and not part.name.startswith(NAME)):
            continue
        header, body = part.content[:16], part.content[16:]
        whole = header == struct.pack("<III4s", 4, len(body), 5, b"GNU\0") and not len(body) % 16
        require(whole, f"a damaged {NAME}")
        for kind, size, bits, _ in struct.iter_unpack("<IIII", body):
            require(size in (4, 8), f"a damaged {NAME}: a property of {size} bytes")
            if kind == FEATURE_1_AND:
                found |= {name for bit, name in FEATURES.items() if bits & bit}
    return frozenset(found)
