"""NAME_init(table, h): the table of the powers of H, computed with the kernel's own multiply.

B_(i+j) = B_i·B_j; see `kernels.hash.parts.keys`.

With L lanes a register holds L powers: V_1 = (B_L, …, B_1), V_2 = (B_2L, …), and so on. Multiplying
every lane by B_kL moves a register k places on. Registers are computed in strides of s = min(all of
them, 4): V_1 … V_s by doubling, then s independent products by B_sL in each round. So the chain of
dependent multiplications has about log2(L) + log2(s) + n/(s·L) links instead of n.
"""

from collections.abc import Sequence

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function, Param
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, LOOP, Kernel
from ghashgen.kernels.hash.parts.interface import in_register, load_block
from ghashgen.kernels.hash.parts.keys import Key, key_of, key_operand, times
from ghashgen.kernels.hash.parts.params import NEW_TABLE, ONE_BLOCK

STRIDE = 4
"""Registers computed in parallel: enough to hide the latency of a multiplication."""


class Table:
    """Writes registers of powers to the table; R is a running sum."""

    def __init__(self, b: Builder, kernel: Kernel) -> None:
        self.b, self.kernel = b, kernel
        self.total: VReg | None = None
        self.loop_total: VReg | None = None

    def store(self, base: VReg, moved: int, power: int, key: Key) -> None:
        """Store the entries whose lane 0 is H^power; `base` is `moved` bytes from the table."""
        b, layout = self.b, self.kernel.layout
        names = self.kernel.multiplier.entries
        for name, value in zip(names, key.entries, strict=True):
            b.store(Mem(base=base, disp=layout.offset(name, power) - moved), value, name)
        if key.term is not None:
            R = self._sum(in_register(key.term))
            b.store(Mem(base=base, disp=layout.offset("R", power) - moved), R, "R")

    def store_loop(self, base: VReg, moved: int, power: int, key: Key) -> None:
        """Store the entries of H^power in every lane, for kernels that add lanes up at the end."""
        b, kernel = self.b, self.kernel
        at = ENTRY_BYTES * (kernel.blocks - power) - moved
        for name, value in zip(kernel.multiplier.entries, key.entries, strict=True):
            b.store(Mem(base=base, disp=kernel.layout.arrays[name + LOOP] + at), value, name)
        if key.term is not None:
            if self.loop_total is None:
                self.loop_total = b.variable(key.term, "R_loop")
            else:
                b.assign(self.loop_total, b.xor(self.loop_total, key.term, "R of the loop"))

    def finish(self, table: VReg) -> None:
        """Store what depends on the whole table."""
        if self.kernel.fold == "end" and self.loop_total is not None:
            at = self.kernel.layout.arrays["R" + LOOP]
            self.b.store(Mem(base=table, disp=at), self.loop_total, "R of the loop")

    def _sum(self, terms: VReg) -> VReg:
        """Return R for every lane: its terms and those of all lower powers."""
        b, lanes = self.b, self.kernel.lane_count
        step = 1
        while step < lanes:
            terms = b.xor(terms, b.lanes_down(terms, step), "terms of lower powers")
            step *= 2
        if self.total is None:
            self.total = b.variable(terms, "R", "R")
        else:
            b.assign(self.total, b.xor(terms, self.total, "R_i"))
        R = b.variable(self.total, "R") if lanes > 1 else self.total
        if lanes > 1:
            b.assign(self.total, b.spread_lane(R, lanes, "R of the highest power"))
        return R


def build(b: Builder, kernel: Kernel) -> None:
    """Record the function of this kernel."""
    table, h = b.params
    pad(b, kernel, table)
    fill(b, kernel, table, load_block(b, kernel, h, name="H"))


