"""select: turns abstract operations into instruction rows of the ISA, still on virtual registers.

The rows' tables decide which memory operands an instruction takes directly (others are loaded
first), and which source of a commutative two-operand instruction is overwritten (one that dies, so
that the copy vanishes).
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TypeGuard

from ghashgen.arch.rows import Isa, OperandSpec, Step
from ghashgen.compiler.liveness import liveness
from ghashgen.ir.program import CODES, Block, Mem, Op, Operand, Program, Reg, RegClass, VReg
from ghashgen.support.errors import GhashgenError


def select(program: Program, isa: Isa) -> Program:
    """Return the program in the ISA's rows; every operation carries its `origin`.

    Raises:
        GhashgenError: the ISA lacks an operation that the program needs.
    """
    missing = sorted({op.code for op in program.ops} - isa.supported)
    if missing:
        raise GhashgenError(
            f"isa {isa.name!r} cannot do {', '.join(missing)}", "choose another isa or scheme"
        )
    selector = _Selector(program, isa)
    live = liveness(program, CODES)
    blocks = []
    for block, after in zip(program.blocks, live.after, strict=True):
        selector.out = []
        for op, live_after in zip(block.ops, after, strict=True):
            selector.lower(op, live_after)
        blocks.append(Block(block.label, tuple(selector.out), block.depth))
    return replace(program, blocks=tuple(blocks))


def _is_memory(operand: Operand) -> TypeGuard[Mem]:
    return isinstance(operand, Mem)


class _Selector:
    """Lowers one operation after another, with temporaries where a load is needed."""

    def __init__(self, program: Program, isa: Isa) -> None:
        self.isa = isa
        self.out: list[Op] = []
        self._count = 0
        registers = [x for op in program.ops for x in op.operands if isinstance(x, VReg)]
        self._next = max((reg.index for reg in registers), default=0)

    def _append(
        self, row: str, operands: tuple[Operand, ...], width: int, comment: str = ""
    ) -> None:
        """Append an instruction; its `origin` is its position in the program.

        Address parts that no instruction can express are computed before it.
        """
        before: list[Op] = []
        given: list[Operand] = []
        for operand, spec in zip(operands, self.isa.rows[row].operands, strict=True):
            if _is_memory(operand):
                ops, operand = self.isa.arch.address(operand, spec.memory, self._general)
                before += ops
            given.append(operand)
        for op in (*before, Op(row, tuple(given), width, comment)):
            self.out.append(replace(op, origin=self._count))
            self._count += 1

    def _general(self) -> VReg:
        self._next += 1
        return VReg(RegClass.GPR, self._next)

    def lower(self, op: Op, live_after: Set[Reg]) -> None:
        """Append the instructions for one abstract operation."""
        bound, steps = self._bind(op, live_after)
        for position, step in enumerate(steps):
            row = self.isa.rows[step.row]
            operands = tuple(
                self._operand(bound, token, spec)
                for token, spec in zip(step.tokens, row.operands, strict=True)
            )
            # The algebra is the comment of the instruction that computes, not of a copy.
            comment = op.comment if position == len(steps) - 1 else ""
            if row.copy and operands[0] == operands[1]:
                continue
            if row.copy and _is_memory(operands[1]):
                self._load(operands[0], operands[1], op.width)
                continue
            self._append(step.row, operands, op.width, comment)

    def _bind(self, op: Op, live_after: Set[Reg]) -> tuple[dict[str, Operand], tuple[Step, ...]]:
        """Return the operation's lowering, and what its tokens stand for."""
        bound: dict[str, Operand] = {}
        sources = iter("abc")
        for role, operand in zip(CODES[op.code].roles, op.operands, strict=True):
            token = {"w": "d", "m": "m", "i": "i", "l": "l"}.get(role) or next(sources)
            bound[token] = operand
        steps = self._steps(op, bound)
        if CODES[op.code].swap and self._better_swapped(bound, steps, live_after):
            bound["a"], bound["b"] = bound["b"], bound["a"]
            if CODES[op.code].swap == "halves" and isinstance(i := bound["i"], int):
                bound["i"] = (i & 1) << 4 | i >> 4
                steps = self._steps(op, bound)
        for token in ("a", "b", "c"):
            operand = bound.get(token, 0)
            if _is_memory(operand) and not self._takes(steps, token, operand):
                self._next += 1
                temporary = VReg(RegClass.VEC, self._next)
                self._load(temporary, operand, op.width)
                bound[token] = temporary
        for token in ("b", "c"):
            if len(steps) > 1 and token in bound and bound[token] == bound.get("d") != bound["a"]:
                # The lowering starts by overwriting d, which a later source still needs.
                self._next += 1
                temporary = VReg(RegClass.VEC, self._next)
                (copy,) = self.isa.steps("copy", op.width)
                self._append(copy.row, (temporary, bound[token]), op.width)
                bound[token] = temporary
        return bound, steps

    def _steps(self, op: Op, bound: Mapping[str, Operand]) -> tuple[Step, ...]:
        immediate = bound.get("i")
        return self.isa.steps(op.code, op.width, immediate if isinstance(immediate, int) else None)

    def _better_swapped(
        self, bound: dict[str, Operand], steps: tuple[Step, ...], live_after: Set[Reg]
    ) -> bool:
        a, b = bound["a"], bound["b"]
        destructive = len(steps) > 1
        if _is_memory(a) != _is_memory(b):
            memory, other = (a, b) if _is_memory(a) else (b, a)
            # An operand that must be loaded first is best loaded into the result's register.
            first = destructive and other != bound["d"] and not self._takes(steps, "b", memory)
            return _is_memory(a) != first
        return destructive and a in live_after and b not in live_after

    def _takes(self, steps: tuple[Step, ...], token: str, operand: Operand) -> bool:
        """Return whether every use of this token in the lowering can read memory."""
        for step in steps:
            row = self.isa.rows[step.row]
            for spec, name in zip(row.operands, step.tokens, strict=True):
                if name == token and not row.copy and not spec.accepts(operand):
                    return False
        return True

    def _load(self, target: Operand, memory: Mem, width: int) -> None:
        code = "load_aligned" if memory.align >= width // 8 else "load"
        (step,) = self.isa.steps(code, width)
        self._append(step.row, (target, memory), width, memory.symbol or "")

    def _operand(self, bound: dict[str, Operand], token: str, spec: OperandSpec) -> Operand:
        if token == "t" and token not in bound:
            self._next += 1
            bound[token] = VReg(spec.file, self._next)
        return bound[token] if token in bound else int(token, 0)
