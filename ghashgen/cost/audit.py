"""Counts what a kernel costs in its assembled bytes.

The classes extend those of papers/intel-2023, Table 11: clmul, xor (every bitwise operation),
shuffle (half, byte and bit moves), load and store (instructions that do nothing else), other. A
memory operand of a computing instruction is counted separately, as `memory_operands`. The CPU
features and the remaining secrets are found in the same bytes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghashgen.arch.decoder import CLASSES, FLAGS, Decoder, Effect, Native
from ghashgen.arch.objects import ObjectCode
from ghashgen.cost.left import Left, left_by
from ghashgen.ir.program import Flow, RegClass
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import family_of, functions_of, loop_of
from ghashgen.support.errors import GhashgenError


@dataclass(frozen=True)
class Region:
    """Counts over a run of instructions."""

    classes: Mapping[str, int]
    instructions: int
    memory_operands: int
    """Memory operands of computing instructions."""
    mnemonics: Mapping[str, int]


@dataclass(frozen=True)
class Audit:
    """The audit of one kernel."""

    name: str
    isa: str
    blocks: int
    group: Region
    """The loop over whole groups, from its head to the branch back; empty in families without
    one.
    """
    single: Region
    """One block's multiplication, between load and store, as in Table 11; may be empty too."""
    functions: Mapping[str, Region]
    """Whole functions, by name."""
    code_bytes: Mapping[str, int]
    table_bytes: int
    stack_bytes: Mapping[str, int]
    registers: Mapping[str, tuple[str, ...]]
    """Registers that each function writes, by their whole names, except the stack pointer."""
    features: tuple[str, ...]
    """CPU features that the instructions need, by their CPUID names."""
    left: Mapping[str, Left]
    """Where secrets may remain when each function returns."""

    @property
    def per_block(self) -> dict[str, float]:
        """Instructions of the group loop by class, per block."""
        return {cls: number / self.blocks for cls, number in self.group.classes.items()}


def region(decoder: Decoder, instructions: Sequence[Native]) -> Region:
    """Count a run of instructions."""
    names = Counter(map(decoder.mnemonic, instructions))
    classes = [decoder.audit_class(instruction) for instruction in instructions]
    totals = Counter(classes)
    folded = sum(
        1
        for instruction, cls in zip(instructions, classes, strict=True)
        if cls not in ("load", "store") and decoder.has_memory(instruction)
    )
    return Region(
        classes={cls: totals[cls] for cls in CLASSES},
        instructions=len(instructions),
        memory_operands=folded,
        mnemonics=dict(sorted(names.items())),
    )


def loop(code: ObjectCode, symbol: str) -> list[Native]:
    """Return the loop over whole groups of a function: the one with the most carry-less products.

    A loop extends from the target of backward conditional branches to the last of these. Of several
    with as many products, the shortest counts.

    Raises:
        GhashgenError: the object has no such function, or the function has no loop.
    """
    body, decoder = code.function(symbol), code.decoder
    starts = {decoder.offset(instruction): i for i, instruction in enumerate(body)}
    ends: dict[int, int] = {}
    for i, instruction in enumerate(body):
        if decoder.flow(instruction) is Flow.BRANCH:
            head = starts.get(decoder.target(instruction), len(body))
            if head <= i:
                ends[head] = i
    found = [body[head : end + 1] for head, end in ends.items()]
    if not found:
        raise GhashgenError(f"{symbol} has no loop", "name the function that holds the loop")
    return max(found, key=lambda each: (_products(decoder, each), -len(each)))


def _products(decoder: Decoder, instructions: Iterable[Native]) -> int:
    return sum(decoder.audit_class(instruction) == "clmul" for instruction in instructions)


def _single(decoder: Decoder, body: Sequence[Native]) -> Sequence[Native]:
    """Return the multiplication of `mul`: everything between loading x with its byte order and
    storing it.
    """
    moves = [
        i
        for i, instruction in enumerate(body)
        if decoder.audit_class(instruction) in ("load", "store")
        and any(
            access.stack is None and not access.constant
            for access in decoder.effect(instruction).memory
        )
    ]
    start, end = moves[0] + 1, moves[-1]
    while decoder.reorders(body[start]):
        start += 1
    while decoder.reorders(body[end - 1]):
        end -= 1
    return body[start:end]


def _stack(decoder: Decoder, instructions: Iterable[Native]) -> int:
    """Return the stack bytes that a function uses: saved registers and frame."""
    return sum(max(0, decoder.lowers_stack(instruction)) for instruction in instructions)


def _written(effects: Iterable[Effect]) -> tuple[str, ...]:
    names = {name for effect in effects for name in effect.writes} - {FLAGS}
    return tuple(sorted(names, key=lambda name: (name[:3], len(name), name)))


def _followed(code: ObjectCode, body: list[Native]) -> list[Native]:
    """Return a function with the code behind a jump into another function, if it ends so."""
    if code.decoder.flow(body[-1]) is not Flow.JUMP:
        return body
    target = code.decoder.target(body[-1])
    for symbol, (low, high) in code.functions.items():
        if low <= target < high and (other := code.function(symbol)) != body:
            return [*body, *other]
    return body


def audit(kernel: Point, symbol: str, code: ObjectCode) -> Audit:
    """Audit an assembled kernel whose symbols begin with `symbol`."""
    arch = kernel.instruction_set.arch
    decoder, family = arch.decoder, family_of(kernel)
    functions, result = functions_of(kernel), arch.registers[RegClass.GPR].names[arch.result]
    symbols = {name: function.symbol_in(symbol) for name, function in functions.items()}
    bodies = {name: code.function(own) for name, own in symbols.items()}
    single = bodies.get(family.single)
    run = {name: _followed(code, body) for name, body in bodies.items()}
    effects = {name: [decoder.effect(i) for i in body] for name, body in run.items()}
    return Audit(
        name=kernel.name,
        isa=kernel.instruction_set.name,
        blocks=kernel.blocks,
        group=region(decoder, loop(code, symbols[name]) if (name := loop_of(kernel)) else ()),
        single=region(decoder, _single(decoder, single) if single else ()),
        functions={name: region(decoder, body) for name, body in bodies.items()},
        code_bytes={name: sum(map(decoder.length, body)) for name, body in bodies.items()},
        table_bytes=kernel.layout.size,
        stack_bytes={name: _stack(decoder, body) for name, body in bodies.items()},
        registers={name: _written(effects[name]) for name in bodies},
        features=decoder.features(i for body in bodies.values() for i in body),
        left={
            name: left_by(arch, body, effects[name], result if functions[name].returns else "")
            for name, body in run.items()
        },
    )
