"""What the tests of the runtime for threads share: its files, and the driver built with them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghashgen.kernels import manifest
from ghashgen.output.dispatcher import names_of
from ghashgen.output.threads import render_threads
from ghashgen.support import programs
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, find_cc, link

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")
DRIVER = Path(__file__).with_name("threads_driver.c")
HARNESS = project_root() / "harness"
ENTRIES = tuple(manifest.load(project_root() / "generated").values())
SECONDS = 300
STRESS = int(os.environ.get("GHASHGEN_STRESS", "1"))
"""How many times as much the tests do that could go on for ever: docs/validation.md."""
LONGEST = 24 * 3600
"""Seconds that a driver may run, however much it does: poll() waits for no more than 2^31 ms."""


def runtime(dispatched: bool = False) -> dict[str, str]:
    """The files for the checked-in kernels."""
    return render_threads(ENTRIES, "ghashgen", names_of() if dispatched else ())


def edited(files: Mapping[str, str], right: str, wrong: str) -> dict[str, str]:
    """The files with one place of the C changed."""
    name = "ghashgen_threads.c"
    assert files[name].count(right) == 1, right
    return {**files, name: files[name].replace(right, wrong)}


@dataclass(frozen=True)
class Driver:
    """The driver, built."""

    path: Path

    def run(self, *words: object, data: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.path, *map(str, words)],
            input=data,
            capture_output=True,
            text=True,
            check=False,
            timeout=min(SECONDS * STRESS, LONGEST),
        )


def build(
    folder: Path,
    files: Mapping[str, str],
    flags: Sequence[str] = ("-O2",),
    *,
    defines: Sequence[str] = (),
    objects: Sequence[Path] = (),
    linking: Sequence[str] = (),
    reference: bool = True,
    cc: Tool | None = None,
) -> Driver:
    """Link the driver with the runtime and the C reference, or with objects of kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    cc = cc or find_cc()
    own = [folder / name for name in files if name.endswith(".c")]
    made = [*objects]
    for source in own:
        made.append(folder / f"{source.name}.o")
        programs.compile_c(cc, source, made[-1], flags=[*FLAGS, *flags], include=(folder,))
    defines = [f"-D{define}" for define in (*defines, *(("REFERENCE",) if reference else ()))]
    for source in (DRIVER, *((HARNESS / "reference_ctmul64.c",) if reference else ())):
        made.append(folder / f"{source.name}.o")
        options = ["-std=c11", "-Wall", "-Wextra", "-Werror", *flags, *defines]
        programs.compile_c(cc, source, made[-1], flags=options, include=(folder, HARNESS))
    link(cc, made, folder / "driver", flags=[*flags, *linking, "-pthread"])
    return Driver(folder / "driver")
