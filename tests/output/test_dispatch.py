"""The dispatcher in C takes, on every CPU, a kernel that fits it, and the one that was chosen."""

import random
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from helpers.cpus import AS_FOUND, lacking
from helpers.dispatching import (
    AVX,
    SSE,
    SYNTHETIC,
    Entry,
    Program,
    build,
    build_stubbed,
    entry,
    of_shipped,
    shipped,
    symbols_of,
    undefined,
)
from msgspec.structs import replace as changed

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice.candidate import TOGETHER, candidates
from ghashgen.choice.choice import Chooser
from ghashgen.choice.families.hash import USES
from ghashgen.kernels.hash.definition import OPS
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.output.dispatcher import recorded, render_dispatch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_cc

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
    for others in (frozenset[str](), frozenset(OTHERS))
)
SYMBOLS = symbols_of(SYNTHETIC)
CPUS = {
    "Cascade Lake": ("GenuineIntel", 6, 85, 7),
    "Emerald Rapids": ("GenuineIntel", 6, 207, 2),
    "Zen 4": ("AuthenticAMD", 25, 17, 1),
    "Zen 5": ("AuthenticAMD", 26, 2, 1),
    "other Intel": ("GenuineIntel", 6, 151, 2),
    "other AMD": ("AuthenticAMD", 23, 49, 0),
    "other": ("HygonGenuine", 24, 1, 1),
}
"""One CPU of each kind that the records make."""


@pytest.fixture(scope="module")
def synthetic(folder: Path) -> Program:
    return build_stubbed(SYNTHETIC, folder / "synthetic")


@pytest.fixture(scope="module")
def checked_in(folder: Path) -> Program:
    return build(of_shipped(), folder / "checked_in", symbols=symbols_of(shipped()))


def violations(
    program: Program, entries: Sequence[Entry], hosts: Sequence[int], count: int = 200
) -> list[str]:
    """What is wrong with the answers, by the needs that the entries state.

    A CPU with some but not all of the features that always come together does not exist. It may
    get no kernel, but it must not get one that does not fit.
    """
    rng = random.Random(1)
    subsets = [*SUBSETS[:100], *SUBSETS[-100:], *rng.sample(SUBSETS, count)]
    bits, choices = program.bits(), program.choices()
    cpus = [(host, sum(bits[name] for name in subset)) for subset in subsets for host in hosts]
    entries = [item for item in entries if item.family == Kernel.family]
    needs = {item.name: frozenset(item.cpu_features) for item in entries}
    ops = {item.name: str(item.axes["op"]) for item in entries}
    power = {item.name for item in entries if "power" in item.symbols}

    @cache
    def fitting(here: frozenset[str], op: str, use: str) -> frozenset[str]:
        able = {n for n in needs if needs[n] <= here and ops[n] == op}
        return frozenset(able & power if use == "segments" else able)

    found: list[str] = []
    for (host, mask), answer in zip(cpus, program.found(cpus), strict=True):
        here = frozenset(name for name in FEATURES if bits[name] & mask)
        text = f"{host} {' '.join(sorted(here))}"
        for (op, use), place in answer.items():
            able = fitting(here, op, use)
            if place < 0:
                real = here & TOGETHER in (frozenset(), TOGETHER)
                found += [f"{text}: no {use} of {op} chosen, {name} fits" for name in able if real]
                continue
            choice = choices[place]
            if (choice.op, choice.use) != (op, use) or not choice.hosts >> host & 1:
                found.append(f"{text}: {use} of {op} got a row of another")
            wrong = [name for name in choice.kernels if name not in able]
            found += [f"{text}: {name} does not fit {use} of {op}" for name in wrong]
    return found


def test_every_choice_fits_the_cpu(synthetic: Program, checked_in: Program) -> None:
    hosts = [checked_in.host(*cpu) for cpu in CPUS.values()]
    assert sorted(hosts) == [*range(len(CPUS))]
    assert violations(checked_in, shipped(), hosts, 2000) == []
    assert violations(synthetic, SYNTHETIC, [0, 1, 2], 2000) == []


