"""The dispatcher picks, for every set of CPU features, a kernel that fits and the preferred one."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from cpus import AS_FOUND, features, lacking, too_little
from dispatching import (
    AVX,
    SSE,
    SYNTHETIC,
    Entry,
    Program,
    build,
    build_stubbed,
    entry,
    shipped,
    symbols_of,
    undefined,
)
from elftools.elf.elffile import ELFFile

from ghashgen import dispatch
from ghashgen.dispatch import NAMES, PREFERENCE, ranked, render_dispatch
from ghashgen.errors import GhashgenError
from ghashgen.field.ghash import ghash_padded, multiply_blocks
from ghashgen.harness import FEATURES, MissingFeatures
from ghashgen.isa.registry import isas
from ghashgen.paths import project_root
from ghashgen.toolchain import assemble, find_cc, find_nasm

# What the choice may depend on; the other features are planted all clear and all set.
MATTER = (
    *("sse2", "ssse3", "pclmulqdq", "avx", "avx2", "bmi2", "avx512f", "avx512bw", "avx512vl"),
    *("avx512dq", "vpclmulqdq", "gfni"),
)
OTHERS = tuple(name for name in FEATURES if name not in MATTER)
SUBSETS = tuple(
    frozenset(chosen) | others
    for count in range(len(MATTER) + 1)
    for chosen in combinations(MATTER, count)
    for others in (frozenset(), frozenset(OTHERS))
)
WIDEST_FIRST = ("avx512", "avx512vl", "avx2", "avx", "sse")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dispatch")


@pytest.fixture(scope="module")
def synthetic(folder: Path) -> Program:
    return build_stubbed(SYNTHETIC, folder / "synthetic")


@pytest.fixture(scope="module")
def checked_in(folder: Path) -> Program:
    return build_stubbed(shipped(), folder / "checked_in")


def first_fitting(entries: Sequence[Entry], subsets: Sequence[frozenset[str]]) -> list[str]:
    order = [(item["name"], frozenset(item["cpu_features"])) for item in ranked(entries)]
    return [next((name for name, need in order if need <= subset), "-") for subset in subsets]


def violations(
    entries: Sequence[Entry], subsets: Sequence[frozenset[str]], answers: Sequence[str]
) -> list[str]:
    """What is wrong with the answers, by the needs and axes that the entries state."""
    needs = {item["name"]: frozenset(item["cpu_features"]) for item in entries}
    axes = {item["name"]: item["axes"] for item in entries}
    isa = {name: WIDEST_FIRST.index(value["isa"]) for name, value in axes.items()}
    default = {
        name: (value["multiply"], value["blocks"], value["order"], value["wipe"])
        == ("winograd", 16, "reflected", False)
        for name, value in axes.items()
    }
    found: list[str] = []
    for subset, chosen in zip(subsets, answers, strict=True):
        fitting = [name for name in needs if needs[name] <= subset]
        here = " ".join(sorted(subset))
        if chosen == "-":
            found += [f"{here}: nothing chosen, {name} fits" for name in fitting[:1]]
            continue
        if chosen not in fitting:
            found.append(f"{here}: {chosen} does not fit")
        for name in fitting:
            if isa[name] < isa[chosen]:
                found.append(f"{here}: {chosen} chosen, {name} is wider")
            if isa[name] == isa[chosen] and default[name] and not default[chosen]:
                found.append(f"{here}: {chosen} chosen, {name} is the default")
    return found


def test_every_subset_of_features_gets_the_preferred_kernel_that_fits(synthetic: Program) -> None:
    assert len(SUBSETS) == 2 * 2**12
    answers = synthetic.choices(SUBSETS)
    assert violations(SYNTHETIC, SUBSETS, answers) == []
    assert answers == first_fitting(SYNTHETIC, SUBSETS)
    chosen = {item["name"]: item["axes"]["isa"] for item in SYNTHETIC}
    assert {chosen[name] for name in answers if name != "-"} == set(WIDEST_FIRST)
    assert "-" in answers


def test_every_subset_of_features_with_the_checked_in_kernels(checked_in: Program) -> None:
    entries = shipped()
    answers = checked_in.choices(SUBSETS)
    assert violations(entries, SUBSETS, answers) == []
    assert answers == first_fitting(entries, SUBSETS)
    assert answers[SUBSETS.index(frozenset())] == "-"


def dropped(isa: str, feature: str) -> list[Entry]:
    return [
        {**item, "cpu_features": [n for n in item["cpu_features"] if n != feature]}
        if item["axes"]["isa"] == isa
        else item
        for item in SYNTHETIC
    ]


@pytest.mark.parametrize(
    ("isa", "feature", "words"),
    [
        ("avx512", "vpclmulqdq", "ghash_avx512_winograd_clmul1_x16 does not fit"),
        ("avx512", "avx512f", "ghash_avx512_winograd_clmul1_x16 does not fit"),
        ("avx512", "avx512dq", "ghash_avx512_winograd_clmul1_x16 does not fit"),
        ("avx", "avx", "ghash_avx_winograd_clmul1_x16 does not fit"),
        ("sse", "ssse3", "ghash_sse_winograd_clmul1_x16 does not fit"),
    ],
)
def test_a_need_that_is_left_out_is_noticed(
    tmp_path: Path, isa: str, feature: str, words: str
) -> None:
    program = build_stubbed(dropped(isa, feature), tmp_path / "planted")
    found = violations(SYNTHETIC, SUBSETS, program.choices(SUBSETS))
    assert any(words in line for line in found)


def test_a_need_too_many_is_noticed(tmp_path: Path) -> None:
    """The mistake of asking for the VPCLMULQDQ flag where VEX.128 does not need it."""
    planted = [
        {**item, "cpu_features": [*item["cpu_features"], "vpclmulqdq"]}
        if item["axes"]["isa"] == "avx"
        else item
        for item in SYNTHETIC
    ]
    program = build_stubbed(planted, tmp_path / "planted")
    found = violations(SYNTHETIC, SUBSETS, program.choices(SUBSETS))
    assert "avx pclmulqdq: nothing chosen, ghash_avx_schoolbook_clmul1_x1 fits" in found


def test_another_order_of_preference_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "PREFERENCE", {**PREFERENCE, "isa": WIDEST_FIRST[::-1]})
    program = build_stubbed(SYNTHETIC, tmp_path / "planted")
    found = violations(SYNTHETIC, SUBSETS, program.choices(SUBSETS))
    assert any("is wider" in line for line in found)


def test_vex_128_does_not_ask_for_the_vpclmulqdq_flag(checked_in: Program) -> None:
    (best,) = checked_in.choices([frozenset(AVX)])
    assert best == "ghash_avx_winograd_clmul1_x16"


def test_default_of_each_isa_leads_it() -> None:
    order = [(item["axes"]["isa"], item["name"]) for item in ranked(reversed(SYNTHETIC))]
    assert [isa for isa, _ in order] == sorted((isa for isa, _ in order), key=WIDEST_FIRST.index)
    first = dict(reversed(order))
    assert first == {isa: f"ghash_{isa}_winograd_clmul1_x16" for isa in WIDEST_FIRST}


def test_every_isa_has_a_place() -> None:
    assert set(isas()) <= set(PREFERENCE["isa"])


def test_order_of_entries_does_not_matter() -> None:
    shuffled = list(SYNTHETIC)
    random.Random(1).shuffle(shuffled)
    assert render_dispatch(shuffled) == render_dispatch(SYNTHETIC)


def test_other_conventions_and_other_functions_are_left_out() -> None:
    others = [entry("avx512", (), abi="win64"), entry("avx512", (), op="polyval")]
    assert render_dispatch([*SYNTHETIC, *others]) == render_dispatch(SYNTHETIC)


def test_feature_that_cannot_be_detected_is_refused() -> None:
    with pytest.raises(GhashgenError, match="needs sve2, which the dispatcher cannot detect"):
        render_dispatch([entry("avx", ("sve2",))])


def test_table_says_what_the_manifest_says(synthetic: Program) -> None:
    bits = synthetic.bits()
    expected = [
        f"{e['name']} {e['axes']['isa']} {e['axes']['blocks']} {e['table']['bytes']} "
        f"{e['table']['align']} {sum(bits[name] for name in e['cpu_features']):x}"
        for e in ranked(SYNTHETIC)
    ]
    assert synthetic.ask("table") == expected
    header = render_dispatch(SYNTHETIC)["ghashgen_dispatch.h"]
    assert "#define GHASHGEN_MAX_TABLE_BYTES 2304\n" in header
    assert "#define GHASHGEN_MAX_TABLE_ALIGN 16\n" in header
    assert "#define GHASHGEN_BEST_TABLE_ALIGN 64\n" in header


def test_kernels_are_found_by_name(synthetic: Program) -> None:
    for item in SYNTHETIC:
        assert synthetic.one("find", item["name"]) == item["name"]
    for wrong in ("", "ghash", "ghash_avx_winograd_clmul1_x1", "ghash_avx_winograd_clmul1_x160"):
        assert synthetic.one("find", wrong) == "-"


def fitting(program: Program) -> list[str]:
    present = set(program.one("features").split())
    return [e["name"] for e in ranked(SYNTHETIC) if set(e["cpu_features"]) <= present]


@pytest.mark.cpu
def test_kernel_named_by_the_environment(synthetic: Program) -> None:
    names = fitting(synthetic)
    best = names[0] if names else "-"
    assert synthetic.one("best") == best
    for name in names:
        assert synthetic.one("best", GHASHGEN_KERNEL=name) == name
    for ignored in ("", "no such kernel", f"{SYNTHETIC[0]['name']} ", "%s%n", "x" * 100_000):
        assert synthetic.one("best", GHASHGEN_KERNEL=ignored) == best


@pytest.mark.cpu
def test_kernel_that_the_cpu_cannot_run_is_ignored(synthetic: Program) -> None:
    off = ",".join(name for name in FEATURES if name not in SSE)
    sse = set(SSE) <= set(synthetic.one("features").split())
    for item in SYNTHETIC:
        best = "ghash_sse_winograd_clmul1_x16" if sse else "-"
        expected = item["name"] if sse and item["axes"]["isa"] == "sse" else best
        found = synthetic.one("best", GHASHGEN_FEATURES_OFF=off, GHASHGEN_KERNEL=item["name"])
        assert found == expected


@pytest.mark.cpu
def test_the_dispatcher_sees_what_the_harness_sees(synthetic: Program) -> None:
    assert set(synthetic.one("features").split()) == features()


@pytest.mark.cpu
def test_features_taken_away_by_the_environment(synthetic: Program) -> None:
    present = set(synthetic.one("features").split())
    lists = [*FEATURES, "avx512f,vpclmulqdq", "avx,avx2,avx", ",,avx,", ",".join(FEATURES)]
    for off in lists:
        left = synthetic.one("features", GHASHGEN_FEATURES_OFF=off)
        assert set(left.split()) == present - set(off.split(","))
    for ignored in ("", ",", "av", "avx5", "AVX", "avx avx2", "pclmulqdq;avx"):
        left = synthetic.one("features", GHASHGEN_FEATURES_OFF=ignored)
        assert set(left.split()) == present


@pytest.mark.cpu(AS_FOUND)
def test_null_when_nothing_fits(synthetic: Program) -> None:
    nothing = {"GHASHGEN_FEATURES_OFF": ",".join(FEATURES)}
    assert synthetic.one("best", **nothing) == "-"
    assert synthetic.one("best", GHASHGEN_KERNEL=SYNTHETIC[0]["name"], **nothing) == "-"


@pytest.mark.cpu(AS_FOUND)
def test_environment_can_be_left_out(synthetic: Program, folder: Path) -> None:
    program = build_stubbed(SYNTHETIC, folder / "silent", "GHASHGEN_NO_ENVIRONMENT")
    names = fitting(program)
    best = names[0] if names else "-"
    for name in names:
        assert program.one("best", GHASHGEN_KERNEL=name) == best
    assert program.one("best", GHASHGEN_FEATURES_OFF=",".join(FEATURES)) == best
    assert "getenv" in undefined(synthetic.object)
    assert "getenv" not in undefined(program.object)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("platform_define", ["ELSEWHERE", "WINDOWS"])
def test_no_kernel_is_listed_elsewhere(tmp_path: Path, platform_define: str) -> None:
    """Linked with no kernel at all, as it must be where none can be assembled."""
    files = render_dispatch(SYNTHETIC)
    program = build(files, tmp_path / "elsewhere", [platform_define], symbols=())
    assert program.ask("table") == []
    assert program.one("best") == "-"
    assert program.one("best", GHASHGEN_KERNEL=SYNTHETIC[0]["name"]) == "-"
    assert program.one("find", SYNTHETIC[0]["name"]) == "-"
    assert program.choices([frozenset(FEATURES)]) == ["-"]
    if platform_define == "ELSEWHERE":
        assert program.one("features").split() == []


def test_no_kernels_at_all(tmp_path: Path) -> None:
    program = build_stubbed((), tmp_path / "none")
    assert program.choices([frozenset(), frozenset(FEATURES)]) == ["-", "-"]


def test_no_other_state_no_allocation_no_loading(synthetic: Program) -> None:
    with synthetic.object.open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert sizes[".text"] > 0
    # The answer of CPUID, kept.
    assert {name: sizes.get(name, 0) for name in (".data", ".bss")} == {".data": 0, ".bss": 8}
    kernels = set(symbols_of(SYNTHETIC))
    ours = undefined(synthetic.object)
    assert kernels <= ours
    by_the_compiler = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "memcpy", "memset"}
    assert ours - kernels - by_the_compiler == {"getenv", "memcmp", "strcmp", "strcspn", "strlen"}


@pytest.mark.cpu(AS_FOUND)
def test_cpuid_is_asked_once_a_process(folder: Path) -> None:
    files = render_dispatch(SYNTHETIC)
    once = "features = detect_features() |"
    assert files["ghashgen_dispatch.c"].count("detect_features()") == 1
    assert once in files["ghashgen_dispatch.c"]
    files["ghashgen_dispatch.c"] = files["ghashgen_dispatch.c"].replace(
        once, "features = (fputs(asked, stdout), detect_features()) |"
    )
    stdio = '#include <stdio.h>\nstatic const char asked[] = "asked\\n";\n'
    files["ghashgen_dispatch.c"] = stdio + files["ghashgen_dispatch.c"]
    program = build(files, folder / "once", symbols=symbols_of(SYNTHETIC))
    lines = program.ask("thrice")
    assert lines[0] == "asked"
    assert len(set(lines[1:])) == 1
    assert len(lines) == 4


def test_header_serves_c_and_cpp_alone(folder: Path, synthetic: Program) -> None:
    source = folder / "alone.c"
    source.write_text('#include "ghashgen_dispatch.h"\n#include "ghashgen_dispatch.h"\nint a;\n')
    for language in ("c", "c++"):
        flags = ["-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        subprocess.run(
            [*find_cc().command, *flags, f"-I{synthetic.path.parent}", str(source)], check=True
        )


@pytest.fixture(scope="module")
def real(folder: Path) -> Callable[[str], Program]:
    """A dispatcher linked with the preferred checked-in kernel of one ISA."""

    made: dict[str, Program] = {}

    def make(isa: str) -> Program:
        if isa not in made:
            item = preferred(isa)
            obj = folder / f"{item['name']}.o"
            assemble(find_nasm(), project_root() / "generated" / item["file"], obj)
            made[isa] = build(render_dispatch([item]), folder / f"real_{isa}", objects=[obj])
        return made[isa]

    return make


def preferred(isa: str) -> Entry:
    return next(item for item in shipped() if item["axes"]["isa"] == isa)


def find_best(program: Program, item: Entry) -> None:
    """Refuse as the harness does if the dispatcher of this kernel alone finds none."""
    if program.one("best") == "-":
        raise MissingFeatures("no kernel fits", lacking(item["cpu_features"]))


@pytest.mark.cpu
@pytest.mark.parametrize("isa", WIDEST_FIRST)
def test_chosen_kernel_computes_ghash(
    real: Callable[[str], Program], isa: str, as_cpu: str
) -> None:
    program = real(isa)
    item = preferred(isa)
    if too_little(as_cpu, item["cpu_features"], lambda: find_best(program, item)):
        return
    assert program.one("best") == item["name"]
    rng = random.Random(isa)
    h, data = rng.randbytes(16), rng.randbytes(16 * 37 + 5)
    answer = program.answer("ghash", data=h + data)
    assert answer[:16] == ghash_padded(h, bytes(16), data)
    assert answer[16:] == multiply_blocks(data[:16], h)


def test_files_are_the_two_named() -> None:
    assert tuple(render_dispatch(SYNTHETIC)) == NAMES
