"""What the tests are run as: the mask reaches whoever asks, and who asks unmarked is found out."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.benching import output
from helpers.cpus import AS_FOUND, CPUS, KEPT, UNMARKED, features, lacking, masked

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.check.validation.runners import native
from ghashgen.cli.machine import examine
from ghashgen.cli.verbs.options import default_out
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.lab.bench.build import build as build_bench
from ghashgen.lab.tune.measure import describe
from ghashgen.run.built import build as build_kernels
from ghashgen.run.harness import MissingFeatures, Vector
from ghashgen.run.harness import build as build_harness
from ghashgen.support.errors import GhashgenError

TESTS = Path(__file__).parents[1]


def by_harness(folder: Path) -> set[str]:
    found = build_harness([], folder).features()
    return {name for name, there in found.items() if there}


def by_bench(folder: Path) -> set[str]:
    program = build_bench([], (), folder).path
    return set(json.loads(output([str(program)]).splitlines()[0])["features"])


def by_tune(folder: Path) -> set[str]:
    return set(describe().features)


ASKED: dict[str, Callable[[Path], set[str]]] = {
    "harness": by_harness,
    "bench": by_bench,
    "tune": by_tune,
}


@pytest.mark.cpu
@pytest.mark.parametrize("who", ASKED)
def test_the_mask_reaches_whoever_asks(who: str, harness_folder: Path, as_cpu: str) -> None:
    found = ASKED[who](harness_folder)
    assert found == features()
    assert found <= set(KEPT[as_cpu])


@pytest.mark.cpu
def test_doctor_says_which_kernels_run_natively(harness_folder: Path) -> None:
    found = {item.item: item for item in examine(harness_folder)}
    for isa, needs in {"sse": ("sse2", "ssse3", "pclmulqdq"), "avx": ("avx", "pclmulqdq")}.items():
        lacks = set(lacking(needs))
        assert lacks <= set(
            found[f"cpu: {isa}, hash"].remedy.replace(",", "").replace(":", "").split()
        )
        assert not (lacks and found[f"cpu: {isa}, hash"].ok)


@pytest.mark.cpu
def test_a_kernel_is_refused_for_what_is_masked(tmp_path: Path, harness_folder: Path) -> None:
    kernels = choose_of(Kernel, Choice(name=("ghash_sse_k_clmul1_x1", "ghash_avx512_k_clmul1_x4")))
    made = build_kernels(kernels, target(), default_out(), tmp_path)
    here = native(made, harness_folder)
    for item in made:
        vectors = [Vector(bytes(16), bytes(16), (bytes(16),))]
        if lacks := set(lacking(item.features)):
            with pytest.raises(MissingFeatures) as refusal:
                here.updates(item, vectors)
            assert set(refusal.value.features) == lacks
        else:
            assert here.updates(item, vectors) == [bytes(16)]


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("name", ["avx5", "AVX", " avx", "avx avx2", UNMARKED])
def test_a_mask_that_names_no_feature_is_refused(
    name: str, harness_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = f"{FEATURES_OFF} names '{name}', which is not a CPU feature known here"
    monkeypatch.setenv(FEATURES_OFF, f"avx,{name}")
    for ask in ASKED.values():
        with pytest.raises((GhashgenError, subprocess.CalledProcessError)) as refusal:
            ask(harness_folder)
        assert words in str(getattr(refusal.value, "stderr", None) or refusal.value)


@pytest.mark.cpu(AS_FOUND)
def test_empty_names_are_none(harness_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = by_harness(harness_folder)
    monkeypatch.setenv(FEATURES_OFF, masked(",", "avx,"))
    assert by_harness(harness_folder) == present - {"avx"}


def test_each_lesser_cpu_lacks_more_than_the_one_before() -> None:
    kept = [set(KEPT[cpu]) for cpu in CPUS]
    assert kept[0] == set(FEATURES)
    assert all(lesser < more for more, lesser in pairwise(kept))


LOOKS = """
from pathlib import Path
import os, subprocess, sys
import pytest
from helpers.cpus import features
from helpers.dispatching import Program
from ghashgen.run.harness import build
from ghashgen.support.paths import project_root

HARNESS = project_root() / "build" / "harness"

@pytest.fixture(scope="module")
def outlives():
    return build([], HARNESS).features()

def test_in_this_process():
    build([], HARNESS).features()

def test_in_another():
    done = subprocess.run([sys.executable, "-m", "ghashgen", "validate", "--name",
                           "ghash_sse_k_clmul1_x1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

def test_by_a_dispatcher():
    Program(Path("none"), Path("none")).ask("best")

@pytest.mark.cpu
def test_in_a_fixture(outlives):
    pass

def test_that_does_not():
    pass

@pytest.mark.cpu
def test_marked(as_cpu):
    with open("seen", "a") as seen:
        print(as_cpu, *sorted(features()), file=seen)

@pytest.mark.cpu("sse")
def test_marked_for_one(as_cpu):
    assert as_cpu == "sse"
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_test_that_looks_without_the_marker_fails(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    """Tests of tests, in a process of their own that begins with this machine as it is."""
    (tmp_path / "test_looks.py").write_text(LOOKS)
    conftest = (TESTS / "conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = cpu: looks at the CPU\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    env[FEATURES_OFF] = "gfni"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--thorough",
            *workers,
            "-p",
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("3 failed, 6 passed, 4 errors in "), done.stdout
    summary = [line.partition(" - ")[0].partition("::")[2] for line in done.stdout.splitlines()
               if line.startswith("PASSED")]  # fmt: skip
    assert sorted(summary) == sorted(
        ["test_that_does_not", "test_marked_for_one[sse]", *(f"test_marked[{c}]" for c in CPUS)]
    )
    assert f"names '{UNMARKED}', which is not a CPU feature" in done.stdout
    lines = (tmp_path / "seen").read_text().splitlines()
    seen = {cpu: set(found) for cpu, *found in map(str.split, lines)}
    assert set(seen) == set(CPUS)
    assert all(found <= set(KEPT[cpu]) - {"gfni"} for cpu, found in seen.items())
    assert "gfni" not in seen[AS_FOUND]
