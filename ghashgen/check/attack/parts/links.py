"""Compares what the prover reads in mangled objects with what linkers make of them.

An image says where the bytes of each function are, and to which place of which section each
reference goes. Both must hold in every program that a linker makes of the object.
"""

import random
import shutil
import struct
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack.core import Finding, Options, Outcome, Part, numbered
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.machine.image import Image, Kind
from ghashgen.verify.x86_64.elf import load_image

NAME = "links"

LINKERS = ("ld", "ld.gold", "ld.lld")

TEXT = """
default rel
section .rodata align=64
first: dq 1, 2, 3, 4
section .rodata.more progbits alloc noexec nowrite align=4096
_end: dq 9, 10, inner
section .data
etext: dq 3, inner
section .bss
__bss_start: resb 16
section .text align=64
global inner:function hidden (exported - inner), exported:function (exported.end - exported)
inner: movdqu xmm0, [first]
    movdqu xmm1, [first + 16]
    cmp dword [_end], 5
    call beside
    lea rax, [_end + 8]
    jmp further
beside: ret
exported: movdqa xmm0, [first]
    call inner
    ret
.end:
section .text.more progbits alloc exec nowrite align=32
further: movdqu xmm2, [first + 8]
    ret
section .note.GNU-stack noalloc noexec nowrite progbits
"""

SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QIIq")

SYMTAB, RELA = 2, 4

SMALL = (0, 1, 2, 3, 4, 6, 7, 8, 11, 16, 17, 18, 24, 32, 64)

VALUES: Mapping[struct.Struct, Mapping[int, tuple[int, ...]]] = {
    SECTION: {
        0: (), 1: (*SMALL, 0x6FFF4C03, 0x70000001),
        2: (*SMALL, 0x20, 0x22, 0x32, 0x82, 0x202, 0x206, 0x403, 0x802, 0x80000002, 0x200002),
        3: (1, 4096), 4: (), 5: (), 6: SMALL, 7: SMALL, 8: (*SMALL, 128, 4096, 65536), 9: SMALL,
    },
    SYMBOL: {
        0: (), 1: (*SMALL, 0x10, 0x12, 0x13, 0x1A, 0x20, 0x22, 0xA2), 2: (0, 1, 2, 3, 8),
        3: (*SMALL, 0xFFF1, 0xFFF2, 0xFFFF), 4: SMALL, 5: SMALL,
    },
    RELOCATION: {0: SMALL, 1: (*range(45), 1, 2, 4, 1, 2, 4), 2: SMALL, 3: (-64, -5, -1, 4, 1000)},
}  # fmt: skip
"""New values of a field, by table and number of it. Values near the old one are tried too."""


def rows(data: bytes, form: struct.Struct) -> list[int]:
    """Return the offsets of the entries of a table: headers, symbols or all relocations."""
    (start,) = struct.unpack_from("<Q", data, 40)
    (number,) = struct.unpack_from("<H", data, 60)
    headers = [start + SECTION.size * k for k in range(number)]
    if form is SECTION:
        return headers
    kind = SYMTAB if form is SYMBOL else RELA
    found = [h for at in headers if (h := SECTION.unpack_from(data, at))[1] == kind]
    ends = [range(h[4], min(h[4] + h[5], len(data)) - form.size + 1, form.size) for h in found]
    return [at for places in ends for at in places]


