"""C of c_verify as a compiler makes it."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "c_verify" / "ghash.c"


def compiled(cc: str, flags: str, folder: Path, blocks: int, *defined: str) -> Path:
    if shutil.which(cc) is None:
        pytest.skip(f"{cc}, whose objects are proved here, is missing")
    out = folder / "ghash.o"
    command = [cc, *flags.split(), "-mpclmul", f"-DGROUP={blocks}", *defined, "-c", str(SOURCE)]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{cc} does not take {flags}: {done.stderr.splitlines()[0]}")
    return out
