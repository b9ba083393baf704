"""Tuning of AES-GCM: uses, sizes of keys, peers by key, the model. No timing decides a test."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from helpers.cpus import features, lacking, too_little
from helpers.tuning import COARSE, FINE, Fake, host, known
from helpers.verbs import called, refused

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice.chosen import MODEL, Chosen, dump, load
from ghashgen.choice.classes import SizeClass
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import brought
from ghashgen.kernels.gcm.catalogue import catalogue
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import target
from ghashgen.lab.bench.contest import contests
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.choose import chosen, decide
from ghashgen.lab.tune.goals import cells_of, goals, modes_of, sizes_to_measure
from ghashgen.lab.tune.measure import Batch, describe, measure
from ghashgen.lab.tune.rank import rank
from ghashgen.lab.tune.space import Candidate, space
from ghashgen.lab.tune.sweep import Here, Plan, sweep
from ghashgen.lab.tune.table import rows
from ghashgen.output.artefact import make, sha256
from ghashgen.records.core import IMIX_BYTES
from ghashgen.run.harness import MissingFeatures
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text

GOAL = goals()["gcm"]
MIXED, PACKETS, _, _, PARTS, _ = GOAL.uses
NEEDS = ("aesni", "avx", "pclmulqdq")
KERNELS = tuple(
    GcmKernel(key, isa, "winograd", "clmul1", blocks)
    for key in (128, 256)
    for isa in ("sse", "avx")
    for blocks in (4, 8)
)
CANDIDATES = tuple(known(kernel, NEEDS) for kernel in KERNELS)
HERE = host("a CPU", tuple(FEATURES))
PLAN = Plan(uses=(PACKETS, PARTS), coarse=COARSE, fine=FINE, finalists=1)


def cycles(name: str, size: int) -> float:
    """Eight blocks are faster on avx, four on sse."""
    return size * (2.0 if name.endswith("x8") is ("_avx_" in name) else 3.0)


def real(kernel: GcmKernel) -> Candidate:
    """A candidate with its object."""
    made = make(kernel, target(), find_nasm())
    obj = assemble_text(find_nasm(), kernel.name, made.text, "elf64")
    found = known(kernel, made.audit.features, sha256(made.code))
    align = kernel.instruction_set.operand_align
    return replace(found, unit=replace(found.unit, obj=obj, table_align=align))


def test_every_family_that_is_measured_has_a_goal_and_calls() -> None:
    assert goals().keys() == brought("calls").keys() <= contests().keys()


def test_what_a_use_is_measured_by() -> None:
    assert cells_of((PACKETS,)) == (("imix", IMIX_BYTES),)
    assert modes_of((PACKETS,)) == ("imix",)
    assert sizes_to_measure((PACKETS,)) == (16,)
    assert modes_of(GOAL.uses) == ("seal", "open", "imix", "text")
    assert {("open", 1 << 20), ("seal", 16), ("text", 1500)} < set(cells_of(GOAL.uses))
    assert modes_of(goals()["hash"].uses) == ("gcm", "throughput", "latency", "init")
    assert GOAL.only(["parts", "mixed", "parts"]) == (PARTS, MIXED)
    with pytest.raises(GhashgenError, match="family gcm for the use 'lasting'"):
        GOAL.only(["lasting"])


def test_the_space_keeps_key_and_promises() -> None:
    narrow = space(Choice(isa=("avx",)), "catalogue", GOAL)
    alike = [k for k in catalogue() if k.isa == "avx"]
    assert set(narrow) == {
        k for k in alike if all(getattr(k, axis) == value for axis, value in GOAL.fixed.items())
    }
    assert len(narrow) < len(alike)
    wide = space(Choice(isa=("avx",), key=(192,)), "wide", GOAL)
    assert {k.blocks for k in wide} == set(range(1, 9))
    points = [k for k in wide if isinstance(k, GcmKernel)]
    assert {(k.key, k.wipe, k.messages, k.streams) for k in points} == {(192, False, True, False)}
    assert {k.stitch for k in points} == {True}
    (only,) = (k for k in catalogue() if (k.isa, k.key) == ("avx", 192))
    away = [
        sum(getattr(k, f.name) != getattr(only, f.name) for f in fields(GcmKernel)) for k in wide
    ]
    assert sorted(away)[:2] == [0, 1]
    assert max(away) == 1


def test_each_use_and_size_of_key_has_its_own_best(tmp_path: Path) -> None:
    fake = Fake(HERE, cycles)
    with open_store(tmp_path / "s.sqlite") as store:
        swept = sweep(CANDIDATES, Here(HERE, fake), store, PLAN)
        found = decide(CANDIDATES, [HERE], store, (FINE, COARSE), PLAN.uses)
        assert swept.failures == []
        assert sweep(CANDIDATES, Here(HERE, fake), store, PLAN).measured == 0
    # Finalists of one size of key and set meet in one process.
    fine = [units for stage, units in fake.asked if stage == "fine"]
    assert [len(units) for units in fine] == [1, 1, 1, 1]
    assert [(d.use.name, d.given, d.isa, d.winner.kernel.blocks) for d in found] == [
        (use, key, isa, {"sse": 4, "avx": 8}[isa])
        for use in ("packets", "parts")
        for key in (128, 256)
        for isa in ("sse", "avx")
    ]
    assert {d.fill_at for d in found} == {0}
    made = chosen(found)
    assert [(s.use, s.picks[0].kernel.name) for s in made.sets] == [
        (use, f"gcm{key}_{isa}_winograd_clmul1_x{blocks}")
        for use in ("packets", "parts")
        for key in (128, 256)
        # A tie keeps the convention's order.
        for isa, blocks in (("avx", 8), ("sse", 4))
    ]
    table = rows(found, "measured")
    assert table.columns[:2] == (">key", "use")
    assert table.rows[0][:3] == ("128", "packets", "sse")
    assert all(len(row) == len(table.columns) for row in table.rows)
    path = tmp_path / "chosen.json"
    path.write_text(dump(made), encoding="utf-8")
    assert load(path) == made


def test_a_peer_is_compared_at_its_size_of_key(tmp_path: Path) -> None:
    """A figure of another size of key, in the same store, is no peer's."""
    with open_store(tmp_path / "s.sqlite") as store:
        for key, peer in ((128, "fast_128"), (256, "slow_256")):
            own = tuple(c for c in CANDIDATES if c.unit.given == key)
            each = Fake(HERE, cycles, {peer: 0.1 if key == 128 else 10.0})
            sweep(own, Here(HERE, each), store, PLAN)
        found = decide(CANDIDATES, [HERE], store, (FINE, COARSE), PLAN.uses)
    assert {(d.given, d.peer) for d in found} == {(128, "fast_128"), (256, "slow_256")}


