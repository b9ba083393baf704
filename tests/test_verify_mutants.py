"""A fixed sample of mutants: each is rejected, or equivalent on the emulated CPU too."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from verify_objects import ASM, original, twisted_register

from ghashgen.algebra.field.bitorder import Order
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.algebra.ops.monomials import evaluate
from ghashgen.check.proofs import statement
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target
from ghashgen.output.artefact import make
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import raw_image
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool, assemble_text
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.hash.entries import Algebra
from ghashgen.verify.hash.spec import FunctionSpec, KernelSpec, load_spec
from ghashgen.verify.mutants import CHANGES, Mutant, mutants
from ghashgen.verify.prove import prove_image
from ghashgen.verify.x86_64.elf import Image, load_image

STEP = {"foreign": 47, "wide": 19}
H, X = bytes(range(1, 17)), bytes(range(200, 216))


def sample(name: str) -> Iterator[tuple[KernelSpec, FunctionSpec, Mutant]]:
    spec, image = load_spec(ASM / f"{name}.toml"), load_image(original(name))
    for function in spec.functions:
        one = replace(spec, functions=(function,))
        for index, mutant in enumerate(mutants(image, function.symbol)):
            if index % STEP[name] == 0:
                yield one, function, mutant


def flat(image: Image, symbol: str) -> bytes:
    """Return the sections as one block of bytes that begins with a jump to a function."""
    start = image.sections[0].address - 64
    out = bytearray(image.sections[-1].address + len(image.sections[-1].data) - start)
    for section in image.sections:
        at = section.address - start
        out[at : at + len(section.data)] = section.data
    out[:5] = b"\xe9" + (image.symbol(symbol) - start - 5).to_bytes(4, "little")
    return bytes(out)


def table_of(spec: KernelSpec) -> bytes:
    algebra = Algebra(Order.REFLECTED)
    values = {"B1": twisted_register(H)}
    for power in range(2, 5):
        values[f"B{power}"] = evaluate(algebra.powers_product(1, power - 1), values)
    cells = [values[f"B{cell[1]}"] for cell in spec.cells if cell]
    return b"".join(value.to_bytes(16, "little") for value in cells)


def behaves(emulator: Emulator, spec: KernelSpec, function: FunctionSpec, image: Image) -> bool:
    """Return whether the code does on some inputs what the specification says."""
    table, code = table_of(spec), raw_image(flat(image, function.symbol))
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
        result = emulator.call_many(code, "code", [call])[0]
        if any(result.buffers[name] != after for name, (_, after) in buffers.items()):
            return False
    return True


@pytest.mark.parametrize("name", sorted(STEP))
def test_mutants_are_rejected_or_equivalent(name: str) -> None:
    verdicts: Counter[str] = Counter()
    survivors = []
    for spec, function, mutant in sample(name):
        proof = prove_image(mutant.image, spec)
        verdict = proof.refutation.category if proof.refutation else "proved"
        verdicts[verdict] += 1
        if proof.proved:
            survivors.append((spec, function, mutant))
        if mutant.kind == "clobbers rbx":
            assert verdict in (Category.ABI, Category.UNSUPPORTED), mutant.change
        if mutant.kind == "branches on data":
            assert verdict is Category.CONSTANT_TIME, mutant.change
    assert verdicts[Category.FUNCTION] > 6
    assert verdicts[Category.MEMORY] > 0
    assert verdicts[Category.ABI] > 1
    assert survivors, "an exchange of independent instructions at least"
    with Emulator() as emulator:
        try:
            emulator.features()
        except GhashgenError as error:
            pytest.skip(str(error))
        right = load_image(original(name))
        one = survivors[0]
        assert behaves(emulator, one[0], one[1], right)
        for spec, function, mutant in survivors:
            assert behaves(emulator, spec, function, mutant.image), mutant.change


def test_every_kind_of_change_occurs() -> None:
    kinds = {m.kind for name in STEP for f in load_spec(ASM / f"{name}.toml").functions
             for m in mutants(load_image(original(name)), f.symbol)}  # fmt: skip
    assert kinds >= {*CHANGES, "dropped", "duplicated", "exchanged with the next", "clobbers rbx"}


def test_a_dropped_mark_of_an_emitted_kernel_is_refused(nasm: Tool) -> None:
    """The object's note promises IBT, so that ENDBR64 is part of what is proved."""
    kernel = Kernel("avx", "k", "clmul1", 1)
    image = load_image(assemble_text(nasm, kernel.name, make(kernel, Target(), nasm).text, "elf64"))
    spec = statement(kernel, kernel.name, "sysv")
    for function in spec.functions:
        dropped = next(
            m for m in mutants(image, function.symbol)
            if m.kind == "dropped" and m.change.endswith("endbr64")
        )  # fmt: skip
        refutation = prove_image(dropped.image, replace(spec, functions=(function,))).refutation
        assert refutation is not None
        assert refutation.category is Category.ABI
        assert "does not begin with ENDBR64" in refutation.message
