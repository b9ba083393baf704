"""llvm-mca beside the tables: which one is taken, what it answers, what is said without it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.port_loops import KERNELS, clmul, group, shuffle
from helpers.verbs import called
from iced_x86 import Register

from ghashgen.arch.registry import uarches
from ghashgen.cli.verbs.audit import COMMAND
from ghashgen.cost.ports import Loop, parse, port_audit
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_llvm_mca


def fake(folder: Path, name: str, version: str, script: str = "exit 1") -> None:
    path = folder / name
    says = f'case "$*" in *--version*) echo "LLVM version {version}"; exit;; esac'
    path.write_text(f"#!/bin/sh\n{says}\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole path, apart from the shell's own tools."""
    monkeypatch.delenv("GHASHGEN_LLVM_MCA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in ("grep", "cat"):
        found = shutil.which(tool, path="/usr/bin:/bin")
        assert found
        (tmp_path / tool).symlink_to(found)
    return tmp_path


@pytest.mark.usefixtures("only")
def test_missing_llvm_mca_is_said_and_the_table_still_answers() -> None:
    result = port_audit([Loop("toy", 1, (clmul(), shuffle()))])
    assert result.llvm_mca == ""
    assert "llvm-mca not found" in result.missing
    assert "apt-get install llvm" in result.missing
    by_name = {item.uarch: item for item in result.pressures["toy"]}
    assert by_name["skylake-avx512"].bound.ports == 2.0
    assert all(item.model is None for item in by_name.values())
    assert "llvm-mca: no data (not found)" in by_name["zen4"].notes
    assert by_name["zen4"].as_json()["llvm_mca"] == {"no_data": "not found"}


@pytest.mark.usefixtures("only")
def test_what_binds_a_loop_and_how_far_its_order_is_from_that() -> None:
    """Products that wait for nothing, and one that waits for itself."""
    loops = {
        "ports": [clmul(Register.XMM1, Register.XMM2), clmul(Register.XMM3, Register.XMM4)],
        "chain": [clmul(Register.XMM1, Register.XMM1)],
    }
    given = [Loop(name, 1, tuple(body)) for name, body in loops.items()]
    found = {
        name: next(item for item in items if item.uarch == "skylake-avx512")
        for name, items in port_audit(given).pressures.items()
    }
    for name in ("ports", "chain"):
        assert found[name].binds == name
        assert found[name].over == pytest.approx(0, abs=0.05)
        assert found[name].as_json()["simulated"]["binds"] == name
    # A slower core than the bound is said to be over it.
    slow = replace(found["chain"], path=replace(found["chain"].path, carried=1.0))
    assert (slow.binds, slow.over and round(slow.over)) == ("ports", 6)


def test_the_newest_llvm_mca_is_taken(only: Path) -> None:
    fake(only, "llvm-mca", "14.0.6")
    fake(only, "llvm-mca-19", "19.1.7")
    fake(only, "llvm-mca-16", "16.0.6")
    assert find_llvm_mca().version == "19.1.7"


def test_llvm_mca_named_in_the_environment_is_not_replaced(
    only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(only, "llvm-mca", "19.1.7")
    monkeypatch.setenv("GHASHGEN_LLVM_MCA", "nonesuch")
    with pytest.raises(GhashgenError, match="nonesuch"):
        find_llvm_mca()


def answer(resource: str, *names: str) -> str:
    region = {
        "Instructions": ["a"],
        "SummaryView": {"BlockRThroughput": 3.5},
        "ResourcePressureView": {
            "ResourcePressureInfo": [
                {"InstructionIndex": 0, "ResourceIndex": 0, "ResourceUsage": 9},
                {"InstructionIndex": 1, "ResourceIndex": 0, "ResourceUsage": 1},
                {"InstructionIndex": 1, "ResourceIndex": 1, "ResourceUsage": 2.25},
            ]
        },
    }
    regions = [{"Name": name, **region} for name in names]
    resources = [f"{resource}0", f"{resource}.\x01"]
    return json.dumps({"TargetInfo": {"Resources": resources}, "CodeRegions": regions})


def test_the_total_and_its_busiest_resource_are_read() -> None:
    names, models = parse(answer("SKXPort", "toy"))
    assert names == ("SKXPort0", "SKXPort.1")
    assert models["toy"].reciprocal_throughput == 3.5
    assert (models["toy"].busiest, models["toy"].pressure) == ("SKXPort.1", 2.25)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"TargetInfo": {"Resources": []}}'])
def test_another_form_of_answer_is_refused(text: str) -> None:
    with pytest.raises(GhashgenError, match="llvm-mca"):
        parse(text)


def test_a_borrowed_model_and_an_unknown_cpu_are_no_data(only: Path) -> None:
    (only / "answer.json").write_text(answer("SKXPort", "toy"))
    script = f"""case "$*" in *znver4*)
  echo "'znver4' is not a recognized processor for this target (ignoring processor)" >&2;; esac
cat {only}/answer.json"""
    fake(only, "llvm-mca", "14.0.6", script)
    result = port_audit([Loop("toy", 2, (clmul(),))])
    items = {item.uarch: item for item in result.pressures["toy"]}
    assert result.llvm_mca == "14.0.6"
    assert items["skylake-avx512"].model is not None
    assert items["skylake-avx512"].as_json()["llvm_mca"]["cycles_per_block"] == 1.75
    assert "another CPU's model" in items["sapphirerapids"].no_model
    assert "not a recognized processor" in items["zen4"].no_model


def test_one_refused_loop_does_not_spoil_the_others(only: Path) -> None:
    (only / "answer.json").write_text(answer("SKXPort", "good"))
    script = f"""for source; do :; done
if grep -q BEGIN.bad "$source"; then echo "error: unsupported instruction" >&2; exit 1; fi
cat {only}/answer.json"""
    fake(only, "llvm-mca", "19.1.7", script)
    result = port_audit([Loop("good", 1, (clmul(),)), Loop("bad", 1, (clmul(),))])
    at = [item.uarch for item in result.pressures["good"]].index("skylake-avx512")
    assert result.pressures["good"][at].model is not None
    assert result.pressures["bad"][at].no_model == "error: unsupported instruction"


@pytest.fixture(scope="module")
def wide() -> Loop:
    """The loop of a kernel on zmm; assembled before the path is emptied."""
    return group(KERNELS[3])


def test_what_the_cpu_lacks_has_no_bound_though_the_model_accepts_it(
    wide: Loop, only: Path
) -> None:
    (only / "answer.json").write_text(answer("SKXPort", wide.name))
    fake(only, "llvm-mca", "19.1.7", f"cat {only}/answer.json")
    items = {item.uarch: item for item in port_audit([wide]).pressures[wide.name]}
    assert "model accepts, CPU lacks GFNI, VPCLMULQDQ" in items["skylake-avx512"].notes
    figures = items["skylake-avx512"].as_json()
    assert "cycles_per_group" not in figures["table"]
    assert figures["llvm_mca"]["cycles_per_group"] == 3.5


def test_llvm_agrees_on_the_winograd_loop() -> None:
    try:
        find_llvm_mca()
    except GhashgenError as missing:
        pytest.skip(str(missing))
    loop = group(KERNELS[0])
    items = {item.uarch: item for item in port_audit([loop]).pressures[loop.name]}
    model = items["skylake-avx512"].model
    assert model is not None
    assert (model.reciprocal_throughput, model.busiest) == (66.0, "SKXPort5")


def test_audit_shows_ports_without_llvm_mca(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHASHGEN_LLVM_MCA", "nonesuch")
    chosen = ["--isa", "avx", "--multiply", "k", "--blocks", "2", "--no-wipe"]
    shown = called("audit", "--ports", *chosen)
    assert "models, not measurements" in shown.output
    assert "skylake-avx512 is Skylake-SP, Cascade Lake" in shown.output
    assert "over the bound" in shown.output
    assert "llvm-mca not found under the name nonesuch" in shown.output
    answered = CliRunner().invoke(COMMAND, ["--ports", "--json", *chosen])
    ports = json.loads(answered.stdout)[0]["ports"]
    assert ports["llvm_mca"] is None
    assert [cpu["uarch"] for cpu in ports["cpus"]] == list(uarches())
