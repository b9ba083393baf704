"""Which virtual registers cannot share a physical one, and which copies may vanish.

A register that is written while another is live interferes with it. A copy alone does not make its
source and destination interfere, because both then hold the same value (Chaitin).

Sets of registers are integers with one bit for each register. An edge is recorded at the register
that is written. Two classes interfere if the edges of one meet the members of the other.
"""

from collections.abc import Iterable

from ghashgen.arch.rows import Isa
from ghashgen.compiler.liveness import bits_of, liveness
from ghashgen.ir.program import Program, Reg, RegClass, VReg


class Interference:
    """An interference graph over classes of virtual registers that copies have merged."""

    def __init__(self, program: Program, isa: Isa) -> None:
        self.order: list[VReg] = []
        self.copies: list[tuple[VReg, VReg]] = []
        self._build(program, isa)

    def _build(self, program: Program, isa: Isa) -> None:
        live = liveness(program, isa.rows)
        self._numbers = live.numbers
        self._regs = list(live.numbers)
        count = len(self._regs)
        self._parent = list(range(count))
        # Members of a class, stored at the number of its representative.
        self._members = [1 << number for number in range(count)]
        self._edges = [0] * count
        self._symmetric = False
        self._defined = 0
        self._same = dict.fromkeys(RegClass, 0)
        for number, reg in enumerate(self._regs):
            if isinstance(reg, VReg):
                self._same[reg.cls] |= 1 << number
        self._define(program.params, live.at_start[0].bits)
        for block, after, written in zip(program.blocks, live.after, live.writes, strict=True):
            for op, live_after, writes in zip(block.ops, after, written, strict=True):
                bits = live_after.bits
                if isa.rows[op.code].copy:
                    target, origin = op.operands
                    if isinstance(target, VReg) and isinstance(origin, VReg):
                        self.copies.append((target, origin))
                        bits &= ~(1 << self._numbers[origin])
                self._define(writes, bits)

    def _define(self, writes: Iterable[Reg], others: int) -> None:
        """Record that registers are written while `others` are live."""
        written = [(self._numbers[reg], reg) for reg in writes if isinstance(reg, VReg)]
        for number, _ in written:
            others |= 1 << number
        for number, reg in written:
            bit = 1 << number
            if not self._defined & bit:
                self._defined |= bit
                self.order.append(reg)
            self._edges[number] |= others & self._same[reg.cls] & ~bit

    def _root(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            number = parent[number]
        return number

    def _reg(self, number: int) -> VReg:
        reg = self._regs[number]
        assert isinstance(reg, VReg)
        return reg

    def find(self, reg: VReg) -> VReg:
        """Return the representative of a register's class."""
        return self._reg(self._root(self._numbers[reg]))

    def masks(self, reg: VReg) -> tuple[int, int]:
        """Return (members, edges) of the class of `reg`, for `meet`."""
        root = self._root(self._numbers[reg])
        return self._members[root], self._edges[root]

    def interfere(self, a: VReg, b: VReg) -> bool:
        """Whether the classes of two registers interfere."""
        return meet(self.masks(a), self.masks(b))

    def neighbours(self, reg: VReg) -> set[VReg]:
        """Return the classes that interfere with the class of `reg`."""
        self._mirror()
        edges = self._edges[self._root(self._numbers[reg])]
        found = set()
        while edges:
            root = self._root(next(bits_of(edges)))
            edges &= ~self._members[root]
            found.add(self._reg(root))
        return found

    def _mirror(self) -> None:
        """Record every edge at both of its ends; merging preserves this."""
        if self._symmetric:
            return
        self._symmetric = True
        for number in range(len(self._regs)):
            if self._parent[number] == number:
                for member in bits_of(self._edges[number]):
                    self._edges[self._root(member)] |= self._members[number]

    def merge(self, a: VReg, b: VReg) -> None:
        """Merge two classes; the representative is that of `a`."""
        first, second = self._root(self._numbers[a]), self._root(self._numbers[b])
        self._parent[second] = first
        self._members[first] |= self._members[second]
        self._edges[first] |= self._edges[second]

    def classes(self) -> list[VReg]:
        """Return one representative of each class, in order of first definition."""
        parent, numbers = self._parent, self._numbers
        return [reg for reg in self.order if parent[numbers[reg]] == numbers[reg]]

    def members(self, representative: VReg) -> list[VReg]:
        """Return the registers of a class."""
        members = self.masks(representative)[0]
        return [reg for reg in self.order if members >> self._numbers[reg] & 1]


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two sets of registers, each as (members, edges), interfere."""
    return bool(a[0] & b[1] or a[1] & b[0])
