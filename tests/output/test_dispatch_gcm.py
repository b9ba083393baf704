"""The dispatcher of AES-GCM takes, on every CPU, a kernel that fits."""

import itertools
import random
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from helpers.dispatching import (
    AVX,
    AVX2,
    AVX512,
    CASCADE_LAKE,
    PIECES,
    SSE,
    ZEN5,
    entry,
    gcm_entry,
    record,
    symbols_of,
)
from helpers.dispatching_gcm import KEYS, SSE4, USES, Program, build

from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice.candidate import candidates
from ghashgen.choice.choice import Chooser
from ghashgen.choice.families.gcm import PARTS
from ghashgen.kernels.manifest import Entry
from ghashgen.output.dispatcher import ABSENT, names_of, render_all, render_dispatch
from ghashgen.records.core import IMIX_BYTES, PIECES_BYTES
from ghashgen.records.core import PIECES as MODES_OF_PIECES
from ghashgen.records.records import Record
from ghashgen.support.toolchain import find_cc

SETS: Mapping[str, tuple[str, ...]] = {
    "sse": SSE4,
    "avx": AVX,
    "avx2": (*AVX2, "vaes"),
    "avx512": (*AVX512, "bmi2", "vaes"),
}
SYNTHETIC = (
    *(gcm_entry(isa, needs, key) for isa, needs in SETS.items() for key in (128, 256)),
    gcm_entry("avx512", SETS["avx512"], blocks=32),
    gcm_entry("avx", AVX, wipe=True),
    *(gcm_entry(isa, SETS[isa], 192, messages=False) for isa in ("sse", "avx")),
    *(gcm_entry(isa, SETS[isa], 128, streams=True) for isa in ("avx", "avx512")),
)
MATTER = tuple(sorted({"aesni", *itertools.chain(*SETS.values())}))
SIZES = (16, 32, 64, 128, 256, 512, 1024, 1500, 4096, 16384, 65536, 1 << 20)
ALL = tuple(sorted({*FEATURES}))


def planted(cpu: str) -> Record:
    """Kernels of x32 are the fastest with long messages, of avx with packets."""
    cells = {}
    for item in SYNTHETIC:
        call = {"avx": 20.0}.get(item.isa, 100.0)
        byte = 0.1 if item.axes["blocks"] == 32 else 0.2
        for size in SIZES:
            for mode in ("seal", "open", "text"):
                cells[item.name, mode, size] = call + byte * size
        if item.axes["streams"]:
            cells |= {(item.name, mode, PIECES_BYTES): call for mode in MODES_OF_PIECES}
        cells[item.name, "imix", IMIX_BYTES] = 12 * call + byte * IMIX_BYTES
    return record(cpu, ALL, cells, keys={item.name: int(item.axes["key"]) for item in SYNTHETIC})


RECORDS = (planted(ZEN5), planted(CASCADE_LAKE))


def stubbed(
    entries: Sequence[Entry], folder: Path, records: Sequence[Record] = (), **changes: str
) -> Program:
    files = render_dispatch(entries, records=records, family="gcm")
    for right, wrong in changes.items():
        assert files["ghashgen_gcm_dispatch.c"].count(right) == 1
        files["ghashgen_gcm_dispatch.c"] = files["ghashgen_gcm_dispatch.c"].replace(right, wrong)
    return build(files, folder, stubs=symbols_of(entries))


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return stubbed(SYNTHETIC, tmp_path_factory.mktemp("gcm") / "synthetic", RECORDS)


def cpus(count: int, hosts: int = 5) -> list[tuple[int, frozenset[str]]]:
    rng = random.Random(7)
    rest = tuple(set(FEATURES) - set(MATTER))
    whole = [
        frozenset(FEATURES),
        frozenset[str](),
        *(frozenset((*n, "aesni")) for n in SETS.values()),
    ]
    some = [
        frozenset((*rng.sample(MATTER, rng.randrange(len(MATTER) + 1)), *rng.choice([(), rest])))
        for _ in range(count)
    ]
    return [(host, have) for have in (*whole, *some) for host in range(hosts)]


def violations(program: Program, hosts: int = 5) -> list[str]:
    """What is wrong with the answers, by what the entries state alone."""
    needs = {item.name: frozenset(item.cpu_features) for item in SYNTHETIC}
    sizes = {item.name: item.axes["key"] for item in SYNTHETIC}
    seals = {item.name for item in SYNTHETIC if "seal" in item.symbols}
    pieces = {item.name for item in SYNTHETIC if set(PIECES) <= item.symbols.keys()}
    out, asked = [], cpus(300, hosts)
    for (host, have), answer in zip(asked, program.found(asked), strict=True):
        for (key, use), name in answer.items():
            able = {n for n in needs if needs[n] <= have and sizes[n] == key}
            able &= {"parts": set(needs), "pieces": pieces}.get(use, seals)
            if bool(name) != bool(able) or (name and name not in able):
                out.append(f"{host} {sorted(have)}: {key} {use}: {name or 'none'}")
    return out


