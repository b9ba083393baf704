"""Follows a page of the documents in a copy of the project: what it says to write, run and see.

```python     a file, under the name in its first line; without one, a script
```diff       a change to the file that its first line names: lines with - give way to +
```sh         commands; the last of them fails if what it shows says so
```text       what the commands show, in order; … stands for anything
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from helpers.cpus import lacking
from helpers.installing import ROOT, copy_of_the_project

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST_LINE = re.compile(r"(?:# |/\* )(\S+\.\w+)(?: \*/)?\n")
REFUSES = re.compile(r"^ghashgen: ", re.MULTILINE)


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


class Follower:
    """A copy of the project in which a page is followed."""

    def __init__(self, folder: Path, tools: dict[str, str]) -> None:
        self.clone = copy_of_the_project(folder / "clone", without=("generated",))
        # Nothing here writes there.
        (self.clone / "generated").symlink_to(ROOT / "generated")
        self.output = ""
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, command in {"ghashgen": f"{sys.executable} -m ghashgen", **tools}.items():
            (bin_folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
            (bin_folder / name).chmod(0o755)
        self.env = {
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.clone),
            "GHASHGEN_CACHE": str(folder / "cache"),
        }

    def files(self) -> dict[str, bytes]:
        """Return the files of the copy, by path."""
        return {
            path.relative_to(self.clone).as_posix(): path.read_bytes()
            for path in self.clone.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    def restore(self, before: dict[str, bytes]) -> None:
        """Put the files of the copy back as `files` returned them."""
        now = self.files()
        for name in now.keys() - before.keys():
            (self.clone / name).unlink()
        for name in (name for name, content in before.items() if now.get(name) != content):
            (self.clone / name).write_bytes(before[name])

    def follow(self, page: str) -> None:
        """Do what the blocks of a page say, and compare what they show."""
        blocks = FENCE.findall(page)
        for i, (language, text) in enumerate(blocks):
            after = next((t for kind, t in blocks[i + 1 : i + 2] if kind == "text"), "")
            self.take(language, text, bool(REFUSES.search(after)))

    def take(self, language: str, text: str, fails: bool) -> None:
        """Do what a block says, or compare what it shows."""
        named = FIRST_LINE.match(text)
        body = text[named.end() :] if named else text
        if language == "sh":
            self.output = ""
            *lines, last = text.replace("\\\n", " ").splitlines()
            for line in lines:
                self.run(["sh", "-c", line])
            self.run(["sh", "-c", last], fails)
        elif language == "text":
            assert shows(self.output, text), self.output
        elif language == "diff":
            assert named
            self.change(self.clone / named[1], body)
        elif language == "nasm":
            (path,) = self.clone.glob("toy-kernel/*/*.asm")
            assert text in path.read_text(encoding="utf-8")
        elif named:
            path = self.clone / named[1]
            assert path.parent.is_dir(), path
            path.write_text(text if language == "c" else body, encoding="utf-8")
        else:
            assert language == "python"
            self.run([sys.executable, "-c", text])

    def change(self, path: Path, text: str) -> None:
        """Change a file: context and lines with - stand in it once, context and + instead."""
        lines = text.splitlines(keepends=True)
        old, new = ("".join(s[1:] for s in lines if s[0] != sign) for sign in "+-")
        before = path.read_text(encoding="utf-8")
        assert before.count(old) == 1, old
        path.write_text(before.replace(old, new), encoding="utf-8")

    def run(self, words: list[str], fails: bool = False) -> None:
        """Run a command; the program that docs/toy-kernel.md makes only where the CPU can."""
        if words[-1] == "toy-kernel/toy" and lacking(("avx", "pclmulqdq")):
            return
        done = subprocess.run(
            words,
            cwd=self.clone,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        assert (done.returncode != 0) == fails, f"{words}: {self.output}"
        assert "Traceback" not in self.output
