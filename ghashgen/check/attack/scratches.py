"""Plants faults in an object's bytes: code, constants, relocations, symbols, headers.

The result may contain invalid instructions, or some that no assembler would write.
"""

import random
import struct
from collections.abc import Callable

from iced_x86 import Decoder, FlowControl, Mnemonic

from ghashgen.check.attack.elf import CODE, CONSTANTS, Line, ObjectFile

Scratch = Callable[[ObjectFile, random.Random], tuple[str, ObjectFile] | None]
"""Returns a description and a changed object, or None if the change does not apply."""

_RELA, _RELA_BYTES, _SYMBOL_BYTES = ".rela" + CODE, 24, 24
_ADDEND_AT, _VALUE_AT = 16, 8
_NOP = 0x90


def _turned(obj: ObjectFile, section: str, rng: random.Random) -> tuple[str, ObjectFile] | None:
    place = obj.place(section)
    if not place:
        return None
    at, bit = rng.choice(place), rng.randrange(8)
    made = obj.patched(at, bytes([obj.data[at] ^ 1 << bit]))
    return f"bit {bit} of byte {at - place.start:#x} of {section}", made


def _other_byte(obj: ObjectFile, section: str, rng: random.Random) -> tuple[str, ObjectFile] | None:
    place = obj.place(section)
    if not place:
        return None
    at, value = rng.choice(place), rng.randrange(256)
    made = obj.patched(at, bytes([value]))
    return f"byte {at - place.start:#x} of {section} is {value:#04x}", made


def _in(section: str, change: Callable[..., tuple[str, ObjectFile] | None]) -> Scratch:
    return lambda obj, rng: change(obj, section, rng)


def _parts(obj: ObjectFile, line: Line) -> dict[str, range]:
    """Return the bytes of an instruction by meaning, as offsets in the code."""
    decoder = Decoder(64, obj.code[line.at :], ip=line.at)
    i = decoder.decode()
    fields = decoder.get_constant_offsets(i)
    parts, end = {}, i.len
    for name, has, start, size in (
        ("immediate", fields.has_immediate, fields.immediate_offset, fields.immediate_size),
        (
            "displacement",
            fields.has_displacement,
            fields.displacement_offset,
            fields.displacement_size,
        ),
    ):
        if has:
            parts[name] = range(line.at + start, line.at + start + size)
            end = min(end, start)
    parts["prefixes, opcode and operands"] = range(line.at, line.at + end)
    return parts


