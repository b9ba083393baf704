"""From bytes to instructions: one reading, on which all decoders and both vendors agree.

The meaning of an instruction's bytes must not depend on the reader. So an instruction is accepted
only if

- iced-x86 reads it the same with Intel's and AMD's decoding;
- its only prefixes are one of 66h, F2h, F3h that its opcode requires, and REX last of all;
- iced-x86 encodes its own reading to the same bytes: all ignored, redundant and reserved bits have
  the value that assemblers give them;
- the meaningless bits of its immediate are zero;
- capstone, an independent decoder (LLVM's tables), writes it as the same line: mnemonic, operands,
  and the bytes accessed.

`NOPS` are the only exceptions. The reading is then tied to the image. An operand relative to the
instruction pointer is a section and an offset, by a relocation of exactly its field or within the
instruction's own section. So is the target of a jump.
"""

import re
from functools import cache
from typing import Any

import iced_x86 as iced
from capstone import CS_ARCH_X86, CS_MODE_64, Cs

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.machine.image import Image, Kind, Section

CODE_BYTES = 15
"""The maximum bytes of an instruction (SDM vol. 2A, 2.3.11)."""

NEUTRAL = 0x40000000
"""The address of an instruction while decoders are compared."""

NOPS = frozenset(
    bytes([0x66] * count) + bytes.fromhex("2e0f1f840000000000") for count in range(1, 7)
)
"""The NOPs of 10 to 15 bytes that GNU as writes to align code: NOP r/m16 with 66h repeated and a CS
prefix. Intel SDM vol. 2A, 2.2.1 and vol. 2B, NOP; AMD APM vol. 3, 1.2.2, 1.2.4 and NOP: 66h twice
is 66h, CS is ignored in 64-bit mode, and the operand of NOP is not accessed.
"""

OPERAND_SIZE, REPNE, REP, FS = 0x66, 0xF2, 0xF3, 0x64

PREFIXES = frozenset({OPERAND_SIZE, REPNE, REP, 0x67, 0xF0, 0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65})
"""The legacy prefixes of 64-bit mode (SDM vol. 2A, 2.1.1)."""

MANDATORY = {
    int(iced.MandatoryPrefix.P66): OPERAND_SIZE,
    int(iced.MandatoryPrefix.PF2): REPNE,
    int(iced.MandatoryPrefix.PF3): REP,
}

VEX_OR_EVEX = (0xC4, 0xC5, 0x62)

ADDRESS_ONLY = (iced.Code.LEA_R16_M, iced.Code.LEA_R32_M, iced.Code.LEA_R64_M)
"""Their memory operand is arithmetic: nothing is at the address, and no address leaves the core."""

LINK_BYTES = 4
"""The bytes of a `Link`'s field."""

MEMORY_KINDS = frozenset(
    getattr(iced.OpKind, name) for name in dir(iced.OpKind) if name.startswith("MEMORY")
)  # fmt: skip

BRANCH_KINDS = (iced.OpKind.NEAR_BRANCH64, iced.OpKind.NEAR_BRANCH32, iced.OpKind.NEAR_BRANCH16)

MEANING: dict[str, int] = {
    "PCLMULQDQ": 0x11, "VPCLMULQDQ": 0x11,
    "VPERM2I128": 0xBB, "VPERM2F128": 0xBB,
    "VINSERTI128": 1, "VINSERTF128": 1, "VEXTRACTI128": 1, "VEXTRACTF128": 1,
    "VINSERTI64X4": 1, "VINSERTF64X4": 1, "VEXTRACTI64X4": 1, "VEXTRACTF64X4": 1,
    "VINSERTI32X8": 1, "VINSERTF32X8": 1, "VEXTRACTI32X8": 1, "VEXTRACTF32X8": 1,
    "PINSRB": 15, "PINSRW": 7, "PINSRD": 3, "PINSRQ": 1,
    "VPINSRB": 15, "VPINSRW": 7, "VPINSRD": 3, "VPINSRQ": 1,
    "PEXTRB": 15, "PEXTRW": 7, "PEXTRD": 3, "PEXTRQ": 1,
    "VPEXTRB": 15, "VPEXTRW": 7, "VPEXTRD": 3, "VPEXTRQ": 1,
}  # fmt: skip
"""The meaningful bits of an immediate, if not all are (SDM vol. 2, by name)."""

