"""Records abstract operations as a Program: the third interpreter of the `Ops` protocol.

Values are virtual registers or memory operands. A memory operand is read where it is used, and
`select` decides whether the instruction can take it directly. A `Builder` is the only mutable
object between an algebraic formula and bytes, and serves one function.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ghashgen.algebra.ops.protocol import Halves
from ghashgen.ir.program import (
    CODES,
    ENTERED,
    WAY,
    Block,
    Constant,
    Flow,
    Label,
    Mem,
    Op,
    Operand,
    Program,
    RegClass,
    Slot,
    Stream,
    VReg,
)

Value = VReg | Mem

LANE_BITS = 128


def constant_bytes(value: int) -> bytes:
    """Return a 128-bit constant as in memory."""
    return value.to_bytes(16, "little")


class Builder:
    """Builds one function; see `algebra.ops.protocol.Ops` for the vector operations.

    Every vector register has a number of 128-bit lanes and holds zeros above them. An operation is
    as wide as its widest register, so a scheme's formula works on all lanes at once. Constants are
    in memory once for each of `lanes`, the lanes of the function's widest registers.
    """

    def __init__(self, name: str, params: tuple[str, ...], lanes: int = 1) -> None:
        self._name = name
        self._widest = lanes
        self._lanes: dict[VReg, int] = {}
        self._count = 0
        self.params = tuple(self._new(RegClass.GPR, param) for param in params)
        self._blocks: list[Block] = []
        self._label = "entry"
        self._depth = 0
        self._ops: list[Op] = []
        self._constants: dict[str, Constant] = {}
        self._subject = ""
        self._stream: Stream | None = None
        self._part = ""
        self._slots = 0
        self._made: dict[tuple[str, tuple[Operand, ...], int], VReg] | None = None

    # -- registers and recording ------------------------------------------------------------

    def _new(self, cls: RegClass, name: str = "") -> VReg:
        self._count += 1
        return VReg(cls, self._count, name)

    def emit(self, code: str, *operands: Operand, note: str = "") -> None:
        """Append an operation; `note` is its comment."""
        if len(operands) != len(CODES[code].roles):
            raise ValueError(f"{code} takes {len(CODES[code].roles)} operands")
        width = LANE_BITS * max(map(self.lanes_of, operands), default=1)
        own = (Label(self._part + x.name) if isinstance(x, Label) else x for x in operands)
        self._record(code, tuple(own), width, note)

    def _record(self, code: str, operands: tuple[Operand, ...], width: int, note: str) -> None:
        comment = f"{self._subject}: {note}" if self._subject and note else note or self._subject
        self._ops.append(Op(code, operands, width, comment, stream=self._stream))

    def lanes_of(self, operand: Operand) -> int:
        """Return the lanes that a vector register holds; higher ones are zero."""
        return self._lanes.get(operand, 1) if isinstance(operand, VReg) else 1

    def _vec(self, code: str, *operands: Operand, note: str = "", lanes: int = 0) -> VReg:
        """Append an operation whose result has `lanes` lanes, or those of its widest operand."""
        alike = (code, operands, lanes)
        if self._made is not None and alike in self._made:
            return self._made[alike]
        out = self._new(RegClass.VEC)
        self._lanes[out] = lanes or max(map(self.lanes_of, operands), default=1)
        self.emit(code, out, *operands, note=note)
        if self._made is not None:
            self._made[alike] = out
        return out

    @contextmanager
    def once(self) -> Iterator[None]:
        """Record vector operations that are alike once. Inside, no operand changes."""
        self._made = {}
        yield
        self._made = None

    def gpr(self, code: str, *operands: Operand, note: str = "") -> VReg:
        """Append an operation whose result is a new general register."""
        out = self._new(RegClass.GPR)
        self.emit(code, out, *operands, note=note)
        return out

    def mask(self, code: str, *operands: Operand, note: str = "") -> VReg:
        """Append an operation whose result is a new mask register."""
        out = self._new(RegClass.MASK)
        self.emit(code, out, *operands, note=note)
        return out

    def variable(self, value: Value, name: str, note: str = "", lanes: int = 1) -> VReg:
        """Return a new vector register that starts as `value` and may be assigned again.

        It takes values of `lanes` lanes, or as many as `value` has if that is more.
        """
        out = self._new(RegClass.VEC, name)
        self._lanes[out] = max(lanes, self.lanes_of(value))
        self.assign(out, value, note)
        return out

    def register(self, name: str, lanes: int = 1, cls: RegClass = RegClass.VEC) -> VReg:
        """Return a new register, a vector one for `lanes` lanes, to be assigned before use."""
        out = self._new(cls, name)
        self._lanes[out] = lanes
        return out

    def zero(self, name: str = "", note: str = "", lanes: int = 1) -> VReg:
        """Return a new vector register that starts as 0 and may hold values of `lanes` lanes."""
        out = self.register(name, lanes)
        self.emit("zero", out, note=note)
        return out

    def assign(self, target: VReg, value: Value, note: str = "") -> None:
        """Set a register to a value; usually free, see `compiler.allocate`."""
        if self.lanes_of(value) > self.lanes_of(target):
            raise ValueError("a value is wider than the variable it is assigned to")
        if target.cls is RegClass.GPR:
            self.emit("gpr_copy", target, value, note=note)
        else:
            self.emit("load" if isinstance(value, Mem) else "copy", target, value, note=note)

    # -- control ----------------------------------------------------------------------------

    def way(self, number: int) -> VReg:
        """Return a number by which code knows how it was entered; ends the first block.

        Other functions (`kernels.core.Function.enters`) enter behind it with another number.
        """
        way = self.gpr("gpr_const", number, note=WAY)
        self.label(ENTERED)
        return way

    def label(self, name: str) -> None:
        """Start a new block at this label, which must be unique.

        Raises:
            ValueError: another block has it.
        """
        if self._part + name in {self._label, *(block.label for block in self._blocks)}:
            raise ValueError(f"two blocks at the label {self._part}{name}")
        self._blocks.append(Block(self._label, tuple(self._ops), self._depth))
        self._label, self._ops = self._part + name, []

    @contextmanager
    def loop(self, name: str) -> Iterator[None]:
        """Everything recorded inside belongs to a loop that begins at the label `name`."""
        self.label(name)
        self._depth += 1
        yield
        self.label(f"after_{name}")
        self._depth -= 1

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Labels inside belong to the part, so several parts may use the same names."""
        around, self._part = self._part, f"{self._part}{name}_"
        yield
        self._part = around

    @contextmanager
    def stream(
        self, name: str, start: float = 0.0, end: float = 1.0, *, lean: bool = True
    ) -> Iterator[None]:
        """Everything recorded inside belongs to a stream; see `ir.program.Stream`."""
        around, self._stream = self._stream, Stream(name, start, end, lean)
        yield
        self._stream = around

    def branch(self, condition: str, register: VReg, value: VReg | int, target: str) -> None:
        """Go to `target` if register <condition> value; condition is a CODES branch."""
        self.emit(f"branch_{condition}", register, value, Label(target))

    def give(self, value: VReg | int, note: str = "") -> None:
        """Return a number from the function: a general register's, or a constant."""
        if isinstance(value, int):
            value = self.gpr("gpr_const", value, note=note)
        self.emit("return_value", value)

    def program(self) -> Program:
        """Return the function, ended if it has not ended itself."""
        if not (self._ops and CODES[self._ops[-1].code].flow is Flow.RETURN):
            self.emit("return")
        blocks = (*self._blocks, Block(self._label, tuple(self._ops), self._depth))
        return Program(self._name, self.params, blocks, dict(self._constants), self._slots)

    def buffer(self, slots: int) -> None:
        """Reserve a stack buffer of 16-byte slots, from slot 0."""
        self._slots = slots

    # -- Ops --------------------------------------------------------------------------------

    def about(self, subject: str) -> None:
        """Prefix the following comments with `subject`."""
        self._subject = subject

    def const(self, value: int, name: str) -> Value:
        """Return the constant's place in memory; `compiler.hoist` may put it in a register."""
        return self._constant(name, constant_bytes(value) * self._widest)

    def const_lanes(self, values: Sequence[int], name: str) -> Value:
        """Return the place of a constant of the widest registers; lanes without a value are 0."""
        free = self._widest - len(values)
        if free < 0:
            raise ValueError(f"{name} has {len(values)} lanes of {self._widest}")
        return self._constant(name, b"".join(map(constant_bytes, (*values, *[0] * free))))

    def const_bytes(self, data: bytes, name: str) -> Mem:
        """Return the place of constant bytes, which code may read in parts."""
        return self._constant(name, data)

    def _constant(self, name: str, data: bytes) -> Mem:
        constant = Constant(name, data)
        if self._constants.setdefault(name, constant) != constant:
            raise ValueError(f"two values for the constant {name}")
        return Mem(symbol=name, align=min(len(data) & -len(data), 64))

    def clmul(self, a: Value, b: Value, halves: Halves, note: str = "") -> VReg:
        """Record a carry-less product."""
        return self._vec("clmul", a, b, halves[1] << 4 | halves[0], note=note)

    def xor(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record a + b."""
        return self._vec("xor", a, b, note=note)

    def or_(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record a OR b."""
        return self._vec("or", a, b, note=note)

    def swap64(self, a: Value, note: str = "") -> VReg:
        """Record (a1, a0)."""
        return self._vec("swap64", a, note=note)

    def shl_bytes(self, a: Value, count: int, note: str = "") -> VReg:
        """Record a << 8·count."""
        return self._vec("shl_bytes", a, count, note=note)

    def shr_bytes(self, a: Value, count: int, note: str = "") -> VReg:
        """Record a >> 8·count."""
        return self._vec("shr_bytes", a, count, note=note)

    def shl64(self, a: Value, count: int, note: str = "") -> VReg:
        """Record a left shift of each half."""
        return self._vec("shl64", a, count, note=note)

    def shr64(self, a: Value, count: int, note: str = "") -> VReg:
        """Record a right shift of each half."""
        return self._vec("shr64", a, count, note=note)

    def join_low(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record (a0, b0)."""
        return self._vec("join_low", a, b, note=note)

    def join_high(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record (a1, b1)."""
        return self._vec("join_high", a, b, note=note)

    def spread_top(self, a: Value, note: str = "") -> VReg:
        """Record 128 copies of bit 127."""
        return self._vec("spread_top", a, note=note)

    def and_(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record a AND b."""
        return self._vec("and", a, b, note=note)

    def and_const(self, a: Value, value: int, name: str, note: str = "") -> VReg:
        """Record a AND constant."""
        return self._vec("and", a, self.const(value, name), note=note)

    # -- beyond Ops: what blocks and tails need ----------------------------------------------

    def load(self, memory: Mem | Slot, note: str = "", lanes: int = 1) -> VReg:
        """Record a load of 16 bytes per lane."""
        return self._vec("load", memory, note=note, lanes=lanes)

    def load_spread(self, memory: Mem, lanes: int, note: str = "") -> VReg:
        """Record a load of 16 bytes into every one of `lanes` lanes."""
        return self._vec("load_spread" if lanes > 1 else "load", memory, note=note, lanes=lanes)

    def first_lane(self, a: VReg) -> VReg:
        """Return lane 0 alone; nobody may read the others through the result."""
        return self.first_lanes(a, 1)

    def first_lanes(self, a: VReg, lanes: int) -> VReg:
        """Return so many lanes of those that a register has, from lane 0, as `first_lane`."""
        if self.lanes_of(a) <= lanes:
            return a
        out = self._new(RegClass.VEC)
        self._lanes[out] = lanes
        self._record("copy", (out, a), LANE_BITS * lanes, "")
        return out

    def lane(self, a: VReg, lane: int) -> VReg:
        """Record a lane alone."""
        if lane == 0:
            return self.first_lane(a)
        return self._vec("take_lane", a, lane, lanes=1)

    def add_halves(self, a: VReg, note: str = "") -> VReg:
        """Record the sum of the lower and the upper half of a register's lanes."""
        lanes = self.lanes_of(a) // 2
        high, out = self._new(RegClass.VEC), self._new(RegClass.VEC)
        self._lanes[high] = self._lanes[out] = lanes
        self.emit("high_half", high, a, note="upper lanes")
        self._record("xor", (out, a, high), LANE_BITS * lanes, note)
        return out

    def insert_lane(self, a: VReg, lane: int, value: Value, lanes: int, note: str = "") -> VReg:
        """Record `a`, taken as `lanes` lanes, with one lane replaced."""
        return self._vec("insert_lane", a, value, lane, note=note, lanes=lanes)

    def spread_lane(self, a: VReg, lanes: int, note: str = "") -> VReg:
        """Record lane 0 in every one of `lanes` lanes."""
        return self._vec("spread_lane", a, note=note, lanes=lanes)

    def lanes_down(self, a: VReg, lanes: int, note: str = "") -> VReg:
        """Record lane l + `lanes` in lane l, zeros at the top."""
        return self._vec("lanes_down", a, 2 * lanes, note=note)

    def lanes_joined(self, a: VReg, above: VReg, lanes: int) -> VReg:
        """Record lane l + `lanes` in lane l; lanes of `above` follow those of `a`."""
        return self._vec("lanes_joined", a, above, 2 * lanes)

    def lanes_up(self, a: VReg, lanes: int, note: str = "") -> VReg:
        """Record lane l - `lanes` in lane l, zeros at the bottom."""
        return self._vec("lanes_up", a, 2 * (self.lanes_of(a) - lanes), note=note)

    def load_part(self, code: str, memory: Mem, note: str = "") -> VReg:
        """Record a zero-extending load of 8 or 4 bytes (code load64 or load32)."""
        return self._vec(code, memory, note=note)

    def store(self, memory: Mem | Slot, value: Value, note: str = "") -> None:
        """Record a 16-byte store."""
        self.emit("store", memory, value, note=note)

    def from_gpr(self, value: VReg) -> VReg:
        """Record a move from a general register."""
        return self._vec("from_gpr", value)

    def to_gpr(self, value: VReg) -> VReg:
        """Record a move of the low half to a general register."""
        return self.gpr("to_gpr", value)

    def shift_by(self, code: str, a: Value, count: VReg, note: str = "") -> VReg:
        """Record a shift of each half by a register's count (code shl64_by or shr64_by)."""
        return self._vec(code, a, count, note=note)

    def aes_round(self, a: Value, key: Value, note: str = "") -> VReg:
        """Record a round of AES, except the last, in each lane (FIPS 197, section 5.1)."""
        return self._vec("aes_round", a, key, note=note)

    def aes_last(self, a: Value, key: Value, note: str = "") -> VReg:
        """Record the last round of AES, without MixColumns."""
        return self._vec("aes_last", a, key, note=note)

    def add32(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record the sums of 32-bit words, modulo 2^32."""
        return self._vec("add32", a, b, note=note)

    def bytes_above(self, a: Value, b: Value, note: str = "") -> VReg:
        """Record ones in each byte where a is above b, as signed bytes, zeros elsewhere."""
        return self._vec("bytes_above", a, b, note=note)

    def reverse_bits(self, a: Value, matrix: Value, note: str = "") -> VReg:
        """Record a reversal of the bits inside each byte."""
        return self._vec("reverse_bits", a, matrix, note=note)

    def mirror_bits(self, a: Value, note: str = "") -> VReg:
        """Record the same without a matrix."""
        return self._vec("mirror_bits", a, note=note)

    def shuffle_bytes(self, a: Value, mask: Value, note: str = "") -> VReg:
        """Record a byte permutation."""
        return self._vec("shuffle_bytes", a, mask, note=note)
