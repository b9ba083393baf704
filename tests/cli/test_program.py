"""The command line as a program: streams, signals, exit status, help."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ghashgen.cli.main import cli
from ghashgen.lab.compare.registry import studies
from ghashgen.support.paths import cache_folder, kernels_folder

REFUSED = 2


def ghashgen(*words: str) -> subprocess.CompletedProcess[str]:
    """Call it as a program, where that is what is asked; imports alone take half a second."""
    program = [sys.executable, "-m", "ghashgen", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_one_kernel_is_printed_and_assembles_to_what_the_catalogue_has() -> None:
    done = ghashgen("generate", "--name", "paper_optimized", "--out", "-")
    root = Path(__file__).parents[2]
    assert done.returncode == 0
    assert done.stdout == (root / "generated/avx/paper_optimized.asm").read_text()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_with_status_130(name: str) -> None:
    source = (
        "import os, signal, sys; from ghashgen.cli import main as cli;"
        f"interrupt = lambda *_: os.kill(os.getpid(), signal.{name});"
        "cli.Verbs.list_commands = interrupt; sys.argv = ['ghashgen', '--help']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "ghashgen: interrupted"


def test_an_interrupt_while_it_still_imports_is_one_line() -> None:
    source = (
        "import os, signal, sys; from importlib.abc import MetaPathFinder\n"
        "from ghashgen.cli.entry import main\n"
        "class Interrupt(MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "assert 'click' not in sys.modules\n"
        "sys.meta_path.insert(0, Interrupt()); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "ghashgen: interrupted\n")


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["--help"]])
def test_a_reader_that_goes_away_hears_nothing_more(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "ghashgen", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""
    # --help is click's own.
    assert done.returncode == (1 if words == ["--help"] else 141)


def test_a_closed_standard_output_is_no_traceback() -> None:
    command = f"{sys.executable} -m ghashgen list --isa sse --op polyval >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ghashgen", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == REFUSED
    assert done.stderr == (
        "ghashgen: output: No space left on device; make room and run it again\n"
    )


def test_misuse_and_help_keep_their_status() -> None:
    wrong = ghashgen("list", "--flavour")
    assert wrong.returncode == REFUSED
    assert wrong.stderr == "ghashgen: no such option '--flavour'; see ghashgen list --help\n"
    assert ghashgen("--help").returncode == 0
    assert ghashgen("list", "--help").returncode == 0
    assert ghashgen().returncode == wrong.returncode


def test_helps_fit_80_columns_and_end_their_sentences() -> None:
    """What a terminal of that width shows of the tool, and of every verb."""
    with click.Context(cli, info_name="ghashgen", terminal_width=80) as whole:
        verbs = {name: cli.get_command(whole, name) for name in cli.list_commands(whole)}
        texts = {"ghashgen": cli.get_help(whole)}
    for name, command in verbs.items():
        assert command is not None
        with click.Context(command, whole, info_name=name, terminal_width=80) as one:
            texts[name] = command.get_help(one)
        # The list reads it from the source of the verb.
        assert command.get_short_help_str(400) in " ".join(texts["ghashgen"].split())
    paths = (str(kernels_folder()), str(cache_folder()))
    for name, text in texts.items():
        lines = [line for line in text.splitlines() if not any(path in line for path in paths)]
        assert max(map(len, lines)) <= 80, name
    commands = texts["ghashgen"].split("Commands:")[1]
    assert "..." not in commands
    assert "AES-GCM" in texts["ghashgen"].split("Options:")[0]
    assert all(study in texts["compare"] for study in studies())
