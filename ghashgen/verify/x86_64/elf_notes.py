"""The control-flow protection that an object promises: its GNU property note.

Linux ABI extensions to the gABI, "GNU_PROPERTY_X86_FEATURE_1_AND"; AMD64 psABI, 4.1 and chapter on
program property. A linker gives a program a feature only if all its objects promise it.
"""

import struct
from collections.abc import Iterator

from elftools.elf.elffile import ELFFile

from ghashgen.support.errors import GhashgenError

PROPERTY_NOTE, FEATURE_1_AND = 5, 0xC0000002

FEATURES = {1: "IBT", 2: "SHSTK"}


def features_of(elf: ELFFile) -> frozenset[str]:
    """Return those of FEATURES that a property note of the object names.

    Raises:
        GhashgenError: a property note is damaged.
    """
    found: set[str] = set()
    for section in elf.iter_sections():
        if section["sh_type"] == "SHT_NOTE" and section.name == ".note.gnu.property":
            try:
                for kind, data in _properties(bytes(section.data())):
                    if kind == FEATURE_1_AND:
                        (bits,) = struct.unpack("<I", data)
                        found |= {name for bit, name in FEATURES.items() if bits & bit}
            except struct.error:
                raise GhashgenError(
                    "a damaged .note.gnu.property", "leave it out, or write it as the psABI says"
                ) from None
    return frozenset(found)


def _properties(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        (name,) = struct.unpack_from("<4s", data, at + 12)
        if name_size != 4 or name != b"GNU\0" or kind != PROPERTY_NOTE or size % 8:
            raise struct.error
        at += 16
        end = at + size
        if end > len(data):
            raise struct.error
        while at < end:
            kind, size = struct.unpack_from("<II", data, at)
            if at + 8 + size > end:
                raise struct.error
            yield kind, data[at + 8 : at + 8 + size]
            at += 8 + -(-size // 8) * 8
