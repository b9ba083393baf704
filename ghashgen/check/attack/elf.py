"""An ELF64 object as a list of instructions that can be edited and written back.

A kernel's code is in one section, `.text`; references to constants are relocations with addends.
Nothing is checked here beyond what editing needs. Which objects are acceptable is for the prover to
decide.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from iced_x86 import BlockEncoder, Decoder, FlowControl, Instruction

from ghashgen.support.errors import GhashgenError

CODE, CONSTANTS = ".text", ".rodata"

_HEADER_BYTES, _SYMBOL_BYTES, _RELA_BYTES = 64, 24, 24
_OFFSET_AT, _SIZE_AT = 24, 32
_INFO_AT = 4
"""Where a symbol has its binding, which is 0 if it is local."""

BRANCHES = (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.CONDITIONAL_BRANCH, FlowControl.CALL)


@dataclass(frozen=True)
class Relocation:
    """An entry of .rela.text, as in the file."""

    offset: int
    info: int
    addend: int


@dataclass(frozen=True)
class Line:
    """An instruction at its offset in the code, with the relocation of its field, if any."""

    instruction: Instruction
    relocation: Relocation | None = None

    @property
    def at(self) -> int:
        """Its offset in the code, which jumps refer to."""
        return int(self.instruction.ip)


@dataclass(frozen=True)
class ObjectFile:
    """An object's bytes, and where the parts that an attack changes are."""

    data: bytes

    @cached_property
    def headers(self) -> dict[str, int]:
        """The offset of each section's header."""
        (table,) = struct.unpack_from("<Q", self.data, 40)
        count, names = struct.unpack_from("<HH", self.data, 60)
        strings = self._of(table + _HEADER_BYTES * names, _OFFSET_AT)
        found = {}
        for at in range(table, table + _HEADER_BYTES * count, _HEADER_BYTES):
            (name,) = struct.unpack_from("<I", self.data, at)
            end = self.data.index(0, strings + name)
            found[self.data[strings + name : end].decode()] = at
        return found

    def _of(self, header: int, field: int) -> int:
        (value,) = struct.unpack_from("<Q", self.data, header + field)
        return int(value)

    def place(self, section: str) -> range:
        """Return the offsets of a section's bytes in the file; empty if there is no such
        section.
        """
        if section not in self.headers:
            return range(0)
        header = self.headers[section]
        start = self._of(header, _OFFSET_AT)
        return range(start, start + self._of(header, _SIZE_AT))

    @cached_property
    def code(self) -> bytes:
        """The bytes of the code before relocation."""
        place = self.place(CODE)
        return self.data[place.start : place.stop]

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """The relocations of the code, in the file's order."""
        return tuple(
            Relocation(*struct.unpack_from("<QQq", self.data, at))
            for at in self.place(".rela" + CODE)[::_RELA_BYTES]
        )

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The instructions of the code, from first byte to last."""
        decoder = Decoder(64, self.code, ip=0)
        by_field = {r.offset: r for r in self.relocations}
        out = []
        for instruction in decoder:
            fields = decoder.get_constant_offsets(instruction)
            at = int(instruction.ip)
            places = [
                at + field
                for has, field in (
                    (fields.has_displacement, fields.displacement_offset),
                    (fields.has_immediate, fields.immediate_offset),
                )
                if has
            ]
            found = [by_field[place] for place in places if place in by_field]
            out.append(Line(instruction, found[0] if found else None))
        return tuple(out)

    def patched(self, at: int, content: bytes) -> "ObjectFile":
        """Return the object with other bytes at an offset of the file."""
        return ObjectFile(self.data[:at] + content + self.data[at + len(content) :])

    def with_code(self, lines: Sequence[Line], fitted: bool = True) -> "ObjectFile":
        """Return the object with these instructions as its code; jumps and symbols follow them.

        Jumps are as short as they can be if they are `fitted`; else as they are given.

        Raises:
            GhashgenError: an instruction cannot be encoded.
        """
        encoder = BlockEncoder(64, fitted)
        try:
            encoder.add_many([line.instruction for line in lines])
            code = bytearray(encoder.encode(0))
        except ValueError as error:
            raise GhashgenError(f"not encodable: {error}") from None
        moved: dict[int, int] = {len(self.code): len(code)}
        relocations = []
        decoder = Decoder(64, bytes(code), ip=0)
        for line in lines:
            now = decoder.decode()
            moved.setdefault(line.at, int(now.ip))
            if line.relocation is None:
                continue
            # The decoder knows only the fields of the last instruction.
            fields = decoder.get_constant_offsets(now)
            branch = now.flow_control in BRANCHES
            field = fields.immediate_offset if branch else fields.displacement_offset
            at = int(now.ip) + field
            code[at : at + 4] = bytes(4)
            relocations.append(replace(line.relocation, offset=at))
        if decoder.can_decode:
            raise GhashgenError("not encodable: another number of instructions")
        return self._rewritten(bytes(code), relocations, moved)

    def _rewritten(
        self, code: bytes, relocations: Sequence[Relocation], moved: dict[int, int]
    ) -> "ObjectFile":
        out = bytearray(self.data)
        table = b"".join(struct.pack("<QQq", r.offset, r.info, r.addend) for r in relocations)
        for section, content in ((CODE, code), (".rela" + CODE, table)):
            if section not in self.headers:
                continue
            out += bytes(-len(out) % 64)
            struct.pack_into("<QQ", out, self.headers[section] + _OFFSET_AT, len(out), len(content))
            out += content
        starts = sorted(moved)
        for at, value, size in self._symbols():
            # A symbol in dropped code moves to what follows.
            begin, end = (
                moved[next((s for s in starts if s >= place), len(self.code))]
                for place in (value, value + size)
            )
            span = end - begin if size else 0
            # An earlier fault may have given the symbol an end below its value.
            struct.pack_into("<QQ", out, at + 8, begin, span & (1 << 64) - 1)
        return ObjectFile(bytes(out))

    def _symbols(self) -> Iterator[tuple[int, int, int]]:
        """Yield where each symbol of the code is in the file, its value and its size."""
        index = (self.headers[CODE] - min(self.headers.values())) // _HEADER_BYTES
        for at in self.place(".symtab")[::_SYMBOL_BYTES]:
            section, value, size = struct.unpack_from("<HQQ", self.data, at + 6)
            if section == index:
                yield at, value, size

    def with_more(
        self, code: bytes, relocations: Sequence[Relocation], by: Mapping[int, int]
    ) -> "ObjectFile":
        """Return the object with code that goes on; global symbols at places move by so much."""
        symbols = [*self._symbols()]
        places = {place for _, value, size in symbols for place in (value, value + size)}
        made = self._rewritten(code, relocations, {place: place for place in places})
        for at, value, _ in symbols:
            if self.data[at + _INFO_AT] >> 4:
                made = made.patched(at + 8, struct.pack("<Q", value + by.get(value, 0)))
        return made
