"""The trusted base in lines: every file that the prover loads, and no other."""

import re
import subprocess
import sys
from pathlib import Path

from helpers.verify_objects import ASM, edited

from ghashgen.check import verdicts
from ghashgen.check.statements import load_spec
from ghashgen.check.trusted import (
    AES,
    PACKAGE,
    ROOTS,
    SEARCH,
    code_lines,
    trusted_files,
    trusted_parts,
)
from ghashgen.lab.pages import block_of
from ghashgen.lab.summary import RESULTS
from ghashgen.support.paths import project_root
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import prove_object


def test_the_files_are_those_that_the_prover_loads() -> None:
    script = (
        f"import sys, {', '.join(ROOTS)}\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ghashgen'))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = {Path(name).resolve() for name in answer.stdout.decode().split()}
    assert {path.resolve() for path in trusted_files()} == loaded
    assert not any(path.is_relative_to(PACKAGE / SEARCH) for path in trusted_files())
    assert set(trusted_files()) <= set(verdicts.sources())


def test_what_explains_a_refusal_is_no_part_of_it() -> None:
    """A refusal stays one, whatever is then said of it."""
    names = {path.relative_to(PACKAGE).as_posix() for path in trusted_files()}
    assert not names & {
        "verify/advice.py",
        "verify/difference.py",
        "verify/report.py",
        "algebra/ops/monomials.py",
        "algebra/field/ghash.py",
    }
    wrong = edited("foreign", "ADD_PRODUCT [rsi + 32]", "ADD_PRODUCT [rsi + 16]")
    proof = prove_object(wrong, load_spec(ASM / "foreign.toml"))
    before = proof.refutation
    explain(proof.refutation)
    explain(proof.refutation)
    assert before is not None
    assert proof.refutation is before
    assert before.message.count("block 2 times H^2 should not occur") == 1
    assert not proof.proved


def test_what_functions_mean_is_all_of_it_trusted() -> None:
    """A statement brings its meaning with it: the prover itself imports neither."""
    for folder in ("verify/rules", "verify/meaning", "verify/statements"):
        assert set((PACKAGE / folder).glob("*.py")) <= set(trusted_files()), folder


def test_every_file_is_in_one_part() -> None:
    parts = trusted_parts()
    assert sum(part.files for part in parts) == len(trusted_files())
    assert all(0 < part.code < part.lines for part in parts)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in trusted_files())
    assert sum(part.lines for part in parts) == lines


def test_the_page_says_how_many() -> None:
    page = block_of((project_root() / RESULTS).read_text(encoding="utf-8"), name=RESULTS)
    for part in trusted_parts():
        where = ", ".join(f"`{place}`" for place in part.where)
        assert f"| {where} | {part.files} | {part.code} | {part.lines} |" in page


def test_the_page_says_what_an_ability_costs() -> None:
    page = (project_root() / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| [^|]+ \| ((?:`verify/[a-z0-9_/.]+\.py`(?:, )?)+) \| (\d+) \|", page)
    assert len(rows) > 5
    for files, lines in rows:
        paths = [PACKAGE / name for name in re.findall("`([^`]+)`", files)]
        assert set(paths) <= set(trusted_files()), files
        assert 0.9 < sum(map(code_lines, paths)) / int(lines) < 1.1, files
    of_aes = next(part.code for part in trusted_parts() if part.where == AES)
    every = sum(part.code for part in trusted_parts())
    assert every - of_aes < 6000 < every


def test_a_line_of_code(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        '"""Text.\n\nMore.\n"""\n\n# A comment.\n'
        'A = (\n    1,  # one\n\n    2,\n)\n"""Its text."""\n'
        'TEXT = """\nis code\n"""\n\n\ndef f() -> None:\n    """Return."""\n    pass\n'
    )
    assert code_lines(path) == 4 + 3 + 2
