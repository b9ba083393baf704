"""What each comparison of a paper compares, and what it says of the paper."""

from dataclasses import replace

import pytest

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.lab.bench.threads import MODE as THREADS
from ghashgen.lab.compare.core import paper_ratio
from ghashgen.lab.compare.record import records_of
from ghashgen.lab.compare.registry import studies
from ghashgen.run.table import PORTABLE_KERNELS
from ghashgen.support.paths import project_root

ROOT = project_root()


def test_the_studies() -> None:
    names = ("intel-2010", "intel-2023", "intel-2023-ghash", "kryptus", "solaris", "tls")
    assert tuple(studies()) == names
    for study in studies().values():
        assert study.kernels
        assert study.mode in study.contest.modes
        families = {"hash", "gcm"} if study.mode == THREADS else {study.contest.family}
        assert {kernel.family for kernel in study.kernels} == families
        assert set(study.others.values()) <= set(study.contest.rivals)
        assert all(len({v.label for v in g.variants}) == len(g.variants) for g in study.groups)


def test_a_group_of_intel_2023_differs_in_the_multiplication_alone() -> None:
    for group in studies()["intel-2023-ghash"].groups:
        kernels = [v.subject for v in group.variants if not isinstance(v.subject, str)]
        axes = {(k.isa, k.blocks, k.order, k.swap, k.powers, k.wipe) for k in kernels}
        assert len(kernels) == len(group.variants)
        assert len(axes) == 1
        schemes = [(k.multiply, k.reduce, k.fold) for k in kernels]
        assert schemes[0] == ("schoolbook", "clmul3", "group")
        assert {s[0] for s in schemes[1:]} == {"k", "winograd"}
        assert len(set(schemes)) == len(schemes)


def test_the_paper_of_kryptus() -> None:
    study = studies()["kryptus"]
    four, eight = study.paper_rows
    assert four.ratios == pytest.approx({1024: 0.1418, 8192: 1.1018, 8 << 20: 3.3184}, abs=1e-4)
    assert eight.ratios == pytest.approx({1024: 0.0752, 8192: 0.9265, 8 << 20: 3.3337}, abs=1e-4)
    assert {1 << 10, 8 << 10, 8 << 20} <= set(study.sizes)
    ways = [variant.way for variant in study.groups[0].variants]
    assert ways[0] == "one 1"
    assert len(set(ways)) == len(ways) == 7
    assert len(study.kernels) == len(set(study.kernels)) == 6 + 2
    kernels = [kernel for kernel in study.kernels if isinstance(kernel, Kernel)]
    assert all(kernel.segments for kernel in kernels)
    assert sorted((kernel.isa, kernel.columns) for kernel in kernels) == [
        (isa, columns) for isa in ("avx", "avx512") for columns in (1, 2, 4)
    ]


def test_every_portable_kernel_is_in_solaris() -> None:
    assert sorted(studies()["solaris"].others) == sorted(PORTABLE_KERNELS)


def test_the_paper_of_solaris() -> None:
    (group,) = studies()["solaris"].groups
    stated = {v.label: paper_ratio(group, v) for v in group.variants if v.paper_time}
    assert stated == {
        "C, masks": 1.0,
        "school book": pytest.approx(7.83 / 1.18),
        "linear folding": pytest.approx(7.83 / 1.36),
        "Karatsuba": pytest.approx(7.83 / 1.19),
    }


def test_intel_2010_shows_each_kernel_stitched_and_not() -> None:
    beside, *pairs = studies()["intel-2010"].groups
    ours = [v.subject for v in beside.variants if not isinstance(v.subject, str)]
    assert len(ours) == len(pairs) == 4
    assert ours[0] == GcmKernel(128, "sse", "karatsuba", "shift-xor", 4)
    for kernel, group in zip(ours, pairs, strict=True):
        assert isinstance(kernel, GcmKernel)
        assert kernel.stitch
        assert [v.subject for v in group.variants] == [replace(kernel, stitch=False), kernel]


def test_a_group_of_aes_gcm_differs_in_the_multiplication_alone() -> None:
    for group in studies()["intel-2023"].groups:
        kernels = [v.subject for v in group.variants if not isinstance(v.subject, str)]
        plain = {replace(k, multiply="schoolbook", reduce="clmul3") for k in kernels}
        assert plain == {kernels[0]}
        assert [k.multiply for k in kernels] == ["schoolbook", "k", "winograd"]
        assert [k.reduce for k in kernels] == ["clmul3", "clmul1", "clmul1"]


def test_the_paper_of_tls() -> None:
    study = studies()["tls"]
    assert study.aad == 13
    stated = {v.name: v.paper_time for v in study.variants if v.paper_time}
    assert stated == {
        "ref_gcm128_tables": 29.5,
        "gcm128_sse_winograd_clmul1_x6": 3.9,
        "gcm192_sse_winograd_clmul1_x6": 4.2,
        "gcm256_sse_winograd_clmul1_x6": 4.5,
    }


@pytest.mark.parametrize("name", ["intel-2023", "intel-2023-ghash"])
def test_tables_12_and_13_are_whole(name: str) -> None:
    study = studies()[name]
    assert all(set(row.ratios) == set(study.sizes) for row in study.paper_rows)
    # The largest message and the smallest, where a reversed row would show.
    ends = [(row.ratios[16384], row.ratios[64]) for row in study.paper_rows]
    assert ends == [(1.09, 1.26), (1.10, 1.43), (1.07, 1.16), (1.00, 1.38)]


def test_the_stored_records_fit_their_studies() -> None:
    for study in studies().values():
        for record in records_of(ROOT, study):
            assert (record.study, record.mode) == (study.name, study.mode)
            rows = [(row.group, row.label) for row in record.rows]
            assert rows == [(g.title, v.label) for g in study.groups for v in g.variants]
    stored = {name for name, study in studies().items() if records_of(ROOT, study)}
    assert stored >= {"intel-2023-ghash", "solaris"}
