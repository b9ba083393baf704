"""The effect of each instruction on degrees, by lists of names.

An instruction that is on no list is refused, and so is one that is not a polynomial of a known
degree in its operands: a count, a mask or a byte order that depends on data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from iced_x86 import (
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    OpAccess,
    OpKind,
    RegisterExt,
)

from ghashgen.check.sampled.control import IDLE, NO_REGISTER, Block, Refused, name_of
from ghashgen.check.sampled.numbers import RBP

SLOTS = 1 << 20
"""Classes of memory from here on are addresses of slots; smaller ones are degrees."""

UNSET = 1 << 16
"""Degree of what the caller left in registers and stack, which is no polynomial of the inputs."""

SLOT = 8
"""Bytes of memory that share one degree."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LARGEST = _words(
    """
    movdqa movdqu movdqa64 movdqa32 movdqu8 movdqu16 movdqu32 movdqu64 movups movaps movupd movapd
    lddqu movq movd movhlps movlhps movhps movlps movddup
    pxor pxorq pxord xorps xorpd
    punpckhqdq punpcklqdq punpckhdq punpckldq punpckhwd punpcklwd punpckhbw punpcklbw unpcklpd
    unpckhpd pshufd pshufhw pshuflw palignr pslldq psrldq shufps shufpd
    psrad psraq psrlq psllq psrld pslld psrlw psllw
    shufi64x2 shufi32x4 shuff64x2 perm2i128 perm2f128 alignq alignd
    inserti128 inserti64x2 inserti32x4 inserti64x4 insertf128 insertf64x2 insertf32x4
    extracti128 extracti64x2 extracti32x4 extracti64x4 extractf128 extractf64x2 extractf32x4
    broadcasti128 broadcasti64x2 broadcasti32x4 broadcasti64x4 broadcastf128 pbroadcastq
    pinsrq pinsrd pinsrb pextrq pextrd
    """
)
"""Each result bit is a sum of operand bits: a linear function."""

_SUM = _words("pclmulqdq pand pandq pandd pandn por porq pord gf2p8affineqb gf2p8mulb")
"""Each result bit is a polynomial of degree 1 in either operand."""

_ORDERED = frozenset({"pshufb", "permq"})
"""An operand selects which part goes where, so it must not depend on data."""

_SHIFTS = _words("psrad psraq psrlq psllq psrld pslld psrlw psllw")
"""A count in a register must not depend on data."""

_INPUTS = 3
_TERNARY = frozenset({"pternlogq", "pternlogd"})
_GENERAL_DATA = frozenset({"mov", "movzx"})


def _plain(name: str) -> str:
    """Return a name without the v of its VEX or EVEX form."""
    return name[1:] if name.startswith("v") else name


def knows(name: str) -> bool:
    """Return whether a mnemonic of vector registers is on one of the lists."""
    return _plain(name) in _LARGEST | _SUM | _ORDERED | _TERNARY


@cache
def _monomials(table: int) -> tuple[tuple[int, ...], ...]:
    """Return the monomials of a truth table of three inputs, each as operand numbers.

    Bit a·4 + b·2 + c of the table is the value at (a, b, c).
    """
    values = [table >> k & 1 for k in range(8)]
    for bit in (1, 2, 4):
        for k in range(8):
            if k & bit:
                values[k] ^= values[k ^ bit]
    return tuple(
        tuple(n for n, bit in enumerate((4, 2, 1)) if k & bit) for k in range(8) if values[k]
    )


@dataclass
class State:
    """Degrees of the low 128 bits and the rest of each register, of general registers that hold
    data, and of memory in slots of 8 bytes.
    """

    low: list[int]
    high: list[int]
    general: list[int]
    slots: dict[int, int]

    def frozen(self) -> "Frozen":
        """Return it as a hashable key."""
        return (
            tuple(self.low),
            tuple(self.high),
            tuple(self.general),
            tuple(sorted(self.slots.items())),
        )


