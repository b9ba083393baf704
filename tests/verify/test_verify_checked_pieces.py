"""Wrong certificates of right functions for messages in pieces: each is refused."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from helpers.gcm_proving import AVX, text_of
from helpers.piece_faults import changed

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.checking import check_function
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec
from ghashgen.verify.x86_64.elf import load_image

ENDS, PIECES = ("start", "finish", "verify"), ("aad", "encrypt_more", "decrypt_more")


def stated(kernel: GcmKernel, operation: str) -> tuple[GcmSpec, GcmFunction]:
    """Return the statement of one function."""
    spec = statement(kernel, kernel.name, "sysv")
    assert isinstance(spec, GcmSpec)
    return spec, next(f for f in spec.functions if f.operation == operation)


def searched(kernel: GcmKernel, text: str, operation: str) -> tuple[Image, dict[str, Any]]:
    """Return the certificates that are found for a function, each of which has been accepted.

    Raises:
        Refutation: one is not found.
    """
    image = load_image(assemble_text(find_nasm(), kernel.name, text, "elf64"))
    return image, find_function(image, *stated(kernel, operation))


RELOADED = (
    ".group:\n vmovdqu xmm{r}, [rsi{at}]\n vpshufb xmm{r}, xmm{r}, [rel {kernel}_byte_swap]\n"
)


@pytest.mark.parametrize(("operation", "at"), [("decrypt", ""), ("decrypt_more", " + 16")])
def test_one_keystream_for_every_group_is_not_proved(operation: str, at: str) -> None:
    """The counter in memory is that of the entry, in every turn of the loop."""
    own = text_of(AVX).partition(f"\n{AVX.name}_{operation}:\n")[2]
    counter = own.partition(" ; counter, last word first")[0].rpartition("vpshufb xmm")[2]
    register = counter.partition(",")[0]
    line = RELOADED.format(r=register, at=at, kernel=AVX.name)
    label = ".whole_group:\n" if at else ".group:\n"
    wrong = changed(operation, label, line.replace(".group:\n", label))
    with pytest.raises(Refutation):
        searched(AVX, wrong, operation)


@cache
def accepted(operation: str) -> tuple[Image, dict[str, Any]]:
    return searched(AVX, text_of(AVX), operation)


Named = tuple[str, dict[str, Any]]


def edits(operation: str) -> Iterator[Named]:
    """Yield certificates that are wrong in one thing."""
    right = accepted(operation)[1]
    way = next(iter(right))

    def changed(words: str, name: str, field: str, key: str, value: Any) -> Named:
        out = copy.deepcopy(right)
        one = out[way]["assertions"][name][field]
        assert one.get(key) != value, words
        one[key] = value
        return words, out

    of_blocks = right[way]["assertions"]["blocks"]
    for name in ("blocks", "loop"):
        x = right[way]["assertions"][name]["ghosts"]["x"]
        yield changed("a block too far", name, "ghosts", "x", {**x, "hashed": "16*b+16"})
        yield changed("a power too much", name, "ghosts", "x", {**x, "ahead": 1})
        yield changed("a state in a begun block", name, "ghosts", "x", {**x, "hashed": "16*b+1"})
        yield changed("a length that is forgotten", name, "places", "stream+64:8", "?")
        yield changed("a length that is another", name, "places", "stream+72:8", ["n", "1"])
        yield changed("AAD of few bytes", name, "unknowns", "aad_done", [0, 100])
        yield changed("messages of one phase", name, "unknowns", "phase", [3, 3])
    entry = of_blocks["from"]["entry"]
    yield changed("a place that is left out", "blocks", "from", "entry", entry[:1])
    yield changed("a block that begins later", "blocks", "from", "entry",
                  [{**one, "b": f"{one['b']}+1"} for one in entry])  # fmt: skip
    if operation != "aad":
        yield changed("a counter further on", "loop", "ghosts", "counter", "16*b")
        yield changed("an output further on", "loop", "ghosts", "output", "16*b+32*t+64")
        yield changed("a begun block that is not", "blocks", "ghosts", "counter", "16*b-16")


@pytest.mark.parametrize("operation", ["aad", "decrypt_more"])
def test_wrong_certificates_are_refused(operation: str) -> None:
    image, _ = accepted(operation)
    wrong = list(edits(operation))
    assert len(wrong) == (16 if operation == "aad" else 19)
    passed = []
    for words, one in wrong:
        try:
            check_function(image, *stated(AVX, operation), *one.values())
        except Refutation:
            continue
        passed.append(words)
    assert not passed


def test_every_function_of_a_kernel_of_streams_has_a_meaning() -> None:
    covered = {f.operation for f in stated(AVX, "aad")[0].functions} & {*ENDS, *PIECES}
    assert covered == {*ENDS, *PIECES} & {*functions_of(AVX)} == {*ENDS, *PIECES}
