"""The Windows dispatcher, compiled by MinGW and run by Wine."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ghashgen.arch.features import FEATURES_OFF
from helpers.cpus import masked

CC = "x86_64-w64-mingw32-gcc"
WINES = ("wine64", "wine", "/usr/lib/wine/wine64")


@dataclass(frozen=True)
class Windows:
    """The driver as a Windows program."""

    program: Path
    wine: str
    home: Path

    def run(self, *question: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        # On Windows standard input is text unless the program says otherwise: no 0x1A, no CR LF.
        return subprocess.run(
            [self.wine, self.program, *question],
            input=data,
            env={
                "HOME": str(self.home),
                **{name: text for name, text in os.environ.items() if name.startswith("WINE")},
                "PATH": "/usr/bin:/bin",
                FEATURES_OFF: masked(),
            },
            capture_output=True,
            check=False,
            timeout=300,
        )
