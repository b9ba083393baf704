"""A vendored folder is built by the lines of its record, and works with nothing else there."""

import hashlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, need, need_x86
from helpers.installed import installed
from helpers.verbs import called

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import find_cc

DRIVER = Path(__file__).parent / "vendor_driver.c"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
NEEDS = ("aesni", "pclmulqdq", "sse2", "ssse3", "sse4_1")
CHOICE = (
    "--family gcm --key 128 --isa sse --isa avx --multiply k --reduce clmul1 --blocks 1 "
    "--segments --threads"
)


@pytest.fixture(scope="module")
def vendored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_x86()
    folder = tmp_path_factory.mktemp("third_party") / "ghashgen"
    called("vendor", "--into", str(folder), *CHOICE.split())
    return folder


def built(vendored: Path, folder: Path, source: str) -> Path:
    """Build a program by the record's lines, warnings being errors, in a copy of the folder."""
    there = folder / "copy"
    shutil.copytree(vendored, there)
    (there / "program.c").write_text(source, encoding="utf-8")
    text = (there / "VENDORED").read_text(encoding="utf-8")
    lines = re.findall(r"^#     ((?:nasm|cc) .*)$", text, re.MULTILINE)
    assert len(lines) == 4
    started = {"nasm": find_nasm().command, "cc": [*find_cc().command, *STRICT]}
    for line in (*lines, "cc -std=c11 -O2 -c program.c"):
        tool, *words = shlex.split(line)
        subprocess.run([*started[tool], *words], cwd=there, check=True)
    assert "Link with -pthread." in text
    objects = sorted(path.name for path in there.glob("*.o"))
    assert len(objects) == 5
    subprocess.run(
        [*find_cc().command, *objects, "-pthread", "-o", "program"], cwd=there, check=True
    )
    return there / "program"


def status(program: Path) -> int:
    return subprocess.run([program], check=False, timeout=120).returncode


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_folder_seals_a_known_vector_in_threads(vendored: Path, tmp_path: Path) -> None:
    program = built(vendored, tmp_path, DRIVER.read_text(encoding="utf-8"))
    assert status(program) == (77 if lacking(NEEDS) else 0)


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_the_example_that_the_page_names_runs(vendored: Path, tmp_path: Path) -> None:
    page = (project_root() / "docs" / "dispatch.md").read_text(encoding="utf-8")
    found = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (source,) = (text for text in found if "main" in text and "ghashgen_gcm_key_open" in text)
    program = built(vendored, tmp_path, source)
    assert status(program) == (77 if lacking(NEEDS) else 0)


@pytest.mark.cpu(AS_FOUND)
def test_a_wrong_kernel_is_noticed(vendored: Path, tmp_path: Path) -> None:
    """The driver compares: products of other halves do not pass."""
    copy = tmp_path / "faulty"
    shutil.copytree(vendored, copy)
    for path in copy.glob("*.asm"):
        text = path.read_text(encoding="utf-8")
        assert ", 0x00" in text
        path.write_text(text.replace(", 0x00", ", 0x01"), encoding="utf-8")
    program = built(copy, tmp_path, DRIVER.read_text(encoding="utf-8"))
    need(NEEDS)
    assert status(program) == 3


def test_the_record_has_the_hashes_of_the_objects(vendored: Path, tmp_path: Path) -> None:
    """As objcopy takes them out of what the record's lines build."""
    program = built(vendored, tmp_path, DRIVER.read_text(encoding="utf-8"))
    objcopy = installed("objcopy")
    text = (vendored / "VENDORED").read_text(encoding="utf-8")
    for obj in sorted(program.parent.glob("gcm128_*.o")):
        for section in (".text", ".rodata"):
            out = tmp_path / f"{obj.stem}{section}"
            command = [objcopy, "-O", "binary", f"--only-section={section}", str(obj), str(out)]
            subprocess.run(command, check=True)
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
            assert re.search(rf"^#   {re.escape(section)} +sha256 {digest}$", text, re.MULTILINE)
