"""`verify` of tags of 1 to 16 bytes: it is proved for each, and its wrong twins are not."""

from dataclasses import replace

import pytest
from helpers.gcm_proving import text_of
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.prove import Proof, prove_object

ANY = GcmKernel(128, "avx", "k", "clmul1", 1, streams=True, messages=False, tags="any")
STANDARD = replace(ANY, tags="standard")
AVX512 = GcmKernel(128, "avx512", "k", "clmul1", 4, streams=True, messages=False, tags="any")


def proved(kernel: GcmKernel, any_tag: bool, old: str = "", new: str = "") -> Proof:
    """The proof of `verify`, with another text at its first such place."""
    head, label, own = text_of(kernel).partition(f"\n{kernel.name}_verify:\n")
    if old:
        assert old in own
        own = own.replace(old, new, 1)
    stated = statement(kernel, kernel.name, "sysv")
    assert stated.any_tag == (kernel.tags == "any")
    (function,) = (f for f in stated.functions if f.operation == "verify")
    spec = replace(stated, functions=(function,), any_tag=any_tag)
    return prove_object(assembled(head + label + own), spec)


@pytest.mark.parametrize("kernel", [ANY, AVX512], ids=lambda kernel: kernel.isa)
def test_it_is_proved(kernel: GcmKernel) -> None:
    assert proved(kernel, True).refutation is None


@pytest.mark.parametrize(("kernel", "any_tag"), [(STANDARD, True), (ANY, False)])
def test_another_statement_is_not_proved(kernel: GcmKernel, any_tag: bool) -> None:
    assert proved(kernel, any_tag).refutation is not None


WRONG = {
    "a tag of no bytes": ("0x01\n jb ", "0x00\n jb "),
    "a tag of 17 bytes": ("0x11\n jae", "0x12\n jae"),
    "tags of one byte are refused": ("0x01\n jb ", "0x02\n jb "),
}


@pytest.mark.parametrize("what", sorted(WRONG))
def test_a_wrong_twin_is_refused(what: str) -> None:
    assert proved(ANY, True, *WRONG[what]).refutation is not None


def test_its_parameter_allows_what_it_takes() -> None:
    for kernel, sizes in ((ANY, range(1, 17)), (STANDARD, (4, 8, 12, 13, 14, 15, 16))):
        length = functions_of(kernel)["verify"].params[-1]
        assert (length.name, [*length.allowed]) == ("tag_len", [*sizes])


def test_a_kernel_without_tags_is_refused() -> None:
    with pytest.raises(GhashgenError, match="tags are those of open and verify"):
        replace(ANY, streams=False)
