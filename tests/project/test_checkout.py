"""A fresh checkout, without git and without build/: every verb works, from a folder elsewhere."""

import sys
from pathlib import Path

import click
import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ
from helpers.installing import ORDER, QUICKEST, SMALL, call, copy_of_the_project, files_below

from ghashgen.cli.main import Verbs
from ghashgen.support.toolchain import Tool, assemble


def test_every_verb_is_tried() -> None:
    assert set(QUICKEST) == set(Verbs().list_commands(click.Context(Verbs())))


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_every_verb_works_in_a_fresh_checkout(tmp_path: Path, nasm: Tool) -> None:
    clone, work = copy_of_the_project(tmp_path / "clone"), tmp_path / "work"
    work.mkdir()
    before = files_below(clone)
    assert "ghashgen/support/paths.py" in before
    assert not (clone / "build").exists()
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    env = {"PYTHONPATH": str(clone), **bytecode}
    failed = {}
    for verb in ORDER:
        done = call(verb, [sys.executable], work, env)
        if done.returncode or "Traceback" in done.stderr:
            failed[verb] = f"{done.returncode} {done.stderr}"
        if verb == "generate":
            assemble(nasm, work / "kernels" / "sse" / f"{SMALL}.asm", work / "kernel.o", "elf64")
    assert failed == {}
    # What may be deleted goes to build/, what was asked for where it was asked for.
    new = {name.partition("/")[0] for name in files_below(clone) - before}
    assert new == {"build"}
    assert {path.name for path in work.iterdir()} == {"kernels", "kernel.o", "page", "vendored"}