def fill(b: Builder, kernel: Kernel, table: VReg, H: VReg) -> None:
    """Record the table of H, given in register form."""
    lanes, layout = kernel.lane_count, kernel.layout
    count = layout.top // lanes
    s = min(count, STRIDE)
    b.about("B_1")
    writer = Table(b, kernel)
    V: dict[int, Value] = {1: _first_register(b, kernel, key_operand(b, kernel, H))}
    keys: dict[int, Key] = {}

    def spread(i: int) -> Key:
        """Return the key B_(i·L), the highest power of V_i, in every lane."""
        if i not in keys:
            keys[i] = key_of(b, kernel, b.spread_lane(in_register(V[i]), lanes, "in every lane"))
        return keys[i]

    for i in range(1, s + 1):
        if i > 1:
            b.about(f"V_{i} = V_{i - i // 2}·B_{i // 2 * lanes}")
            V[i] = times(b, kernel, V[i - i // 2], spread(i // 2))
        own = key_of(b, kernel, V[i])
        if lanes == 1:
            keys[i] = own
        writer.store(table, 0, i * lanes, own)
        if kernel.fold == "end":
            writer.store_loop(table, 0, i * lanes, spread(i))
    rounds, rest = divmod(count - s, s)
    if not (rounds or rest):
        writer.finish(table)
        return
    step = spread(s)
    # Copies: the key must not change while its stream moves on.
    streams = [b.variable(V[i], "stream") for i in range(1, s + 1)]
    if rounds:
        at = b.gpr("gpr_copy", table)
        left = b.gpr("gpr_const", rounds, note="rounds of s registers")
        moved = -s * lanes * ENTRY_BYTES
        with b.loop("round"):
            b.assign(at, b.gpr("gpr_sub", at, -moved))
            _round(b, kernel, writer, (at, moved), s, streams, step)
            b.about("")
            b.assign(left, b.gpr("gpr_sub", left, 1))
            b.branch("not_below", left, 1, "round")
    if rest:
        done = (rounds + 1) * s
        _round(b, kernel, writer, (table, 0), done, streams[:rest], step)
    b.about("")
    writer.finish(table)


def fill_in_a_loop(b: Builder, kernel: Kernel, table: VReg, H: VReg) -> None:
    """Record the table of H, given in register form: one register after another."""
    lanes = kernel.lane_count
    b.about("B_1")
    stream = b.variable(_first_register(b, kernel, key_operand(b, kernel, H)), "stream")
    step = key_of(b, kernel, b.spread_lane(stream, lanes) if lanes > 1 else b.variable(stream, "B"))
    writer = Table(b, kernel)
    if kernel.multiplier.key_term is not None:
        writer.total = b.zero("R", lanes=lanes)
    at = b.gpr("gpr_copy", table)
    left = b.gpr("gpr_const", kernel.layout.top // lanes, note="registers")
    b.about("V_(i+1) = V_i·B_L")
    with b.loop("powers"):
        writer.store(at, 0, lanes, key_of(b, kernel, stream))
        b.assign(stream, times(b, kernel, stream, step))
        b.assign(at, b.gpr("gpr_sub", at, lanes * ENTRY_BYTES))
        b.assign(left, b.gpr("gpr_sub", left, 1))
        b.branch("not_below", left, 1, "powers")
    b.about("")


def _round(
    b: Builder,
    kernel: Kernel,
    writer: Table,
    place: tuple[VReg, int],
    done: int,
    streams: Sequence[VReg],
    key: Key,
) -> None:
    """Multiply every stream by the key; they become registers done + 1, done + 2, …

    In a loop `place` advances with every round, so `done` is that of the first round.
    """
    for j, stream in enumerate(streams):
        b.about(f"V_(i+{j + 1}) = V_(i+{j + 1}-s)·B_sL")
        b.assign(stream, times(b, kernel, stream, key))
    base, moved = place
    for j, stream in enumerate(streams):
        b.about(f"entries of V_(i+{j + 1})")
        power = (done + j + 1) * kernel.lane_count
        writer.store(base, moved, power, key_of(b, kernel, stream))
        if kernel.fold == "end":
            lanes = b.spread_lane(stream, kernel.lane_count, "in every lane")
            writer.store_loop(base, moved, power, key_of(b, kernel, lanes))


def _first_register(b: Builder, kernel: Kernel, B1: Value) -> VReg:
    """Return V_1 = (B_L, …, B_1), highest power in lane 0, by L - 1 scalar multiplications."""
    lanes = kernel.lane_count
    B: dict[int, Value] = {1: B1}
    for i in range(2, lanes + 1):
        b.about(f"B_{i} = B_{i - i // 2}·B_{i // 2}")
        B[i] = times(b, kernel, B[i - i // 2], key_of(b, kernel, B[i // 2]))
    out = in_register(B[lanes])
    for lane in range(1, lanes):
        b.about("")
        out = b.insert_lane(out, lane, B[lanes - lane], lanes, f"lane {lane}: B_{lanes - lane}")
    return out


def pad(b: Builder, kernel: Kernel, table: VReg) -> None:
    """Record zeros after H^1 in each array, which the tail's last register meets."""
    if kernel.padded and kernel.instruction_set.partial_registers:
        zeros = b.zero("zeros", "keys past H^1", lanes=kernel.lane_count)
        for name in kernel.multiplier.entries:
            b.store(Mem(base=table, disp=kernel.layout.offset(name, 0)), zeros, "zeros")


FUNCTION = Function(
    name="init",
    order=10,
    params=(NEW_TABLE, Param("h", "subkey", ONE_BLOCK)),
    purpose=lambda kernel: f"fill the table from {kernel.definition.subkey} h",
    build=build,
    statement="init",
)
