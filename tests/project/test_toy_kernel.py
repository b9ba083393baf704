"""docs/toy-kernel.md from top to bottom, in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, lacking
from helpers.installing import copy_of_the_project

from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, find_cc

PAGE = (project_root() / "docs" / "toy-kernel.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FIRST_LINE = re.compile(r"(?:# (\S+\.py)|/\* (\S+\.c) \*/)\n")
SCHEME, KERNEL = "multiply/toy.py", "toy-kernel/avx/ghash_avx_toy_clmul2_x4.asm"


def shows(output: str, block: str) -> bool:
    """Whether the lines of a block stand in an output, in order; … stands for anything."""
    said = [" ".join(line.split()) for line in output.splitlines()]
    for line in block.splitlines():
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("…")))
        found = next((i for i, text in enumerate(said) if re.search(pattern, text)), None)
        if found is None:
            return False
        said = said[found + 1 :]
    return True


def test_what_is_not_shown_is_noticed() -> None:
    output = "one\t1\t0.3\tyes\ntwo  2\n"
    assert shows(output, "one 1 … yes\ntwo\n")
    assert not shows(output, "two\none\n")
    assert not shows(output, "one 1 … no\n")
    assert not shows(output, "three\n")


class Copy:
    """A copy of the project in which the page is followed."""

    def __init__(self, folder: Path, tools: dict[str, str]) -> None:
        self.clone = copy_of_the_project(folder / "clone")
        self.output = ""
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, command in tools.items():
            (bin_folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
            (bin_folder / name).chmod(0o755)
        self.env = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.clone),
            "GHASHGEN_CACHE": str(folder / "cache"),
        }

    def take(self, language: str, text: str, fails: bool) -> None:
        """Do what a block says, or compare what it shows."""
        if named := FIRST_LINE.match(text):
            body = text[named.end() :] if language == "python" else text
            (self.clone / (named[1] or named[2])).write_text(body, encoding="utf-8")
        elif language == "sh":
            self.output = ""
            for line in text.splitlines():
                self.run(line, fails)
        elif language == "diff":
            old, new = (line[1:] for line in text.splitlines())
            path = self.clone / "ghashgen/algebra/schemes" / SCHEME
            before = path.read_text(encoding="utf-8")
            assert before.count(old) == 1
            path.write_text(before.replace(old, new), encoding="utf-8")
        elif language == "nasm":
            assert text in (self.clone / KERNEL).read_text(encoding="utf-8")
        else:
            assert language == "text"
            assert shows(self.output, text), self.output

    def run(self, line: str, fails: bool) -> None:
        """Run a line of a shell; the program that the page makes only where the CPU can."""
        if line == "toy-kernel/toy" and lacking(("avx", "pclmulqdq")):
            return
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.clone,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        assert (done.returncode != 0) == fails, f"{line}: {self.output}"
        assert "Traceback" not in self.output


@pytest.mark.cpu(AS_FOUND)
def test_the_page_is_true_from_top_to_bottom(tmp_path: Path, nasm: Tool) -> None:
    tools = {
        "ghashgen": f"{sys.executable} -m ghashgen",
        "nasm": " ".join(nasm.command),
        "cc": " ".join(find_cc().command),
    }
    copy = Copy(tmp_path, tools)
    before = {path for path in copy.clone.rglob("*") if "__pycache__" not in path.parts}
    broken = False
    for language, text in BLOCKS:
        broken = broken or language == "diff"
        copy.take(language, text, broken and text.startswith("ghashgen prove"))
        if text.startswith("nasm"):
            assert (copy.clone / "toy-kernel/toy.o").is_file()
    assert {"python", "sh", "text", "nasm", "c", "diff"} == {language for language, _ in BLOCKS}
    after = {path for path in copy.clone.rglob("*") if "__pycache__" not in path.parts}
    # It cleans up behind itself.
    assert after == before
    shutil.rmtree(copy.clone)