def test_every_choice_fits_the_cpu_the_key_and_the_use(synthetic: Program, tmp_path: Path) -> None:
    assert violations(synthetic) == []
    assert violations(stubbed(SYNTHETIC, tmp_path / "unmeasured"), 3) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(choices[i].needs & ~features) == 0", "((void)features, 1)"),
        ("choices[i].key_bits == key_bits", "((void)key_bits, 1)"),
        ("choices[i].use == use", "((void)use, 1)"),
    ],
)
def test_a_planted_mistake_is_noticed(tmp_path: Path, right: str, wrong: str) -> None:
    assert violations(stubbed(SYNTHETIC, tmp_path / "planted", RECORDS, **{right: wrong}))


def test_c_chooses_as_python_does(synthetic: Program) -> None:
    pool, asked = candidates(SYNTHETIC, "gcm"), cpus(60)
    answers = synthetic.found(asked)
    for key in KEYS:
        chooser = Chooser([c for c in pool if c.given == key], RECORDS)
        assert len(chooser.hosts) == 5
        for (number, have), answer in zip(asked, answers, strict=True):
            for use in USES:
                picks = chooser.picks(chooser.hosts[number], have, use)
                assert answer[key, use.name] == (picks[0].candidate.name if picks else "")


def test_uses_take_their_own_kernels(synthetic: Program) -> None:
    zen5, *_ = synthetic.found([(1, frozenset(FEATURES))])
    assert "_avx_" in zen5[128, "packets"]
    assert "_avx512_winograd_clmul1_x32" in zen5[128, "bulk"]
    assert zen5[128, "pieces"] == "gcm128_avx_winograd_clmul1_x8_streams"
    assert zen5[256, "pieces"] == ""
    assert not any("wipe" in name for name in zen5.values())


def test_no_other_size_of_key_is_taken(synthetic: Program) -> None:
    everything = f"0:{sum(synthetic.bits().values()):x}"
    for size in (0, 15, 17, 31, 33, 64, 1 << 29, (1 << 61) + 16, (1 << 64) - 1):
        assert synthetic.ask("best", 0, size, PLANT=everything) == ["-"]
    assert synthetic.ask("best", 0, 16, PLANT=everything) != ["-"]


def test_what_a_kernel_lacks_is_said(synthetic: Program) -> None:
    """The stubs do nothing, so that only a guarded call has a status."""
    everything = f"0:{sum(synthetic.bits().values()):x}"
    assert synthetic.ask("absent", USES.index(PARTS), 24, PLANT=everything) == [
        f"{ABSENT} {ABSENT}"
    ]
    assert synthetic.run("absent", 0, 24, PLANT=everything).returncode == 4


def test_elsewhere_there_is_no_kernel(tmp_path: Path) -> None:
    files = render_dispatch(SYNTHETIC, family="gcm")
    program = build(files, tmp_path / "elsewhere", flags=("-DELSEWHERE",))
    assert program.ask("best", 0, 16) == ["-"]


def test_both_dispatchers_are_one_program(tmp_path: Path) -> None:
    hashes = [entry("avx", AVX), entry("sse", SSE)]
    files = render_all([*hashes, *SYNTHETIC], "my_ghashgen")
    assert set(files) == {
        "my_ghashgen_dispatch.c",
        "my_ghashgen_dispatch.h",
        "my_ghashgen_gcm_dispatch.c",
        "my_ghashgen_gcm_dispatch.h",
    }
    assert names_of("gcm") == ("ghashgen_gcm_dispatch.h", "ghashgen_gcm_dispatch.c")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    both = '#include "my_ghashgen_dispatch.h"\n#include "my_ghashgen_gcm_dispatch.h"\n'
    lines = [f"void {symbol}(void) {{}}\n" for symbol in symbols_of([*hashes, *SYNTHETIC])]
    (tmp_path / "both.c").write_text(both + "int main(void) { return 0; }\n")
    (tmp_path / "stubs.c").write_text("".join(lines))
    sources = [*(name for name in files if name.endswith(".c")), "both.c", "stubs.c"]
    cc = find_cc()
    subprocess.run(
        [*cc.command, "-std=c11", *sources, "-o", "both"], cwd=tmp_path, check=True, timeout=120
    )
    cxx = shutil.which("c++")
    if cxx:
        subprocess.run(
            [cxx, "-xc++", "-std=c++11", "-Wall", "-Werror", "-c", "both.c"],
            cwd=tmp_path,
            check=True,
            timeout=120,
        )


def test_no_kernel_of_the_family_makes_no_files(tmp_path: Path) -> None:
    assert set(render_all([entry("avx", AVX)])) == set(names_of("hash"))
    assert set(render_all(SYNTHETIC)) == set(names_of("gcm"))
    assert render_dispatch([entry("avx", AVX)], family="gcm") == {}