@pytest.mark.parametrize(
    ("entries", "lacking"),
    [
        (shipped(), ["power", "combine", "column"]),
        ([entry("avx", AVX, segments=True)], ["column"]),
        ([entry("avx", AVX), entry("avx", AVX, segments=True)], ["power", "combine", "column"]),
    ],
)
def test_the_header_names_what_the_table_of_kernels_has_as_null(
    entries: Sequence[Entry], lacking: list[str]
) -> None:
    files = render_dispatch(entries, records=recorded())
    header, code = files["ghashgen_dispatch.h"], files["ghashgen_dispatch.c"]
    said = re.findall(r"/\* NULL in kernels without it: (.*)\. \*/", header)
    assert [names.split(", ") for names in said] == [lacking]
    declared = re.findall(r"^    void \(\*(\w+)\)", header, re.MULTILINE)
    rows = re.findall(r"^ {9}((?:\w+_init), .*)},$", code, re.MULTILINE)
    null = {declared[i] for row in rows for i, p in enumerate(row.split(", ")) if p == "NULL"}
    assert null == set(lacking)
    assert "The last" not in header


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(choices[i].needs & ~features) == 0", "1"),
        ("(choices[i].needs & ~features) == 0", "(choices[i].needs & features) != 0"),
        ("choices[i].op == op && ", ""),
        ("choices[i].use == use && ", ""),
        ("(choices[i].hosts >> host & 1)", "1"),
        ("i < CHOICES", "i < CHOICES / 2"),
    ],
)
def test_a_planted_fault_in_the_search_is_noticed(tmp_path: Path, right: str, wrong: str) -> None:
    text = of_shipped()["ghashgen_dispatch.c"]
    assert text.count(right) == 1
    files = {**of_shipped(), "ghashgen_dispatch.c": text.replace(right, wrong)}
    quiet = ["-Wno-unused-parameter"]
    program = build(files, tmp_path / "planted", symbols=symbols_of(shipped()), flags=quiet)
    assert violations(program, shipped(), range(len(CPUS)))


@pytest.mark.parametrize(
    ("isa", "feature"),
    [("avx512", "vpclmulqdq"), ("avx512", "avx512f"), ("avx", "avx"), ("sse", "ssse3")],
)
def test_a_need_that_is_left_out_is_noticed(tmp_path: Path, isa: str, feature: str) -> None:
    planted = [
        changed(item, cpu_features=tuple(n for n in item.cpu_features if n != feature))
        if item.isa == isa
        else item
        for item in SYNTHETIC
    ]
    program = build_stubbed(planted, tmp_path / "planted")
    assert any("does not fit" in line for line in violations(program, SYNTHETIC, [2]))


def test_a_need_too_many_is_noticed(tmp_path: Path) -> None:
    """The mistake of asking for the VPCLMULQDQ flag where VEX.128 does not need it."""
    planted = [
        changed(item, cpu_features=(*item.cpu_features, "vpclmulqdq"))
        if item.isa == "avx"
        else item
        for item in SYNTHETIC
    ]
    program = build_stubbed(planted, tmp_path / "planted")
    assert any("chosen, ghash_avx" in line for line in violations(program, SYNTHETIC, [2]))