def _bit_of(name: str) -> Scratch:
    def change(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
        start = obj.place(CODE).start
        for line in rng.sample(obj.lines, len(obj.lines)):
            part = _parts(obj, line).get(name)
            if not part or (name == "displacement" and line.relocation is not None):
                continue
            at, bit = start + rng.choice(part), rng.randrange(8)
            made = obj.patched(at, bytes([obj.data[at] ^ 1 << bit]))
            now = Decoder(64, made.code[line.at :], ip=line.at).decode()
            return f"a bit of {name}: {line.at:#x} {line.instruction} -> {now}", made
        return None

    return change


def _filled(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Fill some instructions with NOPs."""
    telling = [k for k, line in enumerate(obj.lines) if line.instruction.mnemonic != Mnemonic.NOP]
    first = rng.choice(telling)
    some = obj.lines[first : first + rng.choice((1, 1, 1, 2, 3, 8))]
    start, end = some[0].at, int(some[-1].instruction.next_ip)
    made = obj.patched(obj.place(CODE).start + start, bytes([_NOP]) * (end - start))
    return f"NOPs at {start:#x} to {end:#x}, from {some[0].instruction}", made


def _copied(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Write an instruction over another one of its size."""
    source = rng.choice(obj.lines)
    size = source.instruction.len
    others = [x for x in obj.lines if x.instruction.len == size and x.at != source.at]
    if not others:
        return None
    target = rng.choice(others)
    content = obj.code[source.at : source.at + size]
    made = obj.patched(obj.place(CODE).start + target.at, content)
    return f"{target.at:#x} {target.instruction} -> {source.instruction}", made


def _exchanged(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Exchange the bytes of two neighbours; relocations stay where they are."""
    at = rng.randrange(len(obj.lines) - 1)
    first, second = obj.lines[at].instruction, obj.lines[at + 1].instruction
    start, end = int(first.ip), int(second.next_ip)
    content = obj.code[second.ip : end] + obj.code[start : second.ip]
    made = obj.patched(obj.place(CODE).start + start, content)
    return f"the bytes of {start:#x} {first} and of {second} exchanged", made


def _jumping(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Move the target of a jump by some bytes, perhaps into an instruction."""
    flows = (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH)
    jumps = [x for x in obj.lines if x.instruction.flow_control in flows and x.relocation is None]
    if not jumps:
        return None
    line = rng.choice(jumps)
    part = _parts(obj, line).get("immediate") or range(line.at + 1, line.instruction.next_ip)
    size = 1 if len(part) < 4 else 4
    at = obj.place(CODE).start + line.instruction.next_ip - size
    now = int.from_bytes(obj.data[at : at + size], "little", signed=True)
    by = rng.choice((-16, -4, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 16))
    value = (now + by) % (1 << 8 * size)
    made = obj.patched(at, value.to_bytes(size, "little"))
    return f"{line.at:#x} {line.instruction} goes {by:+d} bytes further", made


def _addend(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    place = obj.place(_RELA)
    if not place:
        return None
    number = rng.randrange(len(place) // _RELA_BYTES)
    at = place.start + _RELA_BYTES * number + _ADDEND_AT
    (now,) = struct.unpack_from("<q", obj.data, at)
    by = rng.choice((-64, -32, -16, -8, -1, 1, 8, 16, 32, 64, rng.randrange(-4096, 4096)))
    made = obj.patched(at, struct.pack("<q", now + by))
    return f"addend {by:+d} at relocation {number}", made


def _relocation(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Change the place, the symbol or the type of a relocation."""
    place = obj.place(_RELA)
    if not place:
        return None
    number = rng.randrange(len(place) // _RELA_BYTES)
    start = place.start + _RELA_BYTES * number
    what, at, form, value = rng.choice(
        (
            ("place", start, "<Q", rng.choice((obj.relocations[number].offset + 1, 0))),
            ("place", start, "<Q", rng.choice(obj.relocations).offset),
            ("type", start + 8, "<I", rng.randrange(44)),
            ("symbol", start + 12, "<I", rng.randrange(40)),
        )
    )
    return f"{what} {value} at relocation {number}", obj.patched(at, struct.pack(form, value))


def _symbol(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Make a symbol begin at another instruction."""
    place = obj.place(".symtab")
    if not place:
        return None
    number = rng.randrange(len(place) // _SYMBOL_BYTES)
    value = rng.choice(obj.lines).at
    at = place.start + _SYMBOL_BYTES * number + _VALUE_AT
    return f"symbol {number} at {value:#x}", obj.patched(at, struct.pack("<Q", value))


def _elsewhere(obj: ObjectFile, rng: random.Random) -> tuple[str, ObjectFile] | None:
    """Change a byte of the file that is neither code nor a constant."""
    content = {*obj.place(CODE), *obj.place(CONSTANTS)}
    at = rng.choice([k for k in range(len(obj.data)) if k not in content])
    value = rng.choice((obj.data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
    return f"byte {at:#x} of the file is {value:#04x}", obj.patched(at, bytes([value]))


SCRATCHES: dict[str, Scratch] = {
    "bit of code": _in(CODE, _turned),
    "byte of code": _in(CODE, _other_byte),
    "bit of an opcode": _bit_of("prefixes, opcode and operands"),
    "bit of an immediate": _bit_of("immediate"),
    "bit of a displacement": _bit_of("displacement"),
    "filled with NOPs": _filled,
    "written over another": _copied,
    "bytes exchanged": _exchanged,
    "jump into the midst": _jumping,
    "bit of a constant": _in(CONSTANTS, _turned),
    "byte of a constant": _in(CONSTANTS, _other_byte),
    "relocation's addend": _addend,
    "relocation": _relocation,
    "symbol": _symbol,
    "byte elsewhere": _elsewhere,
}
"""Changes of an object's bytes."""
