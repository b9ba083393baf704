"""The crate of GHASH and POLYVAL beside `ghash` and `polyval`, and with faults."""

import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need, need_x86

from ghashgen.check import vendoring
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import target
from ghashgen.output.folder import write
from ghashgen.output.hosts.registry import hosts

NEEDS = ("pclmulqdq", "sse2", "ssse3")
NAMES = ("ghash_sse_k_clmul1_x8", "polyval_sse_k_clmul1_x8")


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host's files. Its kernels are not proved for a test of the host."""
    need_x86()
    folder, host = tmp_path_factory.mktemp("rust-hash"), hosts()["rust-hash"]
    kernels = look_up(Choice(name=NAMES)).kernels
    where = target(syntax=host.syntax)
    order = vendoring.Order(kernels, (where,), host, (), any_cpu=True)
    write(folder, vendoring.prepare(order, folder, False).files, (), "--into")
    return folder


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", "test polyval ... ok"),
        (
            "16 * blocks.len())\n            }),",
            "16 * blocks.len().min(7))\n            }),",
            "blocks",
        ),
        ("} == 1 {", "} == 2 {", "no kernel serves this CPU"),
        ("Hash<polyval::Polyval, 1>", "Hash<polyval::Polyval, 0>", "blocks"),
    ],
)
def test_the_crate_agrees_with_ghash_and_polyval(
    crate: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    # A rustup without a toolchain is found, and does not run.
    if (
        shutil.which("cargo") is None
        or subprocess.run(["cargo", "--version"], check=False).returncode
    ):
        pytest.skip("no cargo that runs: the crate is not built")
    need(NEEDS)
    there = tmp_path / "crate"
    shutil.copytree(crate, there, ignore=shutil.ignore_patterns("target"))
    library = there / "src" / "lib.rs"
    text = library.read_text(encoding="utf-8")
    assert right in text
    library.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    # One folder for all cases: the other crates are compiled once.
    words = ["cargo", "test", "--offline", "--target-dir", str(crate / "target")]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    if "--offline" in found.stderr and found.returncode == 101:
        pytest.skip("cargo has not fetched universal-hash, ghash, polyval and cc: it is not built")
    assert said in found.stdout + found.stderr
    assert (found.returncode == 0) == (not right), found.stdout + found.stderr
    assert "warning" not in found.stderr
