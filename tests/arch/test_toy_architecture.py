"""A third architecture from two folders: arch/NAME and harness/NAME. No file outside is edited."""

import json
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.plugging import TOYS, plugged
from helpers.verbs import refused

from ghashgen import arch as arch_package
from ghashgen.arch.core import Arch
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.registry import arches, isas, syntaxes
from ghashgen.check.validation.runners import native
from ghashgen.check.validation.validate import validate
from ghashgen.cli.machine import examine
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.output.generate import generate
from ghashgen.run import harness as harness_module
from ghashgen.run.built import build as built_kernels
from ghashgen.run.harness import MissingFeatures
from ghashgen.run.machine import NATIVE, machine_for
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, find_assembler

SHIPPED = ["aarch64", "x86_64"]


def test_the_toy_is_not_there_by_itself() -> None:
    assert list(arches()) == SHIPPED


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Arch]:
    for _ in plugged(arch_package, TOYS / "arch", monkeypatch):
        assert list(arches()) == sorted([*SHIPPED, "toy_arch"])
        yield arches()["toy_arch"]


def kernel() -> Kernel:
    return Kernel("toy", "winograd", "clmul1", 4, wipe=True)


@pytest.fixture
def assembler(toy: Arch) -> Tool:
    """The host's assembler, as the toy knows it."""
    try:
        return find_assembler(syntaxes(toy.name)["toy"].assembler)
    except GhashgenError as missing:
        pytest.skip(str(missing))


def test_its_parts_are_found(toy: Arch) -> None:
    assert list(isas(toy.name)) == ["toy"]
    assert isas()["toy"].arch is toy
    assert list(syntaxes(toy.name)) == ["toy"]


def test_it_generates_and_audits(toy: Arch, assembler: Tool, tmp_path: Path) -> None:
    where = target(arch=toy.name)
    output = generate((kernel(),), where, tmp_path)
    assert sorted(output.files) == ["MANIFEST.json", "ghashgen.h", f"toy/{kernel().name}.toy"]
    (entry,) = json.loads(output.files["MANIFEST.json"])["kernels"]
    assert entry["proved"] is False
    assert entry["object"]["assembler"] == f"as of the toy {assembler.version}"
    assert entry["axes"]["syntax"] == "toy"
    assert ".note.gnu.property" not in output.files[f"toy/{kernel().name}.toy"]
    # The instructions are x86-64's, and so are what is counted and what is left behind.
    own = Kernel("avx", "winograd", "clmul1", 4, wipe=True)
    theirs = make(own, target(syntax="gas-att"), _x86()).audit
    made = make(kernel(), where, assembler).audit
    assert (made.group, made.single, made.left) == (theirs.group, theirs.single, theirs.left)


def _x86() -> Tool:
    return find_assembler(syntaxes()["gas-att"].assembler)


def test_it_is_refused_in_a_line_where_nothing_runs_or_proves_it(toy: Arch, tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match="qemu-toy64 not found"):
        machine_for(toy)
    findings = {finding.item: finding for finding in examine(tmp_path)}
    assert "qemu-toy64 not found" in findings["Toy"].remedy
    assert findings["GNU as or Clang for toy64"].needed_for == "Toy: --syntax toy"
    assert "Toy" in refused("prove", "--isa", "toy", "--blocks", "4")


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the toy's code is x86-64's"
)
def test_its_kernels_run_on_a_machine_of_its_own(
    toy: Arch, assembler: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(project_root() / "harness", root / "harness")
    shutil.copytree(root / "harness" / "x86_64", root / "harness" / toy.name)
    for module in (harness_module, programs):
        monkeypatch.setattr(module, "project_root", lambda: root)
    monkeypatch.delenv(FEATURES_OFF)
    monkeypatch.setattr(platform, "machine", lambda: "toy64")
    assert machine_for(toy).how == NATIVE
    (built,) = built_kernels((kernel(),), target(arch=toy.name), tmp_path / "none", tmp_path)
    runner = native((built,), tmp_path)
    assert list(runner.harness.features()) == list(toy.features)
    if not all(runner.harness.features()[name] for name in built.features):
        with pytest.raises(MissingFeatures):
            runner.check(built)
        return
    (result,) = validate((built,), lambda item: runner)
    assert result.failures == ()
