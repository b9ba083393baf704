"""NAME_update(table, x, in, len): X = GHASH continued over len bytes, zero-padded at the end.

A single block, such as the length block that ends every GCM message, has its own short path without
a loop or computed addresses. Where one register takes all that is left, a partial block takes this
path too. Everything else is in `kernels.hash.parts.absorb`.
"""

from collections.abc import Callable
from functools import partial

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.bytes.exact import load_few
from ghashgen.kernels.core import Function
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.hash.parts.absorb import Message, absorb, state_of
from ghashgen.kernels.hash.parts.interface import load_state, store_state, times_h, to_register
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, STATE, TABLE

State = Callable[[], VReg]
"""Records the load of the state, unless that is done."""


def build(b: Builder, kernel: Kernel, late: bool = False) -> None:
    """Record the function of this kernel.

    `late`: the state is loaded where it is needed, since a caller may have stored it just now.
    """
    table, x, source, length = b.params
    state: State = partial(load_state, b, kernel, x)
    if not late:
        early = state()
        state = lambda: early  # noqa: E731
    if kernel.blocks > 1:
        _SINGLE[kernel.instruction_set.partial_registers](b, kernel, state)
    X = state_of(b, kernel, state())
    X = absorb(Message(b, kernel, table, source, length), X, "store")
    store_state(b, kernel, x, X)
    b.label("done")


def _finish_single(b: Builder, kernel: Kernel, state: State, block: VReg) -> None:
    table, x, _, _ = b.params
    A = b.xor(to_register(b, kernel, block, "C"), state(), "A = X + C")
    store_state(b, kernel, x, times_h(b, kernel, table, A))
    b.emit("return")
    b.label("more")


def _single_block(b: Builder, kernel: Kernel, state: State) -> None:
    """Exactly 16 bytes."""
    _, _, source, length = b.params
    b.branch("not_equal", length, BLOCK_BYTES, "more")
    _finish_single(b, kernel, state, b.load(Mem(base=source), "C, bytes as in memory"))


def _single_or_partial(b: Builder, kernel: Kernel, state: State) -> None:
    """1 to 16 bytes."""
    _, _, source, length = b.params
    b.branch("not_below", length, BLOCK_BYTES + 1, "more")
    b.branch("equal", length, 0, "done")
    raw = load_few(b, "few", Mem(base=source), length, range(1, BLOCK_BYTES + 1))
    _finish_single(b, kernel, state, raw)


_SINGLE: dict[bool, Callable[[Builder, Kernel, State], None]] = {
    False: _single_block,
    True: _single_or_partial,
}
"""How a single block is taken, by whether the ISA fills registers partly."""


FUNCTION = Function(
    name="update",
    order=30,
    params=(TABLE, STATE, INPUT, INPUT_LENGTH),
    purpose=lambda kernel: (
        f"continue {kernel.definition.name} x over len bytes, pad the last block with zeros"
    ),
    build=build,
    statement="update",
)