def test_c_chooses_as_python_does(checked_in: Program) -> None:
    """For every kind of CPU and any features: what `ghashgen recommend` names is what is called."""
    rng = random.Random(2)
    bits, choices = checked_in.bits(), checked_in.choices()
    hosts = [(name, checked_in.host(*cpu)) for name, cpu in CPUS.items()]
    subsets = [SUBSETS[0], SUBSETS[-1], *rng.sample(SUBSETS, 300)]
    pool = candidates(shipped())
    for op in OPS:
        chooser = Chooser([c for c in pool if c.given == op], recorded())
        assert [host.title for host in chooser.hosts] == list(CPUS)
        for (name, number), host in zip(hosts, chooser.hosts, strict=True):
            assert host.title == name
            cpus = [(number, sum(bits[f] for f in subset)) for subset in subsets]
            for subset, answer in zip(subsets, checked_in.found(cpus), strict=True):
                for use in USES:
                    picks = chooser.picks(host, subset, use)
                    place = answer[op, use.name]
                    names = choices[place].kernels if place >= 0 else ()
                    assert names == tuple(pick.candidate.name for pick in picks), (name, subset)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "stepping", "title"),
    [
        ("GenuineIntel", 6, 85, 4, "Cascade Lake"),  # Skylake server, of the same core
        ("GenuineIntel", 6, 85, 7, "Cascade Lake"),
        ("GenuineIntel", 6, 85, 11, "Cascade Lake"),  # Cooper Lake
        ("GenuineIntel", 6, 85, 9, "other Intel"),  # a stepping that nobody has described
        ("GenuineIntel", 6, 106, 6, "other Intel"),  # Ice Lake server
        ("GenuineIntel", 6, 143, 8, "Emerald Rapids"),  # Sapphire Rapids, of the same core
        ("GenuineIntel", 6, 207, 2, "Emerald Rapids"),
        ("GenuineIntel", 15, 4, 1, "other Intel"),
        ("GenuineIntel", 19, 1, 0, "other Intel"),  # a family beyond 15
        ("AuthenticAMD", 26, 2, 1, "Zen 5"),
        ("AuthenticAMD", 26, 0x44, 0, "Zen 5"),
        ("AuthenticAMD", 26, 0x80, 0, "other AMD"),
        ("AuthenticAMD", 25, 0x11, 1, "Zen 4"),
        ("AuthenticAMD", 25, 0x61, 2, "Zen 4"),
        ("AuthenticAMD", 25, 0x01, 1, "other AMD"),  # Zen 3
        ("AuthenticAMD", 6, 85, 7, "other AMD"),  # another vendor's numbers
        ("HygonGenuine", 24, 1, 1, "other"),
        ("CentaurHauls", 6, 85, 7, "other"),
        ("  Shanghai  ", 7, 11, 0, "other"),
    ],
)
def test_cpus_are_known_by_vendor_family_model_and_stepping(
    checked_in: Program, vendor: str, family: int, model: int, stepping: int, title: str
) -> None:
    number = checked_in.host(vendor, family, model, stepping)
    assert Chooser((), recorded()).hosts[number].title == title


