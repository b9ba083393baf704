"""The CPU that is meant, by a core's name, a record, features, or what this system says."""

import re

import pytest
from helpers.dispatching import SSE, ZEN5

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.registry import uarch
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice import recommend as module
from ghashgen.choice.cores import record_features
from ghashgen.choice.recommend import machine
from ghashgen.output.dispatcher import recorded
from ghashgen.records.cpus import CORES, core_of, lacking, title_of
from ghashgen.support.errors import GhashgenError


def test_every_recorded_core_by_title_and_record() -> None:
    for one in recorded():
        for name in (one.title, one.title.lower(), one.slug):
            found = machine(name, recorded())
            assert (found.core, found.features) == (one.core, record_features(one))
            assert title_of(found.cpu, found.features) == one.title
        assert "pclmulqdq" in record_features(one)


def test_cores_that_a_table_describes_are_known_without_a_record() -> None:
    for title in {core.title for core in CORES if core.uarch}:
        assert {"avx", "pclmulqdq"} <= machine(title, []).features


@pytest.mark.parametrize(
    ("names", "title", "has", "lacks"),
    [
        (("Haswell", "haswell", "HASWELL-EP"), "Haswell", "avx avx2 aesni", "vpclmulqdq avx512f"),
        (("Skylake", "skylake"), "Skylake", "avx avx2 aesni bmi2", "avx512f gfni vaes"),
        (("Skylake-SP", "skylake-avx512", "skx"), "Skylake server", "avx512vl", "vpclmulqdq"),
        (("Cascade Lake", "cascadelake"), "Cascade Lake", "avx512dq", "vaes vpclmulqdq gfni"),
        (("Ice Lake", "icelake-client"), "Ice Lake", "avx512vbmi vpclmulqdq gfni vaes", ""),
        (("Tiger Lake", "tigerlake"), "Tiger Lake", "avx512f vpclmulqdq", ""),
        (("Alder Lake", "alderlake"), "Alder Lake", "vaes vpclmulqdq gfni", "avx512f avx512vl"),
        (("Sapphire Rapids", "sapphirerapids"), "Sapphire Rapids", "avx512vbmi vaes", ""),
        (("Goldmont", "goldmont-plus"), "Goldmont", "pclmulqdq aesni sse4_1", "avx bmi2"),
        (("Zen", "Zen+", "znver1"), "Zen", "avx2 aesni pclmulqdq", "vaes vpclmulqdq"),
        (("Zen 2", "zen2", "znver2"), "Zen 2", "avx2 aesni", "vaes vpclmulqdq"),
        (("Zen 3", "znver3"), "Zen 3", "vaes vpclmulqdq", "gfni avx512f"),
        (("Zen 4", "znver4"), "Zen 4", "avx512vbmi gfni vaes vpclmulqdq", ""),
        (("Zen 5", "znver5"), "Zen 5", "avx512vbmi gfni vaes vpclmulqdq", ""),
    ],
)
def test_cores_are_known_by_the_names_that_are_typed(
    names: tuple[str, ...], title: str, has: str, lacks: str
) -> None:
    """What they have and lack: written down once more, from the manuals and -march of compilers."""
    for name in names:
        here = machine(name, [])
        assert here.core == title
        assert set(has.split()) <= here.features
        assert not set(lacks.split()) & here.features


def test_a_core_has_what_its_port_table_says() -> None:
    """Two tables, from different manuals."""
    named = {"AES": "aesni", "AVX512_VBMI": "avx512vbmi"}
    for core in CORES:
        if core.uarch:
            said = {named.get(name, name.lower()) for name in uarch(core.uarch).features}
            assert core.features == said & set(FEATURES), core.title


def test_a_core_has_what_its_record_says() -> None:
    for one in recorded():
        core = core_of(one.results.machine.cpu)
        assert core is not None
        assert core.features - record_features(one) == set(
            lacking(one.results.machine.cpu, one.results.machine.features)
        )
        assert record_features(one) <= core.features


def test_no_row_of_the_table_of_cores_hides_another() -> None:
    """The first that fits a CPU is its core."""
    for core in CORES:
        place = f"cpu family {core.family}, model {core.models[0]}, stepping {core.steppings[0]}"
        found = core_of(place)
        assert found is not None
        assert found.title == core.title
    titles = {plain for core in CORES if (plain := core.title.lower().replace(" ", ""))}
    others = [name for core in {c.title: c for c in CORES}.values() for name in core.names]
    assert len(others) == len(set(others))
    assert not titles & {name.lower().replace(" ", "").replace("-", "") for name in others}


@pytest.mark.parametrize(("name", "listed"), [("avx512", True), ("avx2", True), ("pmull", False)])
def test_an_instruction_set_in_the_place_of_a_cpu_is_explained(name: str, listed: bool) -> None:
    with pytest.raises(
        GhashgenError, match=f"{name} is an instruction set of kernels, not a"
    ) as no:
        machine(name, [])
    assert f"ghashgen list --isa {name} lists its kernels" in no.value.remedy
    found = re.search(r"--cpu (\S+);", no.value.remedy)
    assert bool(found) is listed
    if found:
        assert "pclmulqdq" in machine(found[1], []).features


def test_a_wrong_name_is_refused_with_the_right_ones() -> None:
    with pytest.raises(GhashgenError, match="called 'Zen 99'; did you mean Zen 5 or "):
        machine("Zen 99", recorded())
    with pytest.raises(GhashgenError, match="called 'Hasswel'; did you mean Haswell"):
        machine("Hasswel", [])
    with pytest.raises(GhashgenError, match="feature is called 'nothing'; choose from sse2, "):
        machine("avx,nothing", [])
    with pytest.raises(GhashgenError, match="called 'aes'; did you mean vaes or aesni"):
        machine("avx,aes", [])


CPUINFO = {"vendor_id": "AuthenticAMD", "flags": "fpu sse2 ssse3 pclmulqdq aes avx avx2 xyz"}


def test_this_machine_by_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cpuinfo", lambda: CPUINFO)
    monkeypatch.setattr(module, "cpu_model", lambda: ZEN5)
    monkeypatch.delenv(FEATURES_OFF, raising=False)
    here = machine("", [])
    assert (here.core, here.vendor) == ("Zen 5", "amd")
    assert here.features == {*SSE, "aesni", "avx", "avx2"}
    monkeypatch.setenv(FEATURES_OFF, "avx2,,aesni")
    assert machine("", []).features == {*SSE, "avx"}
    monkeypatch.setenv(FEATURES_OFF, "avx5")
    with pytest.raises(GhashgenError, match="GHASHGEN_FEATURES_OFF names 'avx5'"):
        machine("", [])
    monkeypatch.setenv(FEATURES_OFF, "")
    monkeypatch.setattr(module, "cpuinfo", dict)
    with pytest.raises(GhashgenError, match="does not list its CPU's features"):
        machine("", [])
