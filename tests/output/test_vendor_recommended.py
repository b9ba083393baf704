"""`vendor --recommended`: the kernels for servers that nobody knows, by the one query."""

from pathlib import Path

import pytest
from helpers.verbs import called, refused

from ghashgen.choice.candidate import Candidate, candidates, levels
from ghashgen.choice.choice import Chooser
from ghashgen.choice.families.registry import questions
from ghashgen.cli.verbs.recommend import kernels_for_every_cpu
from ghashgen.kernels import manifest
from ghashgen.kernels.selection import Choice
from ghashgen.output import vendored
from ghashgen.output.dispatcher import recorded
from ghashgen.support.paths import project_root

pytestmark = pytest.mark.usefixtures("own_cache")

GCM = questions()["gcm"]
ISAS = ("sse", "avx", "avx2", "avx512")
COUNTERS = ("--family", "ctr", "--key", "128")


@pytest.fixture(scope="module")
def every() -> tuple[Candidate, ...]:
    entries = manifest.load(project_root() / "generated").values()
    return candidates(entries, "gcm")


@pytest.mark.parametrize("key", GCM.values)
@pytest.mark.parametrize("use", [use.name for use in GCM.dispatched if use.name != "pieces"])
def test_it_is_what_the_whole_catalogue_gives_an_unknown_cpu(
    every: tuple[Candidate, ...], key: int, use: str
) -> None:
    names = {kernel.name for kernel in kernels_for_every_cpu(Choice(key=(key,)), use)}
    pool = [one for one in every if one.given == key and one.abi == "sysv"]
    whole = Chooser(pool, recorded("gcm"))
    folder = Chooser([one for one in pool if one.name in names], recorded("gcm"))
    unknown, taken = whole.hosts[-1], set()
    assert unknown.vendor == ""
    for level in levels(pool):
        (want,) = whole.picks(unknown, level, GCM.use(use))
        (have,) = folder.picks(unknown, level, GCM.use(use))
        assert have.candidate == want.candidate
        taken.add(want.candidate)
    assert {one.name for one in taken} == names
    assert sorted(one.isa for one in taken) == sorted(ISAS)


def test_other_options_narrow_it() -> None:
    two = kernels_for_every_cpu(Choice(key=(128, 256), isa=("sse", "avx")), "records")
    assert {(k.instruction_set.name, k.family) for k in two} == {("sse", "gcm"), ("avx", "gcm")}
    assert len(two) == 4
    (wipes,) = kernels_for_every_cpu(Choice(key=(128,), isa=("avx",), wipe=(True,)), "parts")
    assert wipes.name == "gcm128_avx_winograd_clmul1_x8_wipe"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--use", "mixed", "--key", 128), "--use needs --recommended or --host; add one"),
        (("--use", "mixed"), "--use needs a choice of kernels"),
        (("--recommended", "--op", "ghash", "--use", "mixed"), "family hash has no use 'mixed'"),
        (("--recommended", "--key", 128, "--use", "once"), "does not know use once; choose mixed"),
        (
            ("--recommended", "--key", 192, "--use", "pieces"),
            "no kernel that you chose for key 192",
        ),
        (("--recommended", "--family", "gcm", "--family", "ctr"), "give one --family"),
        (("--recommended", "--key", 128, "--op", "ghash"), "no family of kernels has both"),
        (
            ("--recommended", "--key", 128, "--isa", "avx", "--multiply", "karatsuba"),
            "takes kernels of the catalogue, and gcm128_avx_karatsuba",
        ),
    ],
)
def test_a_wrong_call_is_refused(tmp_path: Path, words: tuple[object, ...], said: str) -> None:
    (tmp_path / "there").mkdir()
    if words == ("--use", "mixed"):
        called("vendor", "--into", tmp_path / "there", "--name", "ghash_sse_k_clmul1_x1")
    before = sorted(tmp_path.rglob("*"))
    assert said in refused("vendor", "--into", tmp_path / "there", *words)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_is_remade_and_grows(tmp_path: Path) -> None:
    found = called("vendor", "--into", tmp_path, "--recommended", *COUNTERS, "--isa", "sse")
    assert "proved already, in PROOFS.json: 1 of 1 kernel" in found.stderr
    # One kernel, and still what checks the CPU.
    assert (tmp_path / "ghashgen_ctr_dispatch.c").exists()
    record = vendored.read(tmp_path)
    assert record is not None
    assert record.options == (*COUNTERS[:2], "--isa", "sse", *COUNTERS[2:], "--recommended")
    assert "11 unchanged" in called("vendor", "--into", tmp_path).stdout
    called("vendor", "--into", tmp_path, "--add", "--recommended", *COUNTERS, "--isa", "avx")
    record = vendored.read(tmp_path)
    assert record is not None
    *named, last = record.options
    # What is left of --recommended when each kernel is named.
    assert last == "--dispatcher"
    names = [word for word in named if word != "--name"]
    assert [name.split("_")[1] for name in names] == ["sse", "avx"]
    text = (tmp_path / "VENDORED").read_text()
    assert text.count("called by   ghashgen_ctr_dispatch.c") == 2
