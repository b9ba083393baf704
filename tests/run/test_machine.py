"""What compiles and runs programs of an architecture here, and what is said where nothing does."""

import platform
from pathlib import Path

import pytest

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.registry import arches
from ghashgen.run.harness import build
from ghashgen.run.machine import NATIVE, PORTABLE, machine_for
from ghashgen.run.table import PORTABLE_KERNELS
from ghashgen.support.errors import GhashgenError


def test_this_machine_runs_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for arch in arches().values():
        for name in arch.machines:
            monkeypatch.setattr(platform, "machine", lambda name=name: name)
            machine = machine_for(arch)
            assert (machine.name, machine.how, machine.command) == (arch.name, NATIVE, ())
            assert machine_for().name == arch.name


def test_another_cpu_without_tools_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GhashgenError, match="qemu-aarch64 not found"):
        machine_for(arches()["aarch64"])
    with pytest.raises(GhashgenError, match="x86-64 programs cannot be run on riscv64"):
        machine_for(arches()["x86_64"])


def test_a_harness_where_no_architecture_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernels in C are run there; of the convention it says that nothing was checked."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    monkeypatch.delenv(FEATURES_OFF)
    harness = build([], tmp_path)
    assert machine_for().name == PORTABLE
    assert tuple(row.name for row in harness.list()) == PORTABLE_KERNELS
    assert harness.features() == {}
    report = harness.check("ref_ctmul64")
    assert not report.failed
    assert [finding.category for finding in report.unfinished] == ["abi"]
