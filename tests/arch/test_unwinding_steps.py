"""The platforms' own unwinders find the caller at every instruction that a kernel executes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need
from helpers.unwinding import STEPPED, described_text
from helpers.windows import CC, WINES, Windows

from ghashgen.support.toolchain import Tool, assemble_text, find_cc

SOURCE = Path(__file__).parent / "unwind_steps.c"

STEPS = 3000
"""Instructions of the calls, at the least."""


NEEDS = ("sse2", "ssse3", "sse4_1", "pclmulqdq", "aesni")


def compiled(cc: list[str], text: str, fmt: str, nasm: Tool, folder: Path) -> Path:
    need(NEEDS)
    obj, program = folder / "k.o", folder / "steps.exe"
    obj.write_bytes(assemble_text(nasm, "k", text, fmt))
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", f"-DKERNEL={STEPPED.name}"]
    subprocess.run([*cc, *flags, SOURCE, obj, "-o", program], check=True)
    return program


def fail(answer: subprocess.CompletedProcess[bytes], what: bytes) -> None:
    assert answer.returncode == 1
    assert what in answer.stdout


def succeed(answer: subprocess.CompletedProcess[bytes]) -> None:
    assert answer.returncode == 0, answer.stdout
    assert int(answer.stdout) > STEPS


@pytest.mark.cpu(AS_FOUND)
def test_linux_unwinds_every_step(nasm: Tool, tmp_path: Path) -> None:
    def run(text: str) -> subprocess.CompletedProcess[bytes]:
        program = compiled([*find_cc().command], text, "elf64", nasm, tmp_path)
        return subprocess.run([program], capture_output=True, check=False)

    text = described_text(STEPPED, "sysv", "elf64")
    succeed(run(text))
    seal = text.index("_seal_unwind:")
    wrong = text[:seal] + re.sub("0x86, 0x03 ", "0x86, 0x02 ", text[seal:], count=1)
    fail(run(wrong), b"register 5 is 0x5a00000000000003, not 0x5a00000000000005")


@pytest.mark.cpu(AS_FOUND)
def test_windows_unwinds_every_step(nasm: Tool, tmp_path: Path) -> None:
    cc = shutil.which(CC)
    wine = next((found for name in WINES if (found := shutil.which(name))), None)
    if cc is None or wine is None:
        pytest.skip("apt-get install gcc-mingw-w64-x86-64 wine64")

    def run(text: str) -> subprocess.CompletedProcess[bytes]:
        return Windows(compiled([cc], text, "win64", nasm, tmp_path), wine, tmp_path).run()

    text = described_text(STEPPED, "win64", "win64")
    succeed(run(text))
    seal = text.index("_seal_unwind:")
    wrong = text[:seal] + re.sub("0x68 ( +; xmm6)", r"0xb8 \1", text[seal:], count=1)
    fail(run(wrong), b"low half of xmm 11 ")
