"""Shell completion, as the shell calls it."""

import json
import os
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from ghashgen.cli.main import cli
from ghashgen.kernels.selection import catalogue, values_of


def completions(*words: str) -> list[str]:
    """What follows the last word, which may be empty."""
    shell = BashComplete(cli, {}, "ghashgen", "_GHASHGEN_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_verbs_and_options() -> None:
    assert completions("prove") == ["prove", "prove-object"]
    assert completions("") == cli.list_commands(None)  # type: ignore[arg-type]
    assert completions("generate", "--is") == ["--isa"]


@pytest.mark.parametrize(
    "verb", ["list", "generate", "prove", "validate", "audit", "bench", "tune"]
)
@pytest.mark.parametrize("axis", ["isa", "multiply", "reduce", "order", "op", "schedule"])
def test_values_of_an_axis(verb: str, axis: str) -> None:
    assert completions(verb, f"--{axis}", "") == list(values_of(axis))


def test_values_begin_as_typed_and_names_are_the_catalogues() -> None:
    assert completions("generate", "--wipe", "--isa", "avx5") == ["avx512", "avx512vl"]
    assert completions("list", "--isa", "avx", "--blocks", "4")[:2] == ["4", "40"]
    names = [kernel.name for kernel in catalogue()]
    assert completions("audit", "--name", "") == names
    assert completions("attack", "--name", "paper_") == ["paper_baseline", "paper_optimized"]


def test_other_choices() -> None:
    assert completions("generate", "--abi", "") == ["aapcs64", "sysv", "win64"]
    assert completions("generate", "--format", "m") == ["macho64"]
    assert completions("bench", "--peer", "openssl_e") == ["openssl_evp"]
    assert completions("attack", "--part", "mu") == ["mutants"]
    assert completions("compare", "sol") == ["solaris"]
    assert completions("model", "--uarch", "zen") == ["zen4", "zen5"]


def test_an_option_that_a_verb_lacks_has_no_values() -> None:
    assert completions("doctor", "--isa", "") == []


def test_a_tab_imports_neither_the_verb_nor_what_is_heavy() -> None:
    heavy = ["ghashgen.cli.verbs.bench", "cryptography", "jinja2", "elftools", "rich", "sqlite3"]
    source = (
        "import sys, json; from ghashgen.cli.main import cli;"
        "from click.shell_completion import BashComplete;"
        "shell = BashComplete(cli, {}, 'ghashgen', '_GHASHGEN_COMPLETE');"
        "found = [*shell.get_completions([], ''), *shell.get_completions(['bench', '--isa'], ''),"
        " *shell.get_completions(['bench', '--name'], 'paper_o')];"
        f"print(json.dumps([found[-1].value, [m for m in {heavy} if m in sys.modules]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["paper_optimized", []]


def test_the_script_of_readme_is_there() -> None:
    source = "import sys; sys.argv = ['ghashgen']; from ghashgen.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        env={**os.environ, "_GHASHGEN_COMPLETE": "zsh_source"},
        check=True,
    )
    assert "#compdef ghashgen" in done.stdout
