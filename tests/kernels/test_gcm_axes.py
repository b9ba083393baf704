"""Which GHASH an AES-GCM kernel may have: what the hash family has, while registers last."""

from dataclasses import asdict, replace
from itertools import product

import pytest

from ghashgen.arch.registry import isas
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels.gcm import axes
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError

SETS = ("sse", "avx", "avx2", "avx512vl", "avx512")
SCHEMES = tuple(product(SETS, axes.MULTIPLY.values(), axes.REDUCE.values(), axes.ORDER.values()))


def hashes(isa: str, multiply: str, reduce: str, order: str) -> Kernel | None:
    """The hash of one register a group, if there is one."""
    try:
        return Kernel(isa, multiply, reduce, isas()[isa].lanes, order=order)
    except GhashgenError:
        return None


def crypts(hashing: Kernel, registers: int = 1) -> GcmKernel | None:
    """AES-GCM with this hash, if there is one."""
    values = (hashing.isa, hashing.multiply, hashing.reduce, registers * hashing.lane_count)
    try:
        return GcmKernel(128, *values, order=hashing.order, messages=False)
    except GhashgenError:
        return None


HASHES = [found for scheme in SCHEMES if (found := hashes(*scheme)) is not None]


def test_every_scheme_that_hashing_has_is_there_in_every_group() -> None:
    assert axes.ISA.left_open
    assert set(SETS) == {*axes.ISA.left_open({})}
    assert len(HASHES) == 2 * 9 + 3 * (9 + 7)
    for hashing in HASHES:
        isa = hashing.instruction_set
        # Half of the registers; and as many blocks as hashing takes.
        most = min(isa.vector_registers // 2, axes.BLOCKS.values()[-1] // isa.lanes)
        groups = [n for n in range(1, isa.vector_registers + 1) if crypts(hashing, n)]
        assert groups == list(range(1, most + 1)), hashing.name


@pytest.mark.parametrize("isa", SETS)
def test_every_scheme_is_emitted_and_assembled(isa: str) -> None:
    nasm = find_nasm()
    for hashing in (h for h in HASHES if h.isa == isa):
        kernel = crypts(hashing)
        assert kernel is not None
        made = make(kernel, target(), nasm)
        assert {"init", "encrypt", "decrypt"} <= made.audit.code_bytes.keys()
        assert made.code
        # What is not chosen by these schemes has the schemes all the same.
        schemes = asdict(replace(hashing, blocks=kernel.blocks))
        assert asdict(kernel.hash) == {**schemes, "short": False, "groups": False, "compact": False}
