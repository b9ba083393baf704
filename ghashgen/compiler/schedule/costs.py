"""The cost, by the tables of `arch/x86_64/uarch/`, of operations that are not yet assembled: form,
uops, latency.

A form is a mnemonic and operand kinds (`arch.x86_64.forms`). Here it follows from the row and its
operands; a test compares it with the decoder's for every emitted instruction.
"""

from collections.abc import Hashable, Mapping, Sequence

from ghashgen.arch.rows import OperandSpec, Row
from ghashgen.arch.uarch import Cost, Latency, Uarch, spell
from ghashgen.compiler.schedule.regions import FLAGS
from ghashgen.cost.simulate import Work
from ghashgen.ir.program import Argument, Mem, Op, Operand, Slot

_VECTORS = {128: "x", 256: "y", 512: "z"}
_BYTE = range(-128, 256)


def form(op: Op, row: Row) -> str:
    """Return the form that the operation will have."""
    kinds: list[str] = []
    for spec, operand in zip(row.operands, op.operands, strict=True):
        if spec.role == "n":
            continue
        kinds.append(_kind(op, row, spec, operand))
    if any(spec.role == "n" for spec in row.operands):
        kinds.append("0")
    return spell(row.mnemonic, kinds)


def _kind(op: Op, row: Row, spec: OperandSpec, operand: Operand) -> str:
    if isinstance(operand, Mem) and "addr" in spec.kinds:
        three = operand.base and operand.index and operand.disp
        return "agen3" if three else "agen"
    if isinstance(operand, Mem | Slot | Argument):
        memory = next(kind for kind in spec.kinds if kind[0] == "m")
        return f"m{op.width}" if memory == "mv" else memory.rstrip("a")
    if isinstance(operand, int):
        general = not any(set(s.kinds) & {"v", "h", "x"} for s in row.operands)
        small = operand in (_BYTE if not general else range(-128, 128))
        return "i8" if small and row.mnemonic != "mov" else "i32"
    for kind in spec.kinds:
        if kind in ("v", "h", "x"):
            return _VECTORS[{"v": op.width, "h": op.width // 2, "x": 128}[kind]]
        if kind in ("q", "d", "l"):
            return {"q": "r64", "d": "r32", "l": "l"}[kind]
    raise ValueError(f"{op.code}: no kind for {operand}")


def single(op: Op, rows: Mapping[str, Row], uarch: Uarch) -> Work:
    """Return the demands of one operation on a core.

    A slot counts as a register that loads wait for. Copies are assumed to vanish, as most do.
    """
    row = rows[op.code]
    reads, writes = (list[Hashable](regs) for regs in row.effects(op))
    address: list[Hashable] = []
    data: list[Hashable] = [FLAGS] if "r" in row.flags else []
    for operand, spec in zip(op.operands, row.operands, strict=True):
        if isinstance(operand, Mem):
            (data if "addr" in spec.kinds else address).extend(operand.registers)
        elif isinstance(operand, Slot):
            (writes if "w" in spec.role else address).append(operand)
        elif operand in reads and "r" in spec.role:
            data.append(operand)
    if "w" in row.flags:
        writes.append(FLAGS)
    name = form(op, row)
    cost = Cost(name, (), 0, Latency(0, True), None, (), "") if row.copy else uarch.costs.get(name)
    return Work(name, tuple(data), tuple(writes), tuple(address), cost)


def work(ops: Sequence[Op], rows: Mapping[str, Row], uarch: Uarch) -> list[Work]:
    """Return the demands of operations in sequence; a fused pair counts as one."""
    out: list[Work] = []
    for op in ops:
        item = single(op, rows, uarch)
        fused = uarch.fuses(out[-1].form, item.form) if out else None
        if fused is not None:
            first = out.pop()
            name = f"{first.form} + {item.form}"
            item = Work(name, first.reads, first.writes, first.address, fused)
        out.append(item)
    return out
