"""The documents name only what exists, and their examples work as they stand."""

import importlib
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, lacking, need, need_x86

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.cli import verbs as commands
from ghashgen.lab.pages import block_of
from ghashgen.output.dispatcher import names_of
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, assemble_text, find_cc

ROOT = project_root()
NAMES = (
    *("README.md", "CONTRIBUTING.md", "SOUNDNESS.md", "CHANGELOG.md"),
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
)
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
# The generated blocks have tests of their own, and may name the verb that would fill them.
for _name in ("README.md", "docs/results.md"):
    TEXTS[_name] = TEXTS[_name].replace(block_of(TEXTS[_name], name=_name), "")

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PLACEHOLDERS = ("NAME", "ISA", "…", "*")
FOLDERS = ("ghashgen/", "tests/", "harness/", "templates/", "generated/", "docs/", ".ci/")
WORDS = {"ghashgen", "make", "pytest", "cp", "rm", "grep", "nasm", "dask", "pip", "cc"}
"""What the examples for a shell may start."""

each = pytest.mark.parametrize("name", NAMES)


def blocks(name: str, language: str) -> list[str]:
    return [text for found, text in FENCE.findall(TEXTS[name]) if found == language]


def spans(name: str) -> list[str]:
    return SPAN.findall(FENCE.sub("", TEXTS[name]))


def lines(name: str) -> list[list[str]]:
    """The command lines of a document, as words: those in fences and those in code spans."""
    texts = [text.replace("\\\n", " ") for text in blocks(name, "sh")]
    shell = [line for text in texts for line in text.splitlines() if line.strip()]
    inline = [span for span in spans(name) if span.partition(" ")[0] in ("ghashgen", "make")]
    return [words for line in shell + inline if len(words := shlex.split(line, comments=True)) > 1]


def generating(page: str, folder: str, instead: Path) -> list[str]:
    """The command of a page that generates a folder, with another folder in its place."""
    (words,) = (words for words in lines(page) if words[-2:] == ["--out", folder])
    return [*words[:-1], str(instead)]


def verbs() -> dict[str, click.Command]:
    modules = [
        importlib.import_module(f"{commands.__name__}.{info.name}")
        for info in pkgutil.iter_modules(commands.__path__)
    ]
    found = [module.COMMAND for module in modules if hasattr(module, "COMMAND")]
    return {str(command.name): command for command in found}


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


def test_make_ends_with_what_it_did_and_what_to_do_next() -> None:
    done = subprocess.run(
        ["make", "-n", "all"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("echo")]
    assert "identities are proved" in said[1]
    assert "bytes are not proved" in said[2]
    assert "make prove-kernels" in said[3]
    assert set(re.findall(r"make ([a-z-]+)", "".join(said))) <= targets()
    assert all(
        (ROOT / page).is_file() for line in said for page in re.findall(r"docs/\S+\.md", line)
    )


def test_make_hosts_tries_what_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "nettle@3.10").mkdir()

    def loop(*variables: str) -> str:
        words = ["make", "-n", "hosts", f"SOURCES={tmp_path}", *variables]
        said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return said.partition("for host in ")[2]

    assert loop("HOSTS=go nettle").startswith("go nettle; do")
    assert loop().startswith("nettle@3.10 $(")
    assert loop("SOURCES=").lstrip().startswith("$(")


def refusal(words: list[str]) -> str | None:
    """Why a command line cannot be meant: an unknown program, verb, option or target."""
    if words[0] not in WORDS:
        return f"{words[0]} is not a program that the documents use"
    if words[0] == "make":
        unknown = [word for word in words[1:] if "=" not in word and word not in targets()]
        return f"no target {unknown[0]}" if unknown else None
    if words[0] != "ghashgen":
        return None
    command = verbs().get(words[1])
    if command is None:
        return f"no verb {words[1]}"
    try:
        command.make_context(words[1], words[2:])
    except click.ClickException as error:
        return f"{' '.join(words)}: {error.format_message()}"
    return None


