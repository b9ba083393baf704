"""The command in a file's banner makes that file again, byte for byte."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ghashgen.cli.main import cli
from ghashgen.cli.verbs.generate import COMMAND
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import family_of
from ghashgen.kernels.selection import all_axes, catalogue
from ghashgen.support.paths import project_root

KERNEL = ("--name", "ghash_avx_k_clmul1_x2")

TARGETS = (
    (),
    ("--abi", "win64"),
    ("--abi", "win64", "--format", "elf64"),
    ("--format", "macho64"),
    ("--syntax", "gas-att"),
    ("--abi", "sysv", "--format", "win64"),
    ("--prefix", "my_"),
    ("--unwind",),
    ("--table-align", "8"),
    ("--table-align", "1"),
    ("--abi", "win64", "--format", "elf64", "--prefix", "p_", "--table-align", "64"),
)
"""Every option that changes a file beside the choice of the kernel."""

ELSEWHERE = {"--backend"}
"""Takes some kernels alone; test_peachpy_emit.py makes its files again by their command."""

NOT_OF_A_FILE = {
    "--name", "--plain", "--out", "--chosen", "--threads", "--force", "--check", "--json",
    "--help",
}  # fmt: skip
"""What to make, and where: `--threads` adds files, and changes none of a kernel."""


def one_of_each_value() -> list[Point]:
    """Kernels of the catalogue in which every value of every axis of every family occurs."""
    seen: set[tuple[str, str, object]] = set()
    out = []
    for kernel in catalogue():
        names = [axis.name for axis in family_of(kernel).axes]
        axes = {(kernel.family, name, getattr(kernel, name)) for name in names}
        if axes - seen:
            seen |= axes
            out.append(kernel)
    return out


def run(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


def command_in(text: str) -> list[str]:
    words = shlex.split(text.splitlines()[1].lstrip(";/#"))
    assert words[:2] == ["ghashgen", "generate"]
    return words[1:]


@pytest.mark.parametrize("kernel", one_of_each_value(), ids=lambda kernel: kernel.name)
def test_a_kernel_is_made_again(kernel: Point) -> None:
    entry = manifest.load(project_root() / "generated")[kernel.name]
    text = (project_root() / "generated" / entry.file).read_text(encoding="utf-8")
    assert run(*command_in(text), "--out", "-") == text
    assert shlex.split(entry.regenerate)[1:] == command_in(text)


@pytest.mark.parametrize("words", TARGETS, ids=lambda words: " ".join(words) or "none")
@pytest.mark.parametrize("kernel", [KERNEL, ("--name", "ghash_sse_winograd_clmul1_x4")])
def test_every_option_is_in_the_command(
    kernel: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    run("generate", *kernel, *words, "--out", str(tmp_path))
    (entry,) = manifest.load(tmp_path).values()
    text = (tmp_path / entry.file).read_text(encoding="utf-8")
    command = command_in(text)
    assert run(*command, "--out", "-") == text
    again = tmp_path / "again"
    run(*command, "--out", str(again))
    assert (again / entry.file).read_text(encoding="utf-8") == text


def test_these_are_the_options_that_there_are() -> None:
    options = {option for parameter in COMMAND.params for option in parameter.opts}
    # --family is in the commands of families that are not the default one: test_families.py.
    axes = {"--family", *(f"--{axis.replace('_', '-')}" for axis in all_axes())}
    used = {word for words in TARGETS for word in words if word.startswith("--")}
    assert options == axes | used | ELSEWHERE | NOT_OF_A_FILE - {"--help"}


def test_axes_that_say_all_name_one_kernel_even_where_a_paper_has_it_too() -> None:
    twins = [
        k
        for k in catalogue()
        if k.family == "hash" and (k.isa, k.multiply, k.blocks) == ("avx", "k", 1)
    ]
    assert len({k.alias for k in twins}) == 2
    text = run("generate", "--name", "ghash_avx_k_clmul1_x1", "--out", "-")
    assert run(*command_in(text), "--out", "-") == text
