"""ghashgen vendor: proved kernels in a tree of somebody else's, and what it leaves alone there."""

import json
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.verbs import called, refused

from ghashgen import __version__
from ghashgen.check import evidence, vendoring
from ghashgen.cli.main import cli
from ghashgen.kernels.selection import catalogue
from ghashgen.kernels.target import Target
from ghashgen.output import maker, vendored
from ghashgen.output.artefact import sha256
from ghashgen.output.generate import made
from ghashgen.support.toolchain import Tool

pytestmark = pytest.mark.usefixtures("own_cache")

ONE, TWO = "ghash_sse_k_clmul1_x1", "ghash_avx_k_clmul1_x1"
CHOICE = ("--name", ONE, "--name", TWO)
BUILD = {"CMakeLists.txt", "meson.build", "ghashgen.mk", "ghashgen.pc"}
FILES = BUILD | {
    "LICENSE",
    "VENDORED",
    "ghashgen.h",
    "ghashgen.json",
    "ghashgen_dispatch.c",
    "ghashgen_dispatch.h",
    f"{ONE}.asm",
    f"{TWO}.asm",
}
MINE = "mine.c"


def done(*words: object) -> str:
    return called("vendor", *words).output


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def states(folder: Path) -> dict[str, str]:
    said = CliRunner().invoke(cli, ["vendor", "--check", str(folder)]).output
    lines = [line.split("\t") for line in said.splitlines() if "\t" in line]
    return dict(lines[1:])


@pytest.fixture(scope="module")
def vendored_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two kernels, and a file of its owner's."""
    folder = tmp_path_factory.mktemp("once") / "third_party"
    folder.mkdir()
    (folder / MINE).write_text("/* mine */\n")
    done("--into", folder, *CHOICE)
    return folder


@pytest.fixture
def into(vendored_once: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(vendored_once, tmp_path / "third_party"))


def test_it_writes_what_is_needed_and_no_more(into: Path) -> None:
    assert contents(into).keys() == FILES | {MINE}
    header = (into / "ghashgen.h").read_text()
    assert f"{ONE}_update(" in header
    assert f"{TWO}_update(" in header
    assert header.count("_init(") == 2
    assert "VENDORED has the command" in header
    assert "MANIFEST" not in header


