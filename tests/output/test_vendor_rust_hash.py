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


def write_crate(folder: Path, short: bool) -> Path:
    """Write the host's files, with its kernels for short input or without them. They are not
    proved for a test of the host.
    """
    host = hosts()["rust-hash"]
    assert host.wanted is not None
    kernels = look_up(Choice(name=NAMES)).kernels + (host.wanted.added() if short else ())
    where = target(syntax=host.syntax)
    order = vendoring.Order(kernels, (where,), host, (), any_cpu=True)
    write(folder, vendoring.prepare(order, folder, False).files, (), "--into")
    return folder


def cargo_test(there: Path, built: Path) -> subprocess.CompletedProcess[str]:
    """Run the crate's test. With one folder for all cases, other crates are compiled once."""
    # A rustup without a toolchain is found, and does not run.
    if (
        shutil.which("cargo") is None
        or subprocess.run(["cargo", "--version"], check=False).returncode
    ):
        pytest.skip("no cargo that runs: the crate is not built")
    words = ["cargo", "test", "--offline", "--target-dir", str(built)]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    if "--offline" in found.stderr and found.returncode == 101:
        pytest.skip("cargo has not fetched universal-hash, ghash, polyval and cc: it is not built")
    assert "warning" not in found.stderr
    return found


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host's files, with its kernels for short input."""
    need_x86()
    return write_crate(tmp_path_factory.mktemp("rust-hash"), short=True)


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
        ("    !one.is_null()", "    one.is_null()", "no kernel serves this CPU"),
        ("Hash<polyval::Polyval, 1>", "Hash<polyval::Polyval, 0>", "blocks"),
        # Each of the four ways that input may take.
        ("sum(self.x, element", "sum(ZERO, element", "blocks but 5 bytes"),
        (
            "as_ptr().cast(), self.x(), at, len",
            "as_ptr().cast(), self.x(), at, len / 32 * 32",
            "blocks",
        ),
        ("self.x(), h, at, len", "self.x(), h, at, len / 32 * 32", "blocks"),
        ("key_init(&mut *tables, OP", "key_init(&mut *tables, 1 - OP", "blocks"),
    ],
)
def test_the_crate_agrees_with_ghash_and_polyval(
    crate: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    need(NEEDS)
    there = tmp_path / "crate"
    shutil.copytree(crate, there, ignore=shutil.ignore_patterns("target"))
    library = there / "src" / "lib.rs"
    text = library.read_text(encoding="utf-8")
    assert right in text
    library.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    found = cargo_test(there, crate / "target")
    assert said in found.stdout + found.stderr
    assert (found.returncode == 0) == (not right), found.stdout + found.stderr


@pytest.mark.cpu(AS_FOUND)
def test_the_crate_does_without_its_own_kernels(crate: Path, tmp_path: Path) -> None:
    need(NEEDS)
    found = cargo_test(write_crate(tmp_path, short=False), crate / "target")
    assert found.returncode == 0, found.stdout + found.stderr
