"""The AES-GCM kernels that are checked in, and the choice among them."""

from dataclasses import fields, replace

from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.choice.candidate import candidates
from ghashgen.kernels import manifest
from ghashgen.kernels.families import families
from ghashgen.kernels.gcm.axes import AXES
from ghashgen.kernels.gcm.catalogue import PAPER, catalogue
from ghashgen.kernels.gcm.kernel import ROUNDS, GcmKernel
from ghashgen.kernels.selection import Choice, choose, choose_of, look_up
from ghashgen.kernels.selection import catalogue as every
from ghashgen.support.paths import project_root

CATALOGUE = catalogue()


def test_every_shipped_kernel_makes_sense_and_has_a_name_of_its_own() -> None:
    assert [replace(kernel) for kernel in CATALOGUE] == list(CATALOGUE)
    names = [kernel.name for kernel in every()]
    assert len(set(names)) == len(names)
    assert set(CATALOGUE) <= set(every())


def test_the_axes_are_those_of_a_kernel() -> None:
    assert {axis.name for axis in AXES} == {field.name for field in fields(GcmKernel)}


def test_every_set_with_aes_ships_every_key_or_another_set_serves_its_cpus() -> None:
    able = {isa.name for isa in isas(DEFAULT).values() if "aes_round" in isa.supported}
    shipped = {kernel.isa for kernel in CATALOGUE}
    # What has avx512vl has the features of avx2 too, and of avx512.
    assert able - shipped == {"avx512vl"}
    features = {isa.name: set(isa.features) for isa in isas(DEFAULT).values()}
    assert features["avx2"] <= features["avx512vl"]
    for isa in shipped:
        assert {kernel.key for kernel in CATALOGUE if kernel.isa == isa} == set(ROUNDS), isa


def test_what_wipes_has_a_twin_that_does_not() -> None:
    wiping = [kernel for kernel in CATALOGUE if kernel.wipe]
    assert {kernel.isa for kernel in wiping} == {kernel.isa for kernel in CATALOGUE}
    assert {replace(kernel, wipe=False) for kernel in wiping} <= set(CATALOGUE)


def test_messages_in_pieces_are_taken_with_vaes_and_without() -> None:
    """Each beside one that takes whole messages alone; a twin shows what wiping costs."""
    pieces = [kernel for kernel in CATALOGUE if kernel.streams]
    assert {(k.isa, k.key) for k in pieces if not k.wipe} == {
        (isa, key) for isa in ("avx", "avx512") for key in (128, 256)
    }
    assert {replace(kernel, streams=False) for kernel in pieces} <= set(CATALOGUE)
    assert any(kernel.wipe for kernel in pieces)


def test_of_the_short_kernels_that_with_the_cheapest_keys_has_the_least_code() -> None:
    """So where only these are within 5% of the fastest, the rule takes it."""
    shipped = candidates(manifest.load(project_root() / "generated").values(), "gcm")
    for key in ROUNDS:
        code = {
            c.code_bytes: c.name
            for c in shipped
            if (c.isa, c.given) == ("avx512", key) and "short" in c.name
        }
        assert code[min(code)] == f"gcm{key}_avx512_k_clmul1_x20_short"


def test_the_papers_kernels_are_shipped() -> None:
    assert set(PAPER) <= set(CATALOGUE)
    assert [(kernel.isa, kernel.multiply, kernel.reduce) for kernel in PAPER] == [
        # papers/intel-2010; papers/intel-2023, Tables 12 and 13: what was, and what is proposed.
        ("sse", "karatsuba", "shift-xor"),
        ("avx", "schoolbook", "clmul3"),
        ("avx", "k", "clmul1"),
    ]


def test_a_choice_by_axes_of_both_families_takes_the_kernels_of_both() -> None:
    both = Choice(isa=("avx",), blocks=(8,), multiply=("winograd",))
    found = choose(both)
    assert {kernel.family for kernel in found} == {"hash", "gcm"} < set(families())
    assert set(choose_of(GcmKernel, both)) == {k for k in found if k.family == "gcm"}
    (one,) = choose(Choice(family=("gcm",), wipe=(True,), isa=("sse",)))
    assert one in CATALOGUE
    # An axis that one family lacks leaves the other; what is made is of the first that fits.
    keyed = choose(Choice(key=(256,), isa=("sse",)))
    assert {kernel.family for kernel in keyed} == {"gcm", "ctr"}
    made = look_up(Choice(isa=("avx",), multiply=("winograd",), blocks=(7,))).made
    assert {kernel.family for kernel in made} == {"hash"}