def test_the_same_input_gives_the_same_bytes(into: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "below"
    done("--into", other, *CHOICE)
    assert contents(other) == {name: c for name, c in contents(into).items() if name != MINE}
    assert str(tmp_path) not in (other / "VENDORED").read_text()


def test_one_kernel_has_no_dispatcher(tmp_path: Path) -> None:
    done("--into", tmp_path, "--name", ONE)
    assert contents(tmp_path).keys() == BUILD | {
        "LICENSE",
        "VENDORED",
        "ghashgen.h",
        "ghashgen.json",
        f"{ONE}.asm",
    }


def test_the_record_says_what_is_proved_of_which_bytes(into: Path, nasm: Tool) -> None:
    text = (into / "VENDORED").read_text()
    kernels = [k for k in catalogue() if k.name in (ONE, TWO)]
    for artefact in made(kernels, Target(), nasm):
        assert f"#   .text       sha256 {sha256(artefact.code)}\n" in text
    assert text.count("proved from these bytes, for every key, state and message") == 2
    assert text.count("#     update: function memory constant-time abi\n") == 2
    assert "#       lengths 0..4611686018427387903, by certificate\n" in text
    assert f"#     ghashgen prove --name {ONE}\n" in text
    assert "#   CPU         avx pclmulqdq\n" in text
    assert "NOT PROVED" not in text


def test_the_record_is_read_by_sha256sum(into: Path) -> None:
    def check() -> int:
        words = ["sha256sum", "--check", "--strict", "--quiet", "VENDORED"]
        return subprocess.run(words, cwd=into, check=False, capture_output=True).returncode

    assert check() == 0
    (into / "ghashgen.h").write_text("")
    assert check() == 1


def test_its_commands_make_and_prove_it_again(into: Path) -> None:
    lines = (into / "VENDORED").read_text().splitlines()
    (command,) = {line[2:].strip() for line in lines if f"prove --name {ONE}" in line}
    result = CliRunner().invoke(cli, command.split()[1:])
    assert result.exit_code == 0, result.output
    assert "function memory constant-time abi" in result.output


def test_without_kernels_it_makes_what_the_record_says(into: Path) -> None:
    before = contents(into)
    assert "12 unchanged" in done("--into", into)
    assert contents(into) == before
    (into / f"{ONE}.asm").unlink()
    assert "1 new, 11 unchanged" in done("--into", into)
    assert contents(into) == before


# --- What was edited, what is stale


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_edited_file_stays(into: Path, name: str) -> None:
    path = into / name
    path.write_text(path.read_text().replace("ghash", "gHash", 1))
    before = contents(into)
    said = refused("vendor", "--into", into, *CHOICE)
    assert f"{path} was edited by hand" in said
    assert "--force" in said
    assert contents(into) == before
    assert states(into) == {f: "edited by hand" if f == name else "unchanged" for f in FILES}
    assert "1 rewritten, 11 unchanged" in done("--into", into, *CHOICE, "--force")
    assert set(states(into).values()) == {"unchanged"}


def test_a_file_that_is_not_ours_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("mine\n")
    said = refused("vendor", "--into", tmp_path, "--name", ONE)
    assert "LICENSE exists and VENDORED does not list it" in said
    assert contents(tmp_path) == {"LICENSE": b"mine\n"}


def test_a_folder_in_the_place_of_a_file_is_refused_even_with_force(into: Path) -> None:
    (into / "LICENSE").unlink()
    (into / "LICENSE").mkdir()
    before = contents(into)
    assert "LICENSE is a folder; move it away" in refused(
        "vendor", "--into", into, *CHOICE, "--force"
    )
    assert contents(into) == before
    assert states(into)["LICENSE"] == "edited by hand"


def test_what_is_no_longer_made_is_removed_and_nothing_else(into: Path) -> None:
    assert "3 removed" in done("--into", into, "--name", TWO)
    left = {"LICENSE", "VENDORED", "ghashgen.h", "ghashgen.json", f"{TWO}.asm", MINE}
    assert contents(into).keys() == BUILD | left


def test_what_is_no_longer_made_and_was_edited_stays(into: Path) -> None:
    path = into / f"{ONE}.asm"
    path.write_text("; mine\n")
    before = contents(into)
    assert f"{path} was edited by hand" in refused("vendor", "--into", into, "--name", TWO)
    assert contents(into) == before
    done("--into", into, "--name", TWO, "--force")
    assert not path.exists()


def test_an_edited_record_has_nothing_removed(into: Path) -> None:
    """It might list what is not ours."""
    path = into / "VENDORED"
    mine = f"{sha256((into / MINE).read_bytes())}  {MINE}\n"
    path.write_text(path.read_text().replace("# the lines above", f"{mine}# the lines above"))
    assert "VENDORED was edited by hand" in refused("vendor", "--into", into, "--name", TWO)
    assert "VENDORED was edited by hand, so ghashgen does not trust it" in refused(
        "vendor", "--into", into
    )
    assert "removed" not in done("--into", into, "--name", TWO, "--force")
    assert (into / MINE).exists()
    assert (into / f"{ONE}.asm").exists()


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a/../../outside", "VENDORED"])
def test_a_record_that_lists_files_elsewhere_is_none(into: Path, name: str) -> None:
    path = into / "VENDORED"
    body = path.read_text().partition("# the lines above")[0] + f"{'0' * 64}  {name}\n"
    path.write_text(f"{body}# the lines above: sha256 {sha256(body.encode())}\n")
    for words in (("--into", into, *CHOICE, "--force"), ("--check", into)):
        assert "is not a record of vendored files; restore it" in refused("vendor", *words)


def test_options_of_a_record_name_no_other_folder(into: Path, tmp_path: Path) -> None:
    record = vendored.read(into)
    assert record is not None
    words = (*record.options, "--into", str(tmp_path / "other"))
    (into / "VENDORED").write_text(vendored.dump(replace(record, options=words), ""))
    assert "does not trust it" in refused("vendor", "--into", into)
    assert not (tmp_path / "other").exists()


# --- All or nothing


def interrupt(*_: object, **how: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["made", "build_made", "write_files"])
def test_an_interrupted_run_leaves_what_was_there(
    into: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = contents(into)
    room = evidence if step == "build_made" else vendoring
    monkeypatch.setattr(room, step, interrupt)
    with pytest.raises(SystemExit):
        done("--into", into, "--name", TWO)
    assert contents(into) == before


def test_a_full_disk_leaves_what_was_there(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = contents(into), Path.write_text
    written: list[Path] = []

    def third_fails(path: Path, text: str, **how: str) -> int:
        written.extend([path] if path.parent == into else [])
        if len(written) > 2:
            raise OSError(28, "No space left on device")
        return write(path, text, **how)

    monkeypatch.setattr(Path, "write_text", third_fails)
    said = refused("vendor", "--into", into, *CHOICE, "--prefix", "p_")
    assert "No space left on device; make room" in said
    assert contents(into) == before


def test_a_run_that_was_killed_while_files_were_moved_is_finished_by_the_next(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SIGKILL, or a power cut: nothing can be held back then."""
    words = ("--into", into, *CHOICE, "--table-align", "8")
    move, moved = Path.replace, list[Path]()

    def fifth_dies(path: Path, to: Path) -> Path:
        moved.extend([to] if to.parent == into else [])
        if len(moved) == 5:
            raise InterruptedError("as if killed")
        return move(path, to)

    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", fifth_dies)
        with pytest.raises(InterruptedError):
            done(*words)
    assert set(states(into).values()) == {"edited by hand", "unchanged"}
    assert f"{into / MINE}" not in {str(path) for path in moved}
    done(*words)
    assert set(states(into).values()) == {"unchanged"}
    assert contents(into).keys() == FILES | {MINE}


def test_signals_wait_while_files_are_moved(into: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    move = Path.replace

    def watched(path: Path, to: Path) -> Path:
        if to.parent == into:
            held.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        return move(path, to)

    monkeypatch.setattr(Path, "replace", watched)
    (into / MINE).unlink()
    done("--into", into, "--name", TWO, "--prefix", "p_")
    assert held
    assert all(held)


# --- Whether a folder is current


def test_the_check_says_what_it_compared(into: Path) -> None:
    said = done("--check", into)
    assert "every file has the SHA-256 that VENDORED lists" in said
    assert "nothing was made or proved again" in said


def test_a_missing_file_is_named(into: Path) -> None:
    (into / "ghashgen.h").unlink()
    assert states(into) == {f: "missing" if f == "ghashgen.h" else "unchanged" for f in FILES}
    said = refused("vendor", "--check", into)
    assert f"{into} is not what this version makes: ghashgen.h is missing; " in said


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("0.0.9", f"newer version, {__version__}"),
        (__version__, f"other sources of version {__version__}"),
        ("0.10.0", f"older version, {__version__}"),
    ],
)
def test_another_version_is_told(
    into: Path, monkeypatch: pytest.MonkeyPatch, version: str, state: str
) -> None:
    (into / "LICENSE").write_text("mine\n")
    monkeypatch.setattr(maker, "__version__", version)
    monkeypatch.setattr(maker, "sources_sha256", lambda: "0" * 64)
    assert states(into) == {f: "edited by hand" if f == "LICENSE" else state for f in FILES}
    assert f"{into} is not what this version makes" in refused("vendor", "--check", into)


def test_another_prover_makes_the_record_old_and_no_kernel(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendoring, "sources_sha256", lambda: "0" * 64)
    other = {name for name, state in states(into).items() if state != "unchanged"}
    assert other == {"VENDORED"}
    done("--into", into)
    assert set(states(into).values()) == {"unchanged"}


def test_a_folder_is_compared_without_an_assembler(
    into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert set(states(into).values()) == {"unchanged"}
    done("--check", into)


# --- How it is called


def test_options_alone_are_no_kernels(into: Path) -> None:
    said = refused("vendor", "--into", into, "--prefix", "p_")
    assert f"name all: ghashgen vendor --into {into} --name {ONE} --name {TWO} --prefix p_" in said


def test_json(into: Path) -> None:
    found = json.loads(called("vendor", "--into", str(into), "--json").stdout)
    assert found["files"] == dict.fromkeys(FILES, "unchanged")
    assert (found["kernels"], found["not_proved"]) == ([ONE, TWO], [])
    assert json.loads(done("--check", into, "--json"))["files"] == dict.fromkeys(FILES, "unchanged")
