"""`vendor --host aws-lc`: the C file that goes on within a block, on stand-ins of what it calls."""

import subprocess
from pathlib import Path

import pytest
from helpers.installed import need_programs
from helpers.verbs import called

from ghashgen.kernels.target import target
from ghashgen.output.hosting import render_host
from ghashgen.output.hosts.registry import hosts

DRIVER = Path(__file__).with_name("context_driver.c")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("*used = n % 16;", "*used = n;"),
        ("encrypts ? to : from", "encrypts ? from : to"),
        ("ghashgen_step(ctx, whole / 16);", ""),
        ("if (n == 16)", "if (n == 15)"),
        ("if (n & 4)", "if (n & 5)"),
        ("rest << 16 | two", "rest << 8 | two"),
        ("unpackhi_epi64", "unpacklo_epi64"),
        ("_mm_set1_epi8((char)*used)", "_mm_set1_epi8(16)"),
        ("(uint64_t)len << 3", "(uint64_t)len"),
        ("ghashgen_counter(ctx->Yi, iv, 2)", "ghashgen_counter(ctx->Yi, iv, 1)"),
    ],
)
def test_messages_in_pieces_are_those_of_the_standard(
    tmp_path: Path, right: str, wrong: str
) -> None:
    need_programs("cc")
    host = hosts()["aws-lc"]
    assert host.wanted is not None
    glue = render_host(host, (), (target(syntax="gas"),), host.wanted.made(), threads=False)[
        "aws-lc-gcm.h"
    ]
    assert right in glue
    headers = tmp_path / "crypto" / "fipsmodule" / "aes"
    headers.mkdir(parents=True)
    (headers / "internal.h").touch()
    folder = tmp_path / "ghashgen"
    folder.mkdir()
    (folder / "aws-lc-gcm.h").write_text(glue.replace(right or "\n", wrong or "\n"))
    words = ["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{folder}", str(DRIVER)]
    subprocess.run([*words, "-o", str(folder / "driver")], check=True)
    found = subprocess.run([folder / "driver"], check=False, capture_output=True, text=True)
    assert (found.returncode, "wrong" in found.stdout) == ((1, True) if right else (0, False))


def test_one_file_replaces_one_of_its_own(tmp_path: Path) -> None:
    said = called("vendor", "--host", "aws-lc", "--into", tmp_path / "ghashgen", "--dry-run").stdout
    files = {line.split("\t")[0] for line in said.splitlines() if line.endswith("\tnew")}
    assert files == {
        *("aesni-gcm-avx512.S", "aws-lc-gcm.h"),
        *("ghashgen.h", "ghashgen.json", "ghashgen.md", "LICENSE"),
    }