def anchors(text: str) -> set[str]:
    """What a link to a part of a page may say: its headings, as GitHub and MkDocs name them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in headings}


def broken_links(text: str, folder: Path) -> list[str]:
    """Links to files that are not there, and to headings that no page has."""

    def broken(link: str) -> bool:
        path, _, anchor = link.partition("#")
        page = folder / path
        if not path:
            return anchor not in anchors(text)
        if not page.exists():
            return True
        return bool(anchor) and anchor not in anchors(page.read_text(encoding="utf-8"))

    local = [link for link in LINK.findall(text) if not link.startswith("https://")]
    return [link for link in local if broken(link)]


def missing_paths(text: str) -> list[str]:
    """Code spans that name a file or folder of the project that is not there."""
    # The files that CONTRIBUTING.md writes out (tests/project/test_stories.py).
    first = re.findall(r"^# (ghashgen/\S+)$", TEXTS["CONTRIBUTING.md"], re.MULTILINE)
    written_out = {path.rpartition("/")[2] for path in first}
    paths = [
        span
        for span in SPAN.findall(FENCE.sub("", text))
        if span.startswith(FOLDERS) and not any(mark in span for mark in PLACEHOLDERS)
    ]
    return [p for p in paths if not (ROOT / p).exists() and Path(p).name not in written_out]


@each
def test_links_and_paths_exist(name: str) -> None:
    assert not broken_links(TEXTS[name], (ROOT / name).parent)
    assert not missing_paths(TEXTS[name])


def test_a_wrong_link_or_path_is_noticed() -> None:
    text = "See [this](docs/architecture.md#top), [that](docs/none.md) and `ghashgen/none.py`."
    assert broken_links(text, ROOT) == ["docs/architecture.md#top", "docs/none.md"]
    assert not broken_links(
        "[This](#a-b) is `one`: [here](README.md#install).\n\n## `A`: b\n", ROOT
    )
    assert missing_paths(f"{text} `ghashgen/cli/main.py` `tests/`") == ["ghashgen/none.py"]


def test_paths_below_the_package_exist() -> None:
    table = TEXTS["docs/architecture.md"].partition("## Where things live")[2].partition("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    paths = [path for row in rows for path in SPAN.findall(row) if "/" in path]
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / "ghashgen" / path).exists()]


@each
def test_command_lines_are_understood(name: str) -> None:
    assert not [why for words in lines(name) if (why := refusal(words))]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ghashgen emit", "no verb emit"),
        ("ghashgen audit --colour", "No such option"),
        ("make everything", "no target everything"),
        ("curl something", "not a program"),
    ],
)
def test_a_wrong_command_line_is_noticed(line: str, why: str) -> None:
    assert why in (refusal(shlex.split(line)) or "")


def test_the_page_of_commands_names_each_verb_once() -> None:
    rows = re.findall(r"^\| `ghashgen ([a-z-]+)[^`]*` \|", TEXTS["docs/commands.md"], re.MULTILINE)
    assert sorted(rows) == sorted(verbs())


def test_readme_prints_one_kernel() -> None:
    printing = [words for words in lines("README.md") if words[-2:] == ["--out", "-"]]
    assert printing
    for words in printing:
        result = CliRunner().invoke(verbs()[words[1]], words[2:], catch_exceptions=False)
        assert result.exit_code == 0
        assert "endbr64" in result.output


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "python")])
def test_what_examples_in_python_import_exists(name: str) -> None:
    text = "\n".join(blocks(name, "python"))
    for module, names in re.findall(r"^from (ghashgen\S*) import ([\w, ]+)$", text, re.MULTILINE):
        for word in names.split(", "):
            if not hasattr(importlib.import_module(module), word):
                importlib.import_module(f"{module}.{word}")


@pytest.mark.parametrize("number", range(len(blocks("docs/api.md", "python"))))
def test_the_examples_of_the_interface_run(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build script of its own, in a folder of its own."""
    script = tmp_path / "build.py"
    script.write_text(blocks("docs/api.md", "python")[number], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("name", ["docs/why-k.md", "docs/why-opaque-sbox.md"])
def test_the_mathematics_of_an_essay_holds(name: str) -> None:
    """Its blocks are one program, whose own assertions are the test."""
    program = "\n".join(blocks(name, "python"))
    assert program.count("assert ") >= 2
    exec(compile(program, name, "exec"), {})


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("page", "call", "needs"),
    [
        ("README.md", "seal", ("aesni", "avx", "pclmulqdq")),
        ("docs/integrate.md", "update", ("avx", "pclmulqdq")),
    ],
)
def test_the_example_in_c_runs(
    tmp_path: Path, nasm: Tool, page: str, call: str, needs: tuple[str, ...]
) -> None:
    """A page's C example, compiled with the checked-in header and run."""
    need_x86()
    (source,) = (text for text in blocks(page, "c") if "main" in text)
    (name,) = set(re.findall(rf"\b(g\w+)_{call}\(", source))
    kernel = ROOT / "generated" / "avx" / f"{name}.asm"
    (tmp_path / "k.o").write_bytes(
        assemble_text(nasm, name, kernel.read_text(encoding="utf-8"), "elf64")
    )
    (tmp_path / "example.c").write_text(source, encoding="utf-8")
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'generated'}"]
    program = tmp_path / "example"
    subprocess.run(
        [*find_cc().command, *options, tmp_path / "example.c", tmp_path / "k.o", "-o", program],
        check=True,
    )
    need(needs)
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.cpu(AS_FOUND)
def test_the_example_with_threads_runs(tmp_path: Path) -> None:
    """The C example of docs/threads.md, with the kernels that the command before it generates."""
    need_x86()
    (source,) = (t for t in blocks("docs/threads.md", "c") if "pthread" in t)
    words = generating("docs/threads.md", "my-kernels", tmp_path)
    result = CliRunner().invoke(verbs()["generate"], words[2:])
    assert result.exit_code == 0, result.output
    (name,) = set(re.findall(r"\b(ghash_\w+)_combine\(", source))
    text = (tmp_path / "avx" / f"{name}.asm").read_text(encoding="utf-8")
    (tmp_path / "k.o").write_bytes(assemble_text(find_nasm(), name, text, "elf64"))
    (tmp_path / "example.c").write_text(source, encoding="utf-8")
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{tmp_path}"]
    files = [tmp_path / "example.c", tmp_path / "k.o", "-o", tmp_path / "example"]
    subprocess.run([*find_cc().command, *options, *files], check=True)
    need(("avx", "pclmulqdq"))
    assert subprocess.run([tmp_path / "example"], check=False).returncode == 0


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("page", "number", "family", "folder", "needs"),
    [
        ("docs/dispatch.md", 0, "gcm", "my-gcm", ("aesni", "pclmulqdq", "sse2", "ssse3", "sse4_1")),
        ("docs/dispatch.md", 1, "hash", "my-ghash", ("pclmulqdq", "sse2", "ssse3")),
        ("docs/ctr.md", 0, "ctr", "my-ctr", ("aesni", "sse2", "ssse3", "sse4_1")),
        ("docs/threads.md", 0, "hash", "my-pool", ("pclmulqdq", "sse2", "ssse3")),
        (
            *("docs/threads.md", 1, "gcm", "my-gcm-pool"),
            ("aesni", "pclmulqdq", "sse2", "ssse3", "sse4_1"),
        ),
    ],
)
def test_an_example_with_the_dispatcher_runs(
    tmp_path: Path, page: str, number: int, family: str, folder: str, needs: tuple[str, ...]
) -> None:
    """A C example, with the folder that a command of the page generates."""
    need_x86()
    source = [text for text in blocks(page, "c") if "main" in text][number]
    words = generating(page, folder, tmp_path)
    result = CliRunner().invoke(verbs()["generate"], words[2:])
    assert result.exit_code == 0, result.output
    header_name, source_name = names_of(family)
    files = [tmp_path / "example.c", tmp_path / source_name]
    files += tmp_path.glob("*_threads.c")
    least = len(files) + 1
    files[0].write_text(source, encoding="utf-8")
    header = (tmp_path / header_name).read_text(encoding="utf-8")
    for name in re.findall(r"^ \*   (\w+/\w+)$", header, re.MULTILINE):
        files.append(tmp_path / f"{Path(name).name}.o")
        text = (tmp_path / f"{name}.asm").read_text(encoding="utf-8")
        files[-1].write_bytes(assemble_text(find_nasm(), Path(name).name, text, "elf64"))
    assert len(files) >= least
    # Where the page assembles them by name, it names all that the header asks for.
    assembled = {words[3] for words in lines(page) if words[0] == "nasm"}
    here = {Path(path).stem for path in assembled if path.startswith(f"{folder}/")}
    assert not here or here == {path.stem for path in files if path.suffix == ".o"}
    options = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", f"-I{tmp_path}"]
    program = tmp_path / "example"
    subprocess.run([*find_cc().command, *options, *files, "-o", program], check=True)
    # Without what every kernel needs the example says that portable code is due.
    expected = 77 if lacking(needs) else 0
    assert subprocess.run([program], check=False).returncode == expected


def test_a_misspelling_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    command = [sys.executable, "-m", "codespell_lib", "--toml", ROOT / "pyproject.toml", page]
    for text, status, said in (
        ("We recieve a message.", 65, "recieve ==> receive"),
        ("We receive a message in whats and INOUT.", 0, ""),
    ):
        page.write_text(text, encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, said in done.stdout) == (status, True)
