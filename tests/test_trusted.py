"""The trusted base in lines: every file that the prover loads, and no other."""

import subprocess
import sys
from pathlib import Path

from ghashgen.check import verdicts
from ghashgen.check.trusted import code_lines, trusted_files, trusted_parts
from ghashgen.lab.summary import RESULTS, block_of
from ghashgen.support.paths import project_root


def test_the_files_are_those_that_the_prover_loads() -> None:
    script = (
        "import sys, ghashgen.verify.prove\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ghashgen'))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = {Path(name).resolve() for name in answer.stdout.decode().split()}
    assert {path.resolve() for path in trusted_files()} == loaded
    assert set(trusted_files()) <= set(verdicts.sources())


def test_every_file_is_in_one_part() -> None:
    parts = trusted_parts()
    assert sum(part.files for part in parts) == len(trusted_files())
    assert all(0 < part.code < part.lines for part in parts)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in trusted_files())
    assert sum(part.lines for part in parts) == lines


def test_the_page_says_how_many() -> None:
    page = block_of((project_root() / RESULTS).read_text(encoding="utf-8"), name=RESULTS)
    for part in trusted_parts():
        assert f"| `{part.where}` | {part.files} | {part.code} | {part.lines} |" in page


def test_a_line_of_code(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        '"""Text.\n\nMore.\n"""\n\n# A comment.\n'
        'A = (\n    1,  # one\n\n    2,\n)\n"""Its text."""\n'
        'TEXT = """\nis code\n"""\n\n\ndef f() -> None:\n    """Return."""\n    pass\n'
    )
    assert code_lines(path) == 4 + 3 + 2
