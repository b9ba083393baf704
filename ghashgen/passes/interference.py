"""Which virtual registers may not share a physical one, and which copies may vanish.

A register written while another is live interferes with it; the source of a copy does not interfere
with its destination by that copy alone, because both then hold the same value (Chaitin).
"""

from collections import defaultdict
from collections.abc import Iterable

from ghashgen.ir import Program, Reg, VReg
from ghashgen.isa.core import Isa
from ghashgen.passes.liveness import liveness, row_effects


class Interference:
    """An interference graph over classes of virtual registers that copies have merged."""

    def __init__(self, program: Program, isa: Isa) -> None:
        self._parent: dict[VReg, VReg] = {}
        self._edges: dict[VReg, set[VReg]] = defaultdict(set)
        self.order: list[VReg] = []
        self.copies: list[tuple[VReg, VReg]] = []
        self._build(program, isa)

    def _build(self, program: Program, isa: Isa) -> None:
        effects = row_effects(isa.rows)
        live = liveness(program, effects)
        self._define(program.params, frozenset(), None)
        self._define(program.params, live.at_start[0], None)
        for block, after in zip(program.blocks, live.after, strict=True):
            for op, live_after in zip(block.ops, after, strict=True):
                _, writes = effects(op)
                source = None
                if isa.rows[op.code].copy:
                    target, origin = op.operands
                    if isinstance(target, VReg) and isinstance(origin, VReg):
                        source = origin
                        self.copies.append((target, origin))
                self._define(writes, live_after, source)

    def _define(
        self, writes: Iterable[Reg], live_after: frozenset[Reg], source: VReg | None
    ) -> None:
        written = [reg for reg in writes if isinstance(reg, VReg)]
        for reg in written:
            if reg not in self._parent:
                self._parent[reg] = reg
                self.order.append(reg)
            for other in (*live_after, *written):
                if isinstance(other, VReg) and other not in (reg, source):
                    self._connect(reg, other)

    def _connect(self, a: VReg, b: VReg) -> None:
        if a.cls is b.cls:
            self._edges[a].add(b)
            self._edges[b].add(a)

    def find(self, reg: VReg) -> VReg:
        """Return the representative of a register's class."""
        # A representative is its own parent, as an object: comparing identities is what is cheap.
        while (parent := self._parent[reg]) is not reg:
            reg = parent
        return reg

    def neighbours(self, reg: VReg) -> set[VReg]:
        """Return the classes that interfere with the class of `reg`."""
        return {self.find(other) for other in self._edges[self.find(reg)]}

    def merge(self, a: VReg, b: VReg) -> None:
        """Make one class of two; the one first defined represents it."""
        a, b = self.find(a), self.find(b)
        self._parent[b] = a
        self._edges[a] |= self._edges[b]

    def classes(self) -> list[VReg]:
        """Return one representative a class, in order of first definition."""
        return [reg for reg in self.order if self.find(reg) == reg]

    def members(self, representative: VReg) -> list[VReg]:
        """Return the registers of a class."""
        return [reg for reg in self.order if self.find(reg) == representative]