Frozen = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]


def thaw(frozen: Frozen) -> State:
    """Return a state that may be changed."""
    low, high, general, slots = frozen
    return State(list(low), list(high), list(general), dict(slots))


def slots_of(address: int, size: int) -> range:
    """Return the slots that bytes of memory touch."""
    return range(address // SLOT, (address + size - 1) // SLOT + 1)


_factory = InstructionInfoFactory()


@dataclass(frozen=True)
class _Operand:
    """An operand; `place` is a register's number, or None for memory."""

    place: int | None
    kind: str
    """vector, general, memory"""
    wide: bool
    read: bool
    written: bool


class _Rule:
    """The effect of one instruction on degrees."""

    def __init__(self, instruction: Instruction) -> None:
        self.where = f"{instruction.ip:#x}"
        self.name = name_of(instruction)
        self.legacy = instruction.encoding == EncodingKind.LEGACY
        self.plain = self.name if self.legacy else _plain(self.name)
        info = _factory.info(instruction)
        self.size = 0
        self.operands: list[_Operand] = []
        for k in range(instruction.op_count):
            self._add(instruction, k, info.op_access(k))
        self.memory = any(o.kind == "memory" for o in self.operands)
        self.merges = instruction.op_mask != NO_REGISTER and not instruction.zeroing_masking
        self.immediate = instruction.immediate8 if self.plain in _TERNARY else 0
        self.same = self._same(instruction)

    def _add(self, instruction: Instruction, k: int, access: int) -> None:
        read = access in (
            OpAccess.READ,
            OpAccess.COND_READ,
            OpAccess.READ_WRITE,
            OpAccess.READ_COND_WRITE,
        )
        written = access in (
            OpAccess.WRITE,
            OpAccess.COND_WRITE,
            OpAccess.READ_WRITE,
            OpAccess.READ_COND_WRITE,
        )
        if instruction.op_kind(k) == OpKind.MEMORY:
            self.size = MemorySizeExt.size(instruction.memory_size)
            self.operands.append(_Operand(None, "memory", False, read, written))
        elif instruction.op_kind(k) == OpKind.REGISTER:
            register = instruction.op_register(k)
            vector = RegisterExt.is_vector_register(register)
            if not vector and not RegisterExt.is_gpr(register):
                raise Refused(self.where, f"{self.name}: a register of another kind")
            self.operands.append(
                _Operand(
                    RegisterExt.number(register),
                    "vector" if vector else "general",
                    vector and not RegisterExt.is_xmm(register),
                    read,
                    written,
                )
            )

    def _same(self, i: Instruction) -> bool:
        """Return whether the two sources of a sum are one register."""
        sources = [o for o in self.operands if o.read]
        return (
            _plain(self.name) in ("pxor", "pxorq", "pxord", "xorps", "xorpd")
            and len(sources) == 2
            and sources[0].kind == sources[1].kind == "vector"
            and sources[0].place == sources[1].place
        )

    def apply(self, state: State, met: int | None) -> None:
        """Change the state; `met` is the class of the memory operand."""
        degrees = [self._degree(o, state, met) for o in self.operands if o.read]
        result = self._result(degrees)
        for operand in self.operands:
            if operand.written:
                self._write(operand, state, met, result)

    def _degree(self, o: _Operand, state: State, met: int | None) -> int:
        if o.kind == "memory":
            assert met is not None
            if met < SLOTS:
                return met
            return max(state.slots.get(s, UNSET) for s in slots_of(met, self.size))
        assert o.place is not None
        if o.kind == "general":
            return state.general[o.place]
        low, high = state.low[o.place], state.high[o.place]
        return max(low, high) if o.wide else low

    def _result(self, degrees: Sequence[int]) -> int:
        plain = self.plain
        if self.same:
            return 0
        if plain in _SHIFTS and len(degrees) > 1 and degrees[-1]:
            raise Refused(self.where, f"{self.name}: a count that depends on data")
        if plain in _LARGEST or plain in _GENERAL_DATA:
            return max(degrees, default=0)
        if plain in _SUM:
            # If one operand is given twice, as in A0·A1, both count.
            return sum(degrees)
        if plain in _ORDERED:
            # The byte order is the last operand of pshufb; of permq it is the first, or the
            # immediate.
            order = degrees[-1] if plain == "pshufb" else degrees[0] if len(degrees) > 1 else 0
            if order:
                raise Refused(self.where, f"{self.name}: an order that depends on data")
            return max(degrees)
        if plain in _TERNARY:
            terms = _monomials(self.immediate)
            if len(degrees) != _INPUTS and any(terms):
                raise Refused(self.where, f"{self.name}: an operand that is not read")
            return max((sum(degrees[n] for n in term) for term in terms), default=0)
        raise Refused(self.where, f"{self.name}: an instruction that is not on the list")

    def _write(self, o: _Operand, state: State, met: int | None, degree: int) -> None:
        if o.kind == "memory":
            assert met is not None
            for s in slots_of(met, self.size):
                whole = met <= s * SLOT and (s + 1) * SLOT <= met + self.size
                kept = 0 if whole and not self.merges else state.slots.get(s, UNSET)
                state.slots[s] = max(degree, kept)
            return
        assert o.place is not None
        if o.kind == "general":
            state.general[o.place] = degree
            return
        if self.merges:
            kept = state.high[o.place] if o.wide else 0
            degree = max(degree, state.low[o.place], kept)
        state.low[o.place] = degree
        if o.wide:
            state.high[o.place] = degree
        elif not self.legacy:
            state.high[o.place] = 0


def _clear_upper(state: State, met: int | None) -> None:
    # Registers 16 to 31 keep their upper parts.
    state.high[:16] = [0] * 16


def _keep_general(register: int) -> Callable[[State, int | None], None]:
    def clear(state: State, met: int | None) -> None:
        state.general[register] = 0

    return clear


def _pushed(register: int) -> Callable[[State, int | None], None]:
    def push(state: State, met: int | None) -> None:
        assert met is not None
        state.slots[met // SLOT] = state.general[register] if register >= 0 else 0

    return push


def _popped(register: int) -> Callable[[State, int | None], None]:
    def pop(state: State, met: int | None) -> None:
        assert met is not None
        state.general[register] = state.slots.get(met // SLOT, UNSET)

    return pop


Effect = tuple[Callable[[State, int | None], None], bool]
"""A change of degrees, and whether it takes a class of memory."""


def effects_of(block: Block) -> tuple[Effect, ...]:
    """Return the effects of a block on degrees.

    Raises:
        Refused: an instruction is not on the lists.
    """
    out: list[Effect] = []
    for i in block.instructions:
        name = name_of(i)
        if name == "vzeroupper":
            out.append((_clear_upper, False))
        elif name in IDLE or name.startswith(("j", "ret")):
            continue
        elif name == "call":
            out.append((_pushed(-1), True))
        elif name == "leave":
            out.append((_popped(RBP), True))
        elif name in ("push", "pop"):
            make = _pushed if name == "push" else _popped
            out.append((make(RegisterExt.number(i.op_register(0))), True))
        elif name in _GENERAL_DATA or _any_vector(i):
            rule = _Rule(i)
            out.append((rule.apply, rule.memory))
        elif (
            i.op_count and i.op_kind(0) == OpKind.REGISTER and RegisterExt.is_gpr(i.op_register(0))
        ):
            # `control` computed it, so it is a number. Masks hold nothing else.
            out.append((_keep_general(RegisterExt.number(i.op_register(0))), False))
    return tuple(out)


def _any_vector(i: Instruction) -> bool:
    return any(
        i.op_kind(k) == OpKind.REGISTER and RegisterExt.is_vector_register(i.op_register(k))
        for k in range(i.op_count)
    )