BY_WIDTH: dict[str, tuple[int, int, int]] = {
    "VALIGNQ": (1, 3, 7),
    **{f"V{way}{form}": (1, 1, 3)
       for way in ("INSERTI", "INSERTF", "EXTRACTI", "EXTRACTF") for form in ("32X4", "64X2")},
    **{f"VSHUF{letter}{form}": (0, 3, 255) for letter in "IF" for form in ("32X4", "64X2")},
}  # fmt: skip
"""The same by vector width: 128, 256 and 512 bits."""

_MNEMONICS = {getattr(iced.Mnemonic, n): n.upper() for n in dir(iced.Mnemonic) if n[0].isupper()}
_ALIASES = {"xchgax,ax": "nop", "xchgrax,rax": "nop"}
"""NOPs as iced-x86 writes them."""


def mnemonic_of(i: iced.Instruction) -> str:
    """Return the manual's mnemonic in capitals, not an assembler's alias of it."""
    return _MNEMONICS[i.mnemonic]


@cache
def _capstone() -> Any:
    return Cs(CS_ARCH_X86, CS_MODE_64)


@cache
def _writer(signed: bool) -> iced.Formatter:
    """Return what writes instructions as capstone does, immediates with a sign or without."""
    out = iced.Formatter(iced.FormatterSyntax.INTEL)
    out.hex_prefix, out.hex_suffix, out.uppercase_hex = "0x", "", False
    out.memory_size_options, out.rip_relative_addresses = iced.MemorySizeOptions.ALWAYS, True
    out.branch_leading_zeros = out.show_branch_size = out.use_pseudo_ops = False
    out.signed_immediate_operands = signed
    return out


def decode(image: Image, address: int) -> iced.Instruction:
    """Decode the instruction at a code address; record its references in the image.

    Raises:
        Refutation: there is no code, it is no instruction, or it can be read in two ways.
    """
    section = image.section(address)
    if section is None or section.kind is not Kind.CODE:
        raise unsupported("control reaches an address outside the code", address)
    start = address - section.address
    window = section.data[start : start + CODE_BYTES]
    decoder = iced.Decoder(64, window, ip=address)
    instruction = decoder.decode()
    if instruction.is_invalid:
        raise unsupported("bytes that are not an instruction", address)
    code = window[: instruction.len]
    if code not in NOPS and (why := doubt(code)):
        raise unsupported(f"an encoding that is not accepted: {why}", address)
    _tie(image, section, start, instruction, decoder.get_constant_offsets(instruction))
    return instruction


def _tie(
    image: Image, section: Section, start: int, i: iced.Instruction, fields: iced.ConstantOffsets
) -> None:
    """Resolve an instruction's references, and check that relocations touch nothing else."""
    at, end = int(i.ip), start + i.len
    branch = i.op_count > 0 and i.op_kind(0) in BRANCH_KINDS
    field = -1
    if i.is_ip_rel_memory_operand:
        field = start + fields.displacement_offset
    elif branch:
        field = start + fields.immediate_offset
    link = section.links.get(field)
    for offset in range(start - LINK_BYTES + 1, end):
        if offset >= start and offset in section.unresolved:
            raise unsupported(f"an instruction that needs {section.unresolved[offset]}", at)
        if offset in section.links and offset != field:
            raise unsupported("a relocation of something other than a reference to a place", at)
    if link is not None and field + LINK_BYTES > end:
        raise unsupported("a relocation that is wider than what it completes", at)
    if link is not None and link.branch and not branch:
        raise unsupported("a relocation of a call for data", at)
    if i.is_ip_rel_memory_operand:
        if link is not None:
            target = Pointer(image.named(link.section).region, link.offset + end - field)
        else:
            target = Pointer(section.region, int(i.ip_rel_memory_address) - section.address)
        image.operands[at] = target
    elif branch:
        place = image.named(link.section) if link is not None else section
        if not 0 <= int(i.near_branch_target) - place.address < len(place.data):
            raise unsupported("a jump out of its section without a relocation", at)


