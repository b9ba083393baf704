"""Wrong objects that keep a pointer where a cut does not move it, and their repaired twins.

`tests/asm_attack/parked/` holds them. Each was proved by a prover that let a pointer survive a cut
wherever it lies; run, each is wrong from 160 bytes on. The twins keep the pointer in the frame.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.statements import load_spec
from ghashgen.verify.statements.gcm import GcmSpec

FOLDER = Path(__file__).parents[1] / "asm_attack" / "parked"

STATEMENTS: Mapping[str, str] = {
    "seal": "seal",
    "aad": "aad",
    "over_read": "seal",
    "reloaded": "seal",
}
"""Object -> the TOML file that states it, which is also the function that is wrong."""

WRONG_FROM = 160
"""Bytes of text, or of AAD."""


@cache
def assembled(name: str, fault: bool) -> bytes:
    """Return an object, wrong or repaired."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "parked.o"
        define = ["-dFAULT"] if fault else []
        command = [*find_nasm().command, "-f", "elf64", f"-I{FOLDER}/", *define]
        subprocess.run([*command, str(FOLDER / f"{name}.asm"), "-o", str(out)], check=True)
        return out.read_bytes()


def toml(name: str) -> Path:
    """Return the file that states an object."""
    return FOLDER / f"{STATEMENTS[name]}.toml"


def stated(name: str) -> GcmSpec:
    """Return the statement of an object."""
    spec = load_spec(toml(name))
    assert isinstance(spec, GcmSpec)
    return spec