def mangled(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return an object with new values in one to three fields, and the names of these fields."""
    out, said = bytearray(data), []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        form = rng.choice(list(VALUES))
        places = rows(bytes(out), form)
        if not places:
            continue
        at, fields = rng.choice(places), VALUES[form]
        number = rng.choice(list(fields))
        entry = list(form.unpack_from(out, at))
        near = entry[number] + rng.choice((-24, -16, -8, -4, -1, 1, 2, 4, 8, 16))
        other = form.unpack_from(out, rng.choice(places))[number]
        entry[number] = rng.choice((near, other, *fields[number]))
        try:
            out[at : at + form.size] = form.pack(*entry)
        except struct.error:
            continue
        said.append(f"field {number} of the entry at {at:#x} is {entry[number]:#x}")
    return "; ".join(said), bytes(out)


class Program:
    """A linked program: what is loaded, and its functions by their names."""

    def __init__(self, data: bytes) -> None:
        start, number = struct.unpack_from("<Q", data, 32) + struct.unpack_from("<H", data, 56)
        segments = (struct.unpack_from("<IIQQQQQQ", data, start + 56 * k) for k in range(number))
        self.loaded = [
            (at, flags, data[offset : offset + size].ljust(whole, b"\0"))
            for kind, flags, offset, at, _, size, whole, _ in segments
            if kind == 1
        ]
        headers = [SECTION.unpack_from(data, at) for at in rows(data, SECTION)]
        self.symbols = {}
        for at in rows(data, SYMBOL):
            name, _, _, _, value, _ = SYMBOL.unpack_from(data, at)
            strings = headers[next(h[6] for h in headers if h[1] == SYMTAB)][4]
            text = data[strings + name : data.index(0, strings + name)].decode()
            self.symbols[text] = value

    def read(self, at: int, size: int) -> tuple[int, bytes]:
        """Return the flags and the bytes of what is loaded at an address."""
        for start, flags, content in self.loaded:
            if start <= at and at + size <= start + len(content):
                return flags, content[at - start : at - start + size]
        return 0, b""


def differs(image: Image, program: Program) -> str:
    """Return how a program differs from what an image says, "" if it does not."""
    bases: dict[str, int] = {}
    for name in sorted(image.exported):
        section = image.section(image.symbols[name])
        if section is None:
            continue
        base = program.symbols[name] - image.symbols[name] + section.address
        if bases.setdefault(section.name, base) != base:
            return f"{name} is elsewhere in {section.name}"
    work, done = list(bases), set[str]()
    while work:
        if (name := work.pop()) in done:
            continue
        done.add(name)
        section, base = image.named(name), bases[name]
        if section.kind not in (Kind.CODE, Kind.CONSTANTS):
            continue
        flags, content = program.read(base, len(section.data))
        if len(content) < len(section.data) or flags & 2 or base % max(section.align, 1):
            return f"{name} at {base:#x}: missing, writable or not aligned to {section.align}"
        known = set(range(len(content))) - section.unresolved.keys()
        for at, link in section.links.items():
            known -= set(range(at, at + 4))
            away = int.from_bytes(content[at : at + 4], "little", signed=True)
            place = base + at + away - link.offset
            if bases.setdefault(link.section, place) != place:
                return f"{name}+{at:#x} leads to {link.section} at {place:#x}"
            work.append(link.section)
        if wrong := [k for k in known if content[k] != section.data[k]]:
            return f"byte {wrong[0]} of {name} is another"
    return ""


@cache
def _plain() -> bytes:
    return assemble_text(find_nasm(), NAME, TEXT, "elf64")


def work(options: Options, number: int) -> Outcome:
    """Mangle an object, and compare what is read in it with programs."""
    said, data = mangled(_plain(), random.Random(f"{NAME} {options.seed} {number}"))
    files = {"object.o": data}

    def finding(wrong: str) -> Outcome:
        found = Finding(said, wrong, options.repeating(NAME, number), files)
        return Outcome(findings=(found,))

    try:
        image = load_image(data)
    except GhashgenError:
        return Outcome(refused={"object": 1})
    except Exception as error:  # any exception here was caused by a stranger's object
        return finding(f"the prover stopped: {type(error).__name__}: {error}")
    compared = 0
    for linker in filter(shutil.which, LINKERS):
        if program := _linked(linker, data):
            compared += 1
            if wrong := differs(image, Program(program)):
                return finding(f"accepted, and other in a program of {linker}: {wrong}")
    return Outcome(right=1, calls=compared) if compared else Outcome(not_run={"not linked": 1})


def _linked(linker: str, data: bytes) -> bytes:
    """Return the program that a linker makes of one object, empty if it makes none."""
    more = ("-e", "0x400000", "--unresolved-symbols=ignore-all")
    with TemporaryDirectory() as folder:
        path, out = Path(folder, "object.o"), Path(folder, "program")
        path.write_bytes(data)
        command = [linker, *more, "-o", str(out), str(path)]
        try:
            subprocess.run(command, capture_output=True, timeout=60, check=True)
        except subprocess.SubprocessError:
            return b""
        return out.read_bytes()


PART = Part(
    NAME,
    "objects with mangled tables; what is read in them is compared with linked programs",
    numbered,
    work,
    together=16,
)