@pytest.mark.cpu(AS_FOUND)
def test_this_cpu_is_the_one_that_the_system_names(checked_in: Program) -> None:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        pytest.skip("no /proc/cpuinfo to compare with")
    lines = (line.partition(":") for line in cpuinfo.read_text().split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    numbers = [int(fields[key]) for key in ("cpu family", "model", "stepping")]
    here = int(checked_in.one("here"))
    assert here == checked_in.host(fields["vendor_id"], *numbers)


def test_no_record_leaves_the_convention(synthetic: Program) -> None:
    """Wider registers first, then the fewest products; every length takes the same kernel.

    Each CPU that can run a kernel of avx512vl can run one of avx512.
    """
    names = {
        "avx512": "ghash_avx512_winograd_clmul1_x16",
        "avx2": "ghash_avx2_winograd_clmul1_x16",
        "avx": "ghash_avx_winograd_clmul1_x16",
        "sse": "ghash_sse_winograd_clmul1_x16",
    }
    needs = {item.entry.name: item.needs for item in candidates(SYNTHETIC)}
    for name in names.values():
        features = synthetic.mask({*needs[name], "gfni"} if "sse" in name else needs[name])
        best, once, segments = synthetic.ask("best", "ghash", "1024", PLANT=f"2:{features:x}")
        assert best == name
        assert once == name
        able = set(AVX) <= set(needs[name])
        assert segments == (f"{names['avx']}_segments" if able else "-")
    assert (
        synthetic.ask("best", "polyval", PLANT=f"0:{synthetic.mask(AVX):x}")[:2]
        == ["polyval_avx_winograd_clmul1_x16"] * 2
    )


def test_order_of_entries_does_not_matter() -> None:
    shuffled = list(shipped())
    random.Random(1).shuffle(shuffled)
    assert render_dispatch(shuffled, records=recorded()) == render_dispatch(
        shipped(), records=recorded()
    )


def test_a_program_calls_the_kernels_of_its_own_convention() -> None:
    windows = [entry("avx512", (), blocks=4, abi="win64"), entry("avx", AVX, "k", 2, abi="win64")]
    text = render_dispatch([*SYNTHETIC, *windows])["ghashgen_dispatch.c"]
    ours, theirs = text.partition("#ifdef CALLS_WIN64")[::2]
    assert "ghash_avx512_winograd_clmul1_x4_update" not in ours
    assert "ghash_avx512_winograd_clmul1_x4_update" in theirs
    assert "ghash_avx512_winograd_clmul1_x16_update" in ours
    assert "ghash_avx512_winograd_clmul1_x16_update" not in theirs


def test_feature_that_cannot_be_detected_is_refused() -> None:
    with pytest.raises(GhashgenError, match="needs sve2, which the dispatcher cannot detect"):
        render_dispatch([entry("avx", ("sve2",))])


@pytest.mark.cpu(AS_FOUND)
def test_cpuid_is_asked_once_a_process(tmp_path: Path) -> None:
    files = render_dispatch(SYNTHETIC)
    text = files["ghashgen_dispatch.c"]
    once = "detect_features() & ~"
    assert text.count("detect_features()") == text.count(once) == 1
    assert text.count("detect_host()") == 1
    stdio = '#include <stdio.h>\nstatic const char asked[] = "asked\\n";\n'
    text = stdio + text.replace(once, "(fputs(asked, stdout), detect_features()) & ~")
    program = build({**files, "ghashgen_dispatch.c": text}, tmp_path / "once", symbols=SYMBOLS)
    first, *others = program.ask("best", "ghash", "64")
    assert first == "asked"
    assert len(others) == 3
    assert "asked" not in others


@pytest.mark.cpu
def test_features_taken_away_by_the_environment(synthetic: Program) -> None:
    present = synthetic.features()
    lists = [*FEATURES, "avx512f,vpclmulqdq", "avx,avx2,avx", ",,avx,", ",".join(FEATURES)]
    for off in lists:
        left = synthetic.one("features", **{FEATURES_OFF: off})
        assert set(left.split()) == present - set(off.split(","))
    for ignored in ("", ",", "av", "avx5", "AVX", "avx avx2", "pclmulqdq;avx", "%s%n", "x" * 99999):
        left = synthetic.one("features", **{FEATURES_OFF: ignored})
        assert set(left.split()) == present


@pytest.mark.cpu
def test_a_lesser_cpu_gets_a_lesser_kernel(synthetic: Program) -> None:
    off = {FEATURES_OFF: ",".join(name for name in FEATURES if name not in SSE)}
    expected = "-" if lacking(SSE) else "ghash_sse_winograd_clmul1_x16"
    assert synthetic.ask("best", "ghash", "64", **off)[0] == expected
    nothing = {FEATURES_OFF: ",".join(FEATURES)}
    assert synthetic.ask("best", "ghash", "64", **nothing) == ["-", "-", "-"]
    assert synthetic.run("lengths", "ghash", data=bytes(32), **nothing).returncode == 4


@pytest.mark.cpu(AS_FOUND)
def test_environment_can_be_left_out(synthetic: Program, folder: Path) -> None:
    program = build_stubbed(SYNTHETIC, folder / "silent", "GHASHGEN_NO_ENVIRONMENT")
    everything = program.features()
    assert set(program.one("features", **{FEATURES_OFF: ",".join(FEATURES)}).split()) == everything
    assert "getenv" in undefined(synthetic.object)
    assert "getenv" not in undefined(program.object)


def test_what_is_remembered_is_a_word_and_six_pointers(synthetic: Program) -> None:
    """No allocation, no loading of code, no other state."""
    with synthetic.object.open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert sizes[".text"] > 0
    assert sizes.get(".data", 0) == 0
    assert 4 + 6 * 8 <= sizes[".bss"] <= 96  # with what aligns them
    ours = undefined(synthetic.object)
    kernels = {symbol for symbol in symbols_of(SYNTHETIC) if symbol in ours}
    assert kernels
    by_the_compiler = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    named = {"getenv", "memcmp", "memcpy", "memset", "strcspn", "strlen"}
    assert ours - kernels - by_the_compiler <= named


def test_only_what_may_be_chosen_is_called(checked_in: Program) -> None:
    """A program links a fraction of the catalogue, which the header names."""
    called = {s for s in undefined(checked_in.object) if s.endswith("_update")}
    named = {f"{k}_update" for choice in checked_in.choices() for k in choice.kernels}
    assert called == named
    assert len(called) < len(shipped()) / 4
    header = of_shipped()["ghashgen_dispatch.h"]
    assert all(f"/{name.removesuffix('_update')}\n" in header for name in called)


def test_header_serves_c_and_cpp_alone(folder: Path, synthetic: Program) -> None:
    source = folder / "alone.c"
    source.write_text(
        '#include "ghashgen_dispatch.h"\n#include "ghashgen_dispatch.h"\nstruct ghashgen_key key;\n'
    )
    for language in (("c", "-std=c11"), ("c++", "-std=c++11")):
        flags = ["-x", *language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        subprocess.run(
            [*find_cc().command, *flags, f"-I{synthetic.path.parent}", str(source)], check=True
        )
