"""AES-GCM kernels assembled for the harness, and what they must do, by other code than theirs."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.compiler.frame import Function
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.cost.left import Left, left_by
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.render import draft
from ghashgen.run.arguments import Arguments, Memory, Values, arguments
from ghashgen.run.harness import Called, Harness
from ghashgen.run.table import HarnessKernel
from ghashgen.support.files import write_whole
from ghashgen.support.toolchain import Tool, assemble_text, find_assembler

DIRECTIONS = ("encrypt", "decrypt")
_functions = cache(functions_of)
"""The functions of a kernel, which has thousands of calls."""


@dataclass(frozen=True)
class Made:
    """A kernel as an ELF object."""

    kernel: GcmKernel
    abi: str
    elf: bytes

    @cached_property
    def code(self) -> ObjectCode:
        return read_object(self.elf)

    @property
    def features(self) -> tuple[str, ...]:
        """The CPU features that its instructions need."""
        decoder = self.code.decoder
        return decoder.features(i for name in self.exported for i in self._body(name))

    @property
    def exported(self) -> tuple[str, ...]:
        return tuple(functions_of(self.kernel))

    def _body(self, name: str) -> Sequence[object]:
        return self.code.function(f"{self.kernel.name}_{name}")

    def left(self, name: str) -> Left:
        """What a function leaves behind."""
        decoder, body = self.code.decoder, self._body(name)
        arch = self.kernel.instruction_set.arch
        return left_by(arch, body, [decoder.effect(i) for i in body])

    def harness_kernel(self, folder: Path) -> HarnessKernel:
        """Write the object and return what the harness must know."""
        obj = folder / f"{self.kernel.name}-{self.abi}.o"
        write_whole(obj, self.elf)
        return HarnessKernel.of_kernel(self.kernel, obj, self.features, abi=self.abi)


@cache
def made(kernel: GcmKernel, abi: str = "sysv", syntax: str = "", tool: Tool | None = None) -> Made:
    """Compile, place and assemble a kernel, once; not for tests that plant a fault in what does."""
    where: Target = target(abi, "elf64", syntax=syntax)
    found = tool or find_assembler(where.syntax.assembler)

    def assembled(functions: Mapping[str, Function]) -> bytes:
        return assemble_text(found, kernel.name, draft(kernel, where, functions), "elf64")

    def measure(functions: Mapping[str, Function]) -> dict[str, tuple[int, ...]]:
        code = read_object(assembled(functions))
        bodies = {name: code.function(f"{kernel.name}_{name}") for name in functions}
        return {name: tuple(map(code.decoder.length, body)) for name, body in bodies.items()}

    compiled = compile_kernel(kernel, where.abi, measure=measure)
    return Made(kernel, abi, assembled({name: item.function for name, item in compiled.items()}))


@dataclass(frozen=True)
class Key:
    """An AES key, as another library has it."""

    key: bytes

    def block(self, block: bytes) -> bytes:
        """Whole blocks, each encrypted by itself."""
        return Cipher(algorithms.AES(self.key), modes.ECB()).encryptor().update(block)

    @property
    def subkey(self) -> bytes:
        """H."""
        return self.block(bytes(16))


@dataclass(frozen=True)
class Call:
    """One call of encrypt or decrypt, and what must come of it."""

    name: str
    counter: bytes
    x: bytes
    text: bytes
    out: bytes
    counter_after: bytes
    x_after: bytes


def stepped(counter: bytes, blocks: int) -> bytes:
    """A counter block so many blocks on (SP 800-38D, section 6.2: inc32)."""
    last = (int.from_bytes(counter[12:], "big") + blocks) % 2**32
    return counter[:12] + last.to_bytes(4, "big")


def call(key: Key, name: str, counter: bytes, x: bytes, text: bytes) -> Call:
    """A call, by the definition."""
    count = -(-len(text) // 16)
    stream = key.block(b"".join(stepped(counter, i) for i in range(count)))
    out = bytes(a ^ b for a, b in zip(text, stream, strict=False))
    hashed = ghash_padded(key.subkey, x, out if name == "encrypt" else text)
    return Call(name, counter, x, text, out, stepped(counter, count), hashed)


def calls(key: Key, lengths: Iterable[int], rng: random.Random) -> list[Call]:
    """Calls of all lengths and both directions; some counters wrap on the way."""
    out = []
    for length in lengths:
        near = [2**32 - 1 - rng.randrange(1 + length // 16), 0xFE, 0xFFFF, rng.randrange(2**32)]
        for name in DIRECTIONS:
            counter = rng.randbytes(12) + rng.choice(near).to_bytes(4, "big")
            out.append(call(key, name, counter, rng.randbytes(16), rng.randbytes(length)))
    return out


def prepared(kernel: GcmKernel, function: str, values: Values, in_place: bool = False) -> Arguments:
    """The arguments of a call; in place, one buffer is both texts."""
    align = kernel.instruction_set.operand_align
    found = arguments(_functions(kernel)[function], values, kernel.layout.size, align)
    if not in_place:
        return found
    both = next(x for x in found if isinstance(x, Memory) and x.name == "in")
    text = replace(both, name="out", writable=True)
    return [text if isinstance(x, Memory) and x.name in ("in", "out") else x for x in found]


def context(harness: Harness, kernel: GcmKernel, key: Key) -> bytes:
    """What init makes of a key."""
    (done,) = harness.call(kernel.name, "init", [prepared(kernel, "init", {"key": key.key})])
    assert not done.violations
    return done.buffers["ctx"]


def run(
    harness: Harness, kernel: GcmKernel, ctx: bytes, wanted: Sequence[Call], in_place: bool
) -> list[tuple[Call, Called]]:
    """Make calls, all of one function after another."""
    out = []
    for name in DIRECTIONS:
        own = [each for each in wanted if each.name == name]
        given = [
            prepared(
                kernel,
                name,
                {"ctx": ctx, "counter": each.counter, "x": each.x, "in": each.text},
                in_place,
            )
            for each in own
        ]
        out += list(zip(own, harness.call(kernel.name, name, given), strict=True))
    return out
