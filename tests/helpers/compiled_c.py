"""C of c_verify as a compiler makes it."""

import subprocess
from pathlib import Path

import pytest

from helpers.installed import need_programs

SOURCE = Path(__file__).parents[1] / "c_verify" / "ghash.c"


def compiled(cc: str, flags: str, folder: Path, blocks: int, *defined: str) -> Path:
    need_programs(cc)
    out = folder / "ghash.o"
    command = [cc, *flags.split(), "-mpclmul", f"-DGROUP={blocks}", *defined, "-c", str(SOURCE)]
    done = subprocess.run([*command, "-o", str(out)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{cc} does not take {flags}: {done.stderr.splitlines()[0]}")
    return out
