"""Planted faults in the straight ways that end a message: each is refused, whichever way it is in.

They are planted in what is recorded, by the names that parts and values have, so that they stay
what they are however registers are allocated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.bytes.exact import Exact
from ghashgen.kernels.gcm.functions import open as opening
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.gcm.parts import message, plan, straight
from ghashgen.kernels.gcm.parts.plan import Path, States, Sums
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.hash.kernel import ENTRY_BYTES
from ghashgen.kernels.hash.kernel import Kernel as HashKernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.prove import prove_object

KERNEL = GcmKernel(128, "avx512", "winograd", "clmul1", 8)

Plant = Callable[[pytest.MonkeyPatch], None]


def _a_power_more(patch: pytest.MonkeyPatch) -> None:
    right = straight._power

    def wrong(text: Text, R: VReg | None, alone: bool, exact: Exact | None) -> VReg:
        return text.b.gpr("gpr_sub", right(text, R, alone, exact), ENTRY_BYTES)

    patch.setattr(straight, "_power", wrong)


def _without(subject: str) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = plan.products

        def wrong(
            b: Builder, hashing: HashKernel, sums: Sums, A: VReg, keys: Sequence[Value], of: str
        ) -> Sums:
            return sums if of == subject and sums else right(b, hashing, sums, A, keys, of)

        patch.setattr(plan, "products", wrong)
        patch.setattr(straight, "products", wrong)

    return plant


def _another_state(patch: pytest.MonkeyPatch) -> None:
    right = straight._rest

    def wrong(*given: Any, **others: Any) -> VReg:
        *shared, name, state, lengths = given[:7]
        state = lengths if name == "rest" else state
        return right(*shared, name, state, lengths, *given[7:], **others)

    patch.setattr(straight, "_rest", wrong)


def _no_key_terms_of_lanes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "if_lane_free", lambda self, value, note: None)


def _free_lanes_off(lanes: int) -> Plant:
    """A lane counts as free with so many lanes more taken than are, or fewer."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right, and_ = Exact.if_lane_free, Builder.and_

        def off(b: Builder, a: Value, window: Value, note: str = "") -> VReg:
            assert isinstance(window, Mem)
            return and_(b, a, replace(window, disp=window.disp - BLOCK_BYTES * lanes), note)

        def wrong(self: Exact, value: Mem, note: str) -> VReg | None:
            with pytest.MonkeyPatch.context() as inside:
                inside.setattr(Builder, "and_", off)
                return right(self, value, note)

        patch.setattr(Exact, "if_lane_free", wrong)

    return plant


def _lengths_exchanged(patch: pytest.MonkeyPatch) -> None:
    right = message.length_block
    patch.setattr(
        message, "length_block", lambda b, kernel, first, second: right(b, kernel, second, first)
    )


def _mask_of_the_first_block(patch: pytest.MonkeyPatch) -> None:
    def wrong(text: Text, J0: VReg | None) -> Callable[[int, bool], States]:
        def cipher(count: int, free: bool) -> States:
            blocks = text.counters.last_blocks(count)
            first = blocks[0] if J0 is not None and blocks else J0
            return straight.encipher(text, first, blocks), None

        return cipher

    patch.setattr(straight, "_beside", wrong)


def _mask_of_the_first_group(patch: pytest.MonkeyPatch) -> None:
    right = straight.encipher

    def beside(text: Text, J0: VReg | None) -> Callable[[int, bool], States]:
        return lambda count, free: (right(text, J0, text.counters.last_blocks(count)), None)

    patch.setattr(straight, "_beside", beside)
    patch.setattr(straight, "encipher", lambda text, J0, blocks: right(text, blocks[0], blocks))


def _S_beside_the_group(patch: pytest.MonkeyPatch) -> None:
    right = straight.first_group

    def wrong(text: Text, acc: Mapping[str, VReg], S: VReg) -> VReg:
        return right(text, acc, text.b.zero("S"))

    patch.setattr(straight, "first_group", wrong)


def _hash_of_the_other_text(patch: pytest.MonkeyPatch) -> None:
    right = Path.given

    def wrong(self: Path) -> Iterator[VReg]:
        return right(replace(self, text=replace(self.text, source=self.text.out)))

    patch.setattr(Path, "given", wrong)


def _last_whole(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Exact, name: str, place: Mem, value: VReg) -> None:
        self.b.store(place, value, name)

    patch.setattr(Exact, "store", wrong)