@cache
def doubt(code: bytes) -> str:
    """Return why the bytes of one instruction can be read in two ways, "" if they cannot."""
    i = iced.Decoder(64, code, ip=NEUTRAL).decode()
    other = iced.Decoder(64, code, options=iced.DecoderOptions.AMD, ip=NEUTRAL).decode()
    if i.is_invalid or i.len != len(code):
        return "not exactly one instruction"
    if i != other or i.len != other.len:
        return "Intel and AMD read it differently"
    return _prefix(i, code) or _again(i, code) or _immediate(i) or _second(i, code)


def _prefix(i: iced.Instruction, code: bytes) -> str:
    count = next(k for k, byte in enumerate(code) if byte not in PREFIXES)
    legacy, rest = code[:count], code[count:]
    if rest[0] & 0xF0 == 0x40:
        rest = rest[1:]
    if rest[0] in PREFIXES or (rest[0] in VEX_OR_EVEX and len(code) != len(rest)):
        return "a prefix that another one overrides"
    info = iced.OpCodeInfo(i.code)
    wanted = {MANDATORY.get(int(info.mandatory_prefix))} - {None}
    if info.operand_size == 16:
        wanted = {OPERAND_SIZE}
    if rest[0] in VEX_OR_EVEX:
        wanted = set()
    if len(legacy) != len(wanted) or set(legacy) != wanted:
        protector = ", as of a stack protector: -fno-stack-protector" if FS in legacy else ""
        return f"a prefix that its opcode does not ask for{protector}"
    rounded = i.suppress_all_exceptions or i.rounding_control != iced.RoundingControl.NONE
    return "a rounding or a broadcast, without a row" if rounded or i.is_broadcast else ""


def _again(i: iced.Instruction, code: bytes) -> str:
    encoder = iced.Encoder(64)
    try:
        encoder.encode(i, NEUTRAL)
    except ValueError:
        return "it cannot be encoded again"
    return "" if encoder.take_buffer() == code else "not its usual encoding"


def _immediate(i: iced.Instruction) -> str:
    last = i.op_count - 1
    if last < 0 or i.op_kind(last) != iced.OpKind.IMMEDIATE8:
        return ""
    name = mnemonic_of(i)
    meaning = MEANING.get(name, 0xFF)
    widths = BY_WIDTH.get(name)
    if widths is not None:
        meaning = widths[{16: 0, 32: 1, 64: 2}[_vector_bytes(i)]]
    return "meaningless bits set in its immediate" if i.immediate8 & ~meaning else ""


def _second(i: iced.Instruction, code: bytes) -> str:
    for _, size, mnemonic, operands in _capstone().disasm_lite(code, NEUTRAL, 1):
        if size == len(code):
            # Blanks, and the scale of an index without a base, are written or not.
            lines = {re.sub(r"\s|\*1(?!\d)", "", _writer(sign).format(i)) for sign in (False, True)}
            line = mnemonic.replace("movabs", "mov") + operands.replace(" ", "")
            same = line in {_ALIASES.get(line, line) for line in lines}
            return "" if same else f"capstone reads {mnemonic} {operands}".rstrip()
    return "capstone does not know it"


def _vector_bytes(i: iced.Instruction) -> int:
    return int(
        max(
            iced.RegisterExt.size(i.op_register(k))
            for k in range(i.op_count)
            if i.op_kind(k) == iced.OpKind.REGISTER
        )
    )


def address_registers(i: iced.Instruction, factory: iced.InstructionInfoFactory) -> tuple[int, ...]:
    """Return the registers that make up the addresses of all its memory operands.

    Explicit or implied; accessed, hinted at or ignored. LEA's operand is arithmetic, no address.
    """
    if i.code in ADDRESS_ONLY:
        return ()
    found = {
        register
        for used in factory.info(i).used_memory()
        for register in (used.base, used.index)
    }  # fmt: skip
    if any(i.op_kind(k) in MEMORY_KINDS for k in range(i.op_count)):
        found |= {i.memory_base, i.memory_index}
    return tuple(sorted(found - {iced.Register.NONE, iced.Register.RIP}))
