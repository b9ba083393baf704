"""The text in wide registers that may be partly filled (AVX-512): whole groups, then the rest.

The rest has a path for each number of registers that it can fill. All paths share how the last
register is read and written, and the reduction. A text of one group is such a rest, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import add_text
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.gcm.parts import ends
from ghashgen.kernels.gcm.parts.plan import accumulators, assign, choose, products
from ghashgen.kernels.gcm.parts.text import Text, stream
from ghashgen.kernels.given.groups import Groups
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.kernels.given.schedule import Behind
from ghashgen.kernels.hash.parts.interface import (
    entries,
    finish_group,
    key_sum,
    load_state,
    store_state,
    to_register,
)
from ghashgen.kernels.hash.parts.tail import powers_left, walk


def crypt(b: Builder, kernel: GivenKernel, at: Mapping[str, VReg], encrypts: bool) -> None:
    """Record a text of a byte or more, and its hash, under keys of every size."""
    sized = kernel.sized(256)
    keys = Behind(b, sized, at["schedule"], kernel.host)
    first = b.load_spread(Mem(base=at["first_counter"]), sized.lane_count, "counter block")
    text = Text(
        *(b, sized, at["table"], keys, at["input"], at["output"], at["length"]),
        counters=Counters(b, sized, first, kept=False, reverses=sized.hash.reverses),
    )
    X = b.variable(load_state(b, sized.hash, at["state"]), "X")
    # Encryption hashes a group behind, so one group is faster as a rest.
    b.branch("below", text.length, text.group_bytes + encrypts, "rest")
    Groups(text, keys, X, encrypts).record()
    b.branch("equal", text.length, 0, "hashed")
    b.label("rest")
    _rest(text, keys, X, encrypts)
    b.label("hashed")
    store_state(b, sized.hash, at["state"], X)


@dataclass(frozen=True)
class _Path:
    """What the paths of the rest share."""

    text: Text
    keys: Behind
    X: VReg
    encrypts: bool
    end: ends.End
    key_at: VReg
    """The place of the first block's power."""
    near: list[Value]
    """The powers that the last register meets."""
    acc: Mapping[str, VReg]

    def record(self, count: int) -> None:
        """Record the path of so many registers, up to its sums."""
        text, keys, end = self.text, self.keys, self.end
        b, lanes = text.b, text.kernel.lane_count
        blocks = keys.whitened(text.counters.last_blocks(count))
        states = [b.variable(block, "state") for block in blocks]
        keys.longer(states)
        if not self.encrypts:
            with stream(text, "hash"):
                places = (text.at(text.source, BLOCK_BYTES * lanes * i) for i in range(count - 1))
                self._hash([*(partial(b.load, place, "C", lanes) for place in places), self._given])
        with stream(text, "cipher", lean=False):
            keys.others(states)
            key = keys.back(0)
            outs = text.write(states[:-1], key=key)
            last = end.keep(add_text(b, states[-1], key, end.given, "last round: the other text"))
        if self.encrypts:
            self._hash([*(partial(_same, out) for out in outs), partial(end.cut, last)])

    def _given(self) -> VReg:
        return self.end.given

    def _hash(self, registers: list[Callable[[], VReg]]) -> None:
        """Record the products. The first register's come last, since it waits for the state."""
        text, b, hashing = self.text, self.text.b, self.text.kernel.hash
        sums: Mapping[str, Value] = {}
        for i in (*range(1, len(registers)), 0):
            A = to_register(b, hashing, registers[i](), "C")
            if i == 0:
                A = b.xor(A, self.X, "A = X + C")
            power = hashing.layout.top - i * text.kernel.lane_count
            last = i == len(registers) - 1
            met = self.near if last else entries(hashing, self.key_at, power)
            sums = products(b, hashing, sums, A, met, f"C{i + 1}")
        assign(b, self.acc, sums)


def _same(value: VReg) -> VReg:
    return value


def _rest(text: Text, keys: Behind, X: VReg, encrypts: bool) -> None:
    """Record the rest, up to a group."""
    b, kernel, lanes, hashing = text.b, text.kernel, text.kernel.lane_count, text.kernel.hash
    step = BLOCK_BYTES * lanes
    left = b.gpr("gpr_and", b.gpr("gpr_sub", text.length, 1), step - 1)
    left = b.gpr("gpr_add", left, 1, note="bytes of the last register")
    exact = Exact.of(b, left, range(1, step + 1), lanes)
    before = b.gpr("gpr_minus", text.length, left, note="bytes before the last register")

    def last(base: VReg) -> Mem:
        start = b.gpr("gpr_address", Mem(base=base, index=before), note="the last register")
        return text.at(start)

    end = ends.wide(exact, ("in", "out"), last(text.source), lambda: last(text.out), shared=True)
    key_at = walk(b, hashing, text.context, text.length)
    terms = key_sum(hashing, key_at, hashing.layout.top)
    R = None if terms is None else b.load(terms, "R_m: the key terms of H^m … H^1")
    near = powers_left(b, hashing, text.context, left, range(1, step + 1))
    acc = accumulators(text)
    path = _Path(text, keys, X, encrypts, end, key_at, near, acc)

    def of(count: int) -> None:
        with b.part(f"of_{count}"):
            path.record(count)
        if count < kernel.registers:
            b.emit("jump", Label("written"))

    cases = {step * (i - 1) + 1: partial(of, i) for i in range(1, kernel.registers + 1)}
    choose(b, text.length, cases, lambda n: f"over_{n // step}", lambda count: (count + 1) // 2)
    b.label("written")
    end.finish()
    b.about("reduce")
    b.assign(X, finish_group(b, hashing, acc, R))
    b.about("")