def test_a_kernel_without_a_function_is_not_asked_for_it(tmp_path: Path) -> None:
    text = known(replace(KERNELS[-1], messages=False), NEEDS)
    with open_store(tmp_path / "s.sqlite") as store:
        swept = sweep((text,), Here(HERE, Fake(HERE, cycles)), store, PLAN)
        assert swept.failures == []
        found = decide((text,), [HERE], store, (FINE, COARSE), (PARTS,))
    assert [d.use for d in found] == [PARTS]


def test_the_model_ranks_aes_gcm() -> None:
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    items = [real(KERNELS[3])]
    few = (SizeClass(None, (16, 600, 1 << 20)),)
    uses = (replace(MIXED, classes=few), PACKETS, replace(PARTS, classes=few))
    found, unranked = rank(items, "skylake-avx512", uses)
    assert unranked == {}
    assert [(d.basis, d.use.name, d.given) for d in found] == [
        (MODEL, use.name, 128) for use in uses
    ]
    # Ten rounds a block share one port: a bound that no kernel can beat.
    packets = found[1]
    blocks = sum(n * -(-size // 16) for size, n in ((64, 7), (594, 4), (1518, 1)))
    assert packets.cycles >= 10 * blocks


def refuse(batch: Batch) -> None:
    with pytest.raises(GhashgenError, match="cannot run on"):
        measure(batch)
    raise MissingFeatures("refused", lacking(batch.units[0].needs))


@pytest.mark.cpu
def test_a_batch_of_aes_gcm_is_measured(as_cpu: str) -> None:
    item = real(KERNELS[3])
    batch = Batch(COARSE, (item.unit,), (48,), ("open", "imix"))
    if too_little(as_cpu, item.unit.needs, lambda: refuse(batch)):
        return
    here = describe()
    assert set(here.features) == features()
    measured = measure(batch)
    ours = {(c.mode, c.size) for c in measured.cells if c.name == item.unit.name}
    assert ours == {("open", 48), ("imix", IMIX_BYTES)}
    assert {s.key for s in measured.subjects.values()} == {128}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--name", "*_avx_*_x8"], "you chose gcm and hash"),
        (["--family", "gcm", "--use", "lasting"], "tune chooses no kernel of family gcm"),
        (["--isa", "avx", "--use", "bulk"], "tune chooses no kernel of family hash"),
        (["--family", "gcm", "--op", "ghash"], "kernels of family gcm have no axis 'op'"),
    ],
)
def test_what_the_command_refuses(tmp_path: Path, arguments: list[str], why: str) -> None:
    store = tmp_path / "s.sqlite"
    assert why in refused("tune", *arguments, "--store", str(store))
    assert not store.exists()


def test_the_command_tunes_aes_gcm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.cli.verbs.tune.describe", lambda: HERE)
    fake = Fake(HERE, cycles)
    monkeypatch.setattr("ghashgen.cli.verbs.tune.measure", lambda batch, core: fake(batch))
    path = tmp_path / "chosen.json"
    arguments = ["--key", "192", "--isa", "sse", "--isa", "avx", "--use", "bulk", "--use", "parts"]
    arguments += ["--store", str(tmp_path / "s.sqlite"), "--write", str(path)]
    result = called("tune", *arguments)
    assert "chosen set of 2 of avx (measured), 2 of sse (measured)" in result.output
    made: Chosen = load(path)
    kernels: set[Point] = set(made.kernels)
    assert kernels == {k for k in catalogue() if k.key == 192 and k.isa in ("sse", "avx")}
    assert [s.use for s in made.sets] == ["bulk", "bulk", "parts", "parts"]
