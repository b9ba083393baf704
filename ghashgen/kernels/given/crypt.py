"""The text under a host's key schedule: one code for each size of a key, by its rounds."""

from collections.abc import Callable
from functools import partial

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.core import Function
from ghashgen.kernels.gcm.parts.directions import encrypt_text
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.given.kernel import GivenKernel, Sized
from ghashgen.kernels.given.sizes import sizes
from ghashgen.kernels.given.taken import function, given
from ghashgen.kernels.given.wide import crypt
from ghashgen.kernels.hash.parts.interface import load_state, store_state

Record = Callable[[Text, VReg, str], None]
"""Records a text, with a state, up to a label."""


def _build(b: Builder, kernel: GivenKernel, name: str, record: Record) -> None:
    """Record the function of this kernel."""
    at = given(b, kernel, name)
    b.branch("equal", at["length"], 0, "done")
    if kernel.instruction_set.partial_registers:
        crypt(b, kernel, at, record is encrypt_text)
    else:
        for sized in sizes(b, kernel, at["schedule"]):
            _text(b, sized, at, record)
    b.label("done")


def _text(b: Builder, kernel: Sized, at: dict[str, VReg], record: Record) -> None:
    keys = RoundKeys(b, kernel, at["schedule"], range(kernel.held_keys))
    first = b.load_spread(Mem(base=at["first_counter"]), kernel.lane_count, "counter block")
    text = Text(
        *(b, kernel, at["table"], keys, at["input"], at["output"], at["length"]),
        counters=Counters(b, kernel, first, kept=False, reverses=kernel.hash.reverses),
    )
    # Late, since a caller may have stored it just now.
    X = b.variable(load_state(b, kernel.hash, at["state"]), "X")
    record(text, X, "store")
    store_state(b, kernel.hash, at["state"], X)


def crypting(name: str, order: int, purpose: str, record: Record) -> Function[GivenKernel]:
    """Return the function of a direction."""
    return function(name, order, purpose, partial(_build, name=name, record=record))
