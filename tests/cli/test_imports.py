"""What a verb does not need it does not import: a kernel is listed or made in a few tenths of a
second, and imports are most of that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = "ghash_avx_k_clmul1_x8"

LIBRARIES = ("capstone", "cryptography", "rich", "matplotlib", "dask", "bochscpu", "peachpy")
"""Of other verbs."""

ROOMS = ("verify", "check", "lab", "run")
"""Rooms of other verbs; and modules that one kernel does not need."""

WORKERS = ("multiprocessing", "concurrent")

OTHER_FAMILIES = tuple(
    f"kernels.{family}.{part}"
    for family in ("gcm", "ctr", "given")
    for part in ("catalogue", "functions", "words")
)

NOT_FOR_ONE = (*ROOMS, "arch.x86_64.uarch.table", "compiler.schedule.listed", "output.peachpy")

NOT_BESIDE = (*NOT_FOR_ONE, "choice", "records", "output.dispatcher", "output.generate")

NOT_PRINTED = (*NOT_BESIDE, *OTHER_FAMILIES, "arch.aarch64.decoder")

NOT_LISTED = (*NOT_BESIDE, "compiler", "cost", "output", "arch.x86_64.decoder")

FEW = {"print": 197, "help": 15}
"""Most modules of ours that a call may import. A start costs about half a millisecond for each."""

_SOURCE = """
import json, sys
from ghashgen.cli.main import cli
cli({arguments!r}, prog_name="ghashgen", standalone_mode=False)
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(*arguments: str) -> list[str]:
    """The modules that a call of the command line has imported at its end."""
    source = _SOURCE.format(arguments=list(arguments))
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found: list[str] = json.loads(done.stderr.splitlines()[-1])
    return found


def heavy(found: list[str], unwanted: tuple[str, ...]) -> list[str]:
    """Those of these modules that are unwanted or lie in something unwanted."""
    return [name for name in found if any(f"{name}.".startswith(f"{u}.") for u in unwanted)]


def own(*modules: str) -> tuple[str, ...]:
    return tuple(f"ghashgen.{module}" for module in modules)


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("list",), (*LIBRARIES, *WORKERS, "iced_x86", "elftools", "jinja2", *own(*NOT_LISTED))),
        (("generate", "--name", KERNEL, "--out", "-"), (*LIBRARIES, *WORKERS, *own(*NOT_PRINTED))),
        (("generate", "--name", KERNEL, "--out", "{folder}"), (*LIBRARIES, *own(*NOT_FOR_ONE))),
    ],
    ids=["list", "print", "folder"],
)
def test_one_kernel_imports_only_what_it_needs(
    arguments: tuple[str, ...], unwanted: tuple[str, ...], tmp_path: Path
) -> None:
    found = imported(*(word.format(folder=tmp_path / "out") for word in arguments))
    assert "ghashgen.kernels.families" in found
    assert heavy(found, unwanted) == []


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(("generate", "--name", KERNEL, "--out", "-"), FEW["print"]), (("--help",), FEW["help"])],
    ids=FEW,
)
def test_a_call_imports_few_modules(arguments: tuple[str, ...], most: int) -> None:
    found = [name for name in imported(*arguments) if name.startswith("ghashgen.")]
    assert most - 15 < len(found) <= most, found


def test_what_is_heavy_is_seen() -> None:
    found = imported("generate", "--isa", "avx", "--multiply", "k", "--blocks", "2",
                     "--schedule", "zen4", "--out", "-")  # fmt: skip
    assert heavy(found, own("compiler.schedule.listed", "arch.x86_64.uarch.table")) == [
        "ghashgen.arch.x86_64.uarch.table",
        "ghashgen.compiler.schedule.listed",
    ]
