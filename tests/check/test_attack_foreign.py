"""A fixed sample of faults in objects that this project did not emit: rejected, or harmless."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from helpers.verify_objects import ASM, original, twisted_register

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.attack.edits import EDITS, edited
from ghashgen.check.attack.elf import ObjectFile
from ghashgen.check.proofs import statement
from ghashgen.check.statements import load_spec
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import load_object
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.meaning.algebra import Algebra
from ghashgen.verify.prove import prove_object
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec

EACH = {"foreign": 3, "wide": 2}
"""Faults of each kind."""

H, X = bytes(range(1, 17)), bytes(range(200, 216))


def sample(name: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield (kind, change, object)."""
    obj = ObjectFile(original(name))
    for kind in EDITS:
        for seed in range(EACH[name]):
            made = edited(obj, kind, random.Random(seed))
            if made is not None:
                yield kind, made[0], made[1].data


def table_of(spec: KernelSpec) -> bytes:
    algebra = Algebra(Order.REFLECTED)
    values = {"B1": twisted_register(H)}
    for power in range(2, 5):
        values[f"B{power}"] = evaluate(algebra.powers_product(1, power - 1), values)
    cells = [values[f"B{cell[1]}"] for cell in spec.cells if cell]
    return b"".join(value.to_bytes(16, "little") for value in cells)


def behaves(emulator: Emulator, spec: KernelSpec, function: FunctionSpec, obj: bytes) -> bool:
    """Return whether the code does on some inputs what the specification says."""
    table, code = table_of(spec), load_object(obj)
    lengths = range(0, 160, function.length_multiple) if function.operation == "update" else (16,)
    for length in lengths:
        data = bytes(7 * k & 0xFF for k in range(length))
        if function.operation == "init":
            buffers = {"table": (bytes(len(table)), table), "subkey": (H, H)}
        elif function.operation == "mul":
            zero = ghash_padded(H, X, bytes(16))
            buffers = {"table": (table, table), "state": (X, zero)}
        else:
            after = ghash_padded(H, X, data)
            buffers = {"table": (table, table), "state": (X, after), "input": (data, data)}
        args = [length if p == "length" else p for p in function.parameters]
        call = Call(
            args=args,
            buffers=tuple(
                Buffer(name, before, before != after, "end", 0)
                for name, (before, after) in buffers.items()
            ),
        )
        result = emulator.call_many(code, function.symbol, [call])[0]
        if any(result.buffers[name] != after for name, (_, after) in buffers.items()):
            return False
    return True


@pytest.mark.parametrize("name", sorted(EACH))
def test_faults_are_rejected_or_harmless(name: str) -> None:
    verdicts: Counter[str] = Counter()
    survivors = []
    spec = load_spec(ASM / f"{name}.toml")
    for kind, change, data in sample(name):
        proof = prove_object(data, spec)
        verdict = proof.refutation.category if proof.refutation else "proved"
        verdicts[verdict] += 1
        if proof.proved:
            survivors.append((change, data))
        elif kind == "clobbers a saved register":
            assert verdict in (Category.ABI, Category.FUNCTION, Category.UNSUPPORTED), change
        elif kind == "branches on data":
            # A constant that was loaded is no secret: such a branch is followed, and is harmless.
            assert verdict in (Category.CONSTANT_TIME, Category.ABI), change
    assert verdicts[Category.FUNCTION] > 6
    assert verdicts[Category.MEMORY] > 0
    assert verdicts[Category.ABI] > 1
    assert survivors, "an exchange of independent instructions at least"
    with Emulator() as emulator:
        try:
            emulator.features()
        except GhashgenError as error:
            pytest.skip(str(error))
        for change, data in [("none", original(name)), *survivors]:
            for function in spec.functions:
                assert behaves(emulator, spec, function, data), change


def test_a_dropped_mark_of_an_emitted_kernel_is_refused(nasm: Tool) -> None:
    """The object's note promises IBT, so that ENDBR64 is part of what is proved."""
    kernel = Kernel("avx", "k", "clmul1", 1)
    made = assemble_text(nasm, kernel.name, make(kernel, Target(), nasm).text, "elf64")
    spec = statement(kernel, kernel.name, "sysv")
    obj = ObjectFile(made)
    marks = [k for k, line in enumerate(obj.lines) if str(line.instruction) == "endbr64"]
    assert len(marks) == len(spec.functions)
    for at, function in zip(marks, spec.functions, strict=True):
        lines = EDITS["dropped"](obj.lines, at, random.Random())
        assert lines is not None
        dropped = obj.with_code(lines).data
        refutation = prove_object(dropped, replace(spec, functions=(function,))).refutation
        assert refutation is not None
        assert refutation.category is Category.ABI
        assert "does not begin with ENDBR64" in refutation.message
