"""What comparisons measure is right: against pyca/cryptography, and in three updates a message."""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.benching import ANY, left_out, planted
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from helpers.emulating import pooled
from helpers.sharing import shared

from ghashgen.check.validation import cavp
from ghashgen.check.validation.cases import Case, every_length, long_messages, tail_bound
from ghashgen.check.validation.runners import Native, native
from ghashgen.cli.verbs import compare as command
from ghashgen.cli.verbs.options import build_folder, default_out
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.target import target
from ghashgen.lab.bench import bench
from ghashgen.lab.bench.contest import PORTABLE as PORTABLE_C
from ghashgen.lab.bench.families.hash import CONTEST as HASH
from ghashgen.lab.bench.threads import MODE, bench_threads
from ghashgen.lab.compare.registry import studies
from ghashgen.records.core import GCM
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.run.harness import MissingFeatures
from ghashgen.support.errors import GhashgenError

STUDIES = tuple(studies().values())
HASHING = tuple(study for study in STUDIES if study.contest is HASH)
PORTABLE = sorted({name for study in HASHING for name in study.others})
KERNELS = tuple(dict.fromkeys(kernel for study in HASHING for kernel in study.kernels))


@cache
def cases(blocks: int) -> list[Case]:
    """Answers of pyca and of NIST: lengths around the group, long messages, a few records."""
    lengths = list(every_length(tail_bound(blocks)))
    near = [case for i, case in enumerate(lengths) if i < 34 or i % 16 in (0, 1, 15)]
    return [*near, *list(long_messages(blocks))[:4], *cavp.cases()[::97]]


def wrong(got: list[bytes], wanted: list[Case]) -> list[str]:
    return [case.what for case, state in zip(wanted, got, strict=True) if not case.accepts(state)]


def made(folder: Path, name: str, kernels: Iterable[Point]) -> dict[str, Built]:
    """Kernels of studies, made once, where the command finds their objects too."""

    def make() -> dict[str, Built]:
        found = build(tuple(kernels), target(), default_out(), build_folder("obj"))
        return {item.kernel.name: item for item in found}

    return shared(folder, f"kernels_of_{name}", make)


@pytest.fixture(scope="module")
def built(shared_folder: Path) -> dict[str, Built]:
    return made(shared_folder, "hashing", KERNELS)


@pytest.fixture(scope="module")
def runner(built: dict[str, Built], shared_folder: Path) -> Native:
    folder = shared_folder / "studies"
    folder.mkdir(exist_ok=True)
    return shared(folder, "runner", lambda: native(tuple(built.values()), folder))


@pytest.mark.cpu
@pytest.mark.parametrize("name", PORTABLE)
def test_c_agrees_with_pyca(runner: Native, name: str) -> None:
    wanted = cases(1)
    assert wrong(runner.harness.run(name, [case.vector for case in wanted]), wanted) == []


@pytest.mark.cpu(AS_FOUND)
def test_a_wrong_state_is_noticed(runner: Native) -> None:
    wanted = cases(1)
    states = runner.harness.run("ref_branching", [case.vector for case in wanted])
    states[5] = bytes([states[5][0] ^ 1, *states[5][1:]])
    assert wrong(states, wanted) == [wanted[5].what]


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("name", [kernel.name for kernel in KERNELS])
def test_a_kernel_agrees_with_pyca(runner: Native, built: dict[str, Built], name: str) -> None:
    """Natively where the CPU can, else emulated."""
    item = built[name]
    present = runner.harness.features()
    missing = [name for name in item.features if not present[name]]
    assert set(missing) == set(lacking(item.features))
    wanted = cases(item.kernel.blocks)
    vectors = [case.vector for case in wanted]
    if not missing:
        assert wrong(runner.updates(item, vectors), wanted) == []
        return
    with pytest.raises(MissingFeatures):
        runner.updates(item, vectors)
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    with Emulator() as emulator:
        few = wanted[::8]
        assert wrong(pooled(emulator).updates(item, [case.vector for case in few]), few) == []


# One byte of the state is changed, but only by an update of 12 bytes.
WRONG_AT_12 = "    cmp rcx, 12\n    jne .fine\n    xor byte [rsi], 1\n.fine:\n"


@pytest.mark.cpu
def test_the_three_updates_of_a_message_are_checked(tmp_path: Path, as_cpu: str) -> None:
    kernel = planted(tmp_path, "wrong12", WRONG_AT_12)
    if left_out(as_cpu, kernel, tmp_path):
        return
    once = bench([kernel], (), (16,), ("throughput",), 1, effort=ANY)
    assert once.cell("wrong12", 16, "throughput") is not None
    with pytest.raises(GhashgenError, match="wrong12 gives a wrong GHASH"):
        bench([kernel], (), (16,), (GCM,), 1, effort=ANY)
    right = planted(tmp_path, "right", "")
    found = bench([right], (), (16,), (GCM,), 1, effort=ANY)
    assert found.cell("right", 16, GCM) is not None


@pytest.mark.cpu
def test_what_threads_hash_is_checked(tmp_path: Path, as_cpu: str) -> None:
    kernel = planted(tmp_path, "wrong12", WRONG_AT_12)
    if left_out(as_cpu, kernel, tmp_path):
        found = bench_threads([kernel], (), (12,), None, 1, effort=ANY, only=["wrong12 one 1"])
        assert found.missing["wrong12 one 1"].startswith("this CPU lacks ")
        return
    for way in ("one 1", "spawn 2", "pool 3"):
        with pytest.raises(GhashgenError, match=f"wrong12 {way} gives a wrong result"):
            bench_threads([kernel], (), (12,), None, 1, effort=ANY, only=[f"wrong12 {way}"])
    right = planted(tmp_path, "right", "")
    found = bench_threads([right], (), (12,), None, 1, effort=ANY, only=["right pool 3"])
    assert found.cell("right pool 3", 12, MODE) is not None


@pytest.mark.cpu
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_the_command_measures_every_row(
    study: command.Study, monkeypatch: pytest.MonkeyPatch, shared_folder: Path, as_cpu: str
) -> None:
    """Or refuses a study of which the CPU can run nothing."""
    monkeypatch.setattr(command, "QUICK", ANY)
    built = made(shared_folder, study.name, study.kernels)
    # What is built is the same on every CPU, and the command builds one study like another.
    if as_cpu != AS_FOUND or study.name == "tls":
        monkeypatch.setattr(command, "build", lambda ks, *rest: tuple(built[k.name] for k in ks))
    options = [study.name, "--quick", "--sizes", "16", "--json"]
    able = [k for k in study.kernels if not lacking(built[k.name].features)]
    able = [k for k in able if study.mode != "seal" or "seal" in functions_of(k)]
    result = CliRunner().invoke(command.COMMAND, options)
    if isinstance(result.exception, GhashgenError):
        refused = r"none of the .* (this CPU lacks|no function of it is) "
        assert re.match(refused, str(result.exception))
        assert not able
        assert PORTABLE_C not in study.others.values()
        return
    assert able or study.others
    assert result.exit_code == 0
    assert "Ctrl-C stops" in result.stderr
    assert ("each size waits up to" in result.stderr) == (study.mode != MODE)
    rows = json.loads(result.stdout)["rows"]
    assert [(row["group"], row["label"]) for row in rows] == [
        (group.title, variant.label) for group in study.groups for variant in group.variants
    ]
    for row in rows:
        assert bool(row["figures"]) != bool(row["missing"])
        assert all(found["cycles"] > 0 and found["size"] == 16 for found in row["figures"])
    assert any(row["figures"] for row in rows)