def _a_byte_off(name: str) -> Plant:
    """What moves bytes of a block, in loads or in stores, is read a byte too far."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = getattr(Exact, name)

        def wrong(self: Exact, *given: Any) -> Any:
            with pytest.MonkeyPatch.context() as inside:
                inside.setattr(Builder, "shuffle_bytes", _off_by_one)
                return right(self, *given)

        patch.setattr(Exact, name, wrong)

    return plant


def _off_by_one(b: Builder, a: VReg, order: Value, note: str = "") -> VReg:
    assert isinstance(order, Mem)
    return b._vec("shuffle_bytes", a, replace(order, disp=order.disp + 1), note=note)


def _bytes_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Exact, "first", lambda self, value, note="": value)


def _one_byte_more(patch: pytest.MonkeyPatch) -> None:
    right = Builder.branch

    def wrong(self: Builder, condition: str, register: VReg, value: VReg | int, to: str) -> None:
        if ("_over_" in to or "_more" in to) and isinstance(value, int):
            value += 1
        right(self, condition, register, value, to)

    patch.setattr(Builder, "branch", wrong)


def _wrong_in(alone: bool, count: int) -> Plant:
    """The block of lengths is another in the way of so many registers, and in no other."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right, add = Path.record, straight.products

        def other(
            b: Builder, hashing: HashKernel, sums: Sums, A: VReg, keys: Sequence[Value], of: str
        ) -> Sums:
            return add(b, hashing, sums, b.zero("none") if of == "lengths" else A, keys, of)

        def wrong(self: Path) -> None:
            with pytest.MonkeyPatch.context() as inside:
                if (self.state is None, self.count) == (alone, count):
                    inside.setattr(straight, "products", other)
                right(self)

        patch.setattr(Path, "record", wrong)

    return plant


def _cleared_in_any_case(patch: pytest.MonkeyPatch) -> None:
    right, label = opening.clear, Builder.label
    again: list[Callable[[], None]] = []

    def clear(b: Builder, kernel: GcmKernel, out: VReg, length: VReg) -> None:
        right(b, kernel, out, length)
        again.append(lambda: right(b, kernel, out, length))

    def wrong(self: Builder, name: str) -> None:
        label(self, name)
        if name == "right":
            with self.part("again"):
                again.pop()()

    patch.setattr(opening, "clear", clear)
    patch.setattr(Builder, "label", wrong)


def _partial_block_not_cleared(patch: pytest.MonkeyPatch) -> None:
    right = opening.clear

    def wrong(b: Builder, kernel: GcmKernel, out: VReg, length: VReg) -> None:
        right(b, kernel, out, b.gpr("gpr_and", length, -16))

    patch.setattr(opening, "clear", wrong)


PLANTED: list[tuple[str, str, Plant]] = [
    *((operation, name, plant) for operation in ("seal", "open") for name, plant in (
        ("a power more", _a_power_more),
        ("no lengths", _without("C2")),
        ("no S", _without("S")),
        ("lengths for X", _another_state),
        ("key terms of free lanes", _no_key_terms_of_lanes),
        ("a key term, and no lane free", _free_lanes_off(1)),
        ("no key term, and a lane free", _free_lanes_off(-1)),
        ("lengths exchanged", _lengths_exchanged),
        ("E_K of the first block", _mask_of_the_first_block),
        ("E_K of the first block, groups", _mask_of_the_first_group),
        ("more written", _last_whole),
        *((f"a byte off, {name[1:]}", _a_byte_off(name))
          for name in ("_load_few", "_load_blocks", "_store_few", "_store_blocks")),
        ("a byte more on a way", _one_byte_more),
        *((f"lengths of {count}, {'alone' if alone else 'behind groups'}", _wrong_in(alone, count))
          for alone, count in ((True, 0), (True, 1), (True, 2), (False, 1), (False, 2))),
    )),
    ("seal", "bytes behind the text hashed", _bytes_behind),
    ("open", "no S in the first group", _S_beside_the_group),
    ("open", "the output hashed", _hash_of_the_other_text),
    ("open", "the last block not cleared", _partial_block_not_cleared),
]  # fmt: skip
"""Function, what is wrong, and how it is planted."""


@pytest.mark.parametrize(
    ("operation", "what", "plant"),
    PLANTED,
    ids=[f"{planted[0]}: {planted[1]}" for planted in PLANTED],
)
def test_a_fault_in_the_end_of_a_message_is_refused(
    operation: str, what: str, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    refutation = refuted(operation, plant, monkeypatch)
    assert refutation is not None, f"{what}, and proved"
    # A wrong tag to compare makes the condition one on a secret.
    told = (Category.FUNCTION, Category.MEMORY, Category.CONSTANT_TIME)
    assert refutation.category in told, str(refutation)


def test_an_output_cleared_though_the_tag_is_right_is_not_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The text has been compared by then, and its length is any: no loop can be over it. So single
    # messages are run, and the first of them tells what is wrong.
    refutation = refuted("open", _cleared_in_any_case, monkeypatch)
    assert refutation is not None, "proved"
    assert refutation.category is Category.MEMORY, str(refutation)
    assert "which is done" in str(refutation)


def refuted(operation: str, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> Refutation | None:
    """Return what the prover says of one function of the kernel with the fault in it."""
    with monkeypatch.context() as patch:
        right = text_of()
        plant(patch)
        text = text_of()
    assert text != right, "nothing was planted"
    stated = statement(KERNEL, KERNEL.name, "sysv")
    chosen = tuple(f for f in stated.functions if f.operation == operation)
    elf = assemble_text(find_nasm(), KERNEL.name, text, "elf64")
    return prove_object(elf, replace(stated, functions=chosen)).refutation


def text_of() -> str:
    """Return the kernel as it is emitted now."""
    return make(KERNEL, target("sysv", "elf64"), find_nasm()).text
