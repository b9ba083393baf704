"""`ghashgen prove` and the certificates that it keeps: used again, searched anew, only checked."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.verbs import refused

from ghashgen.check.kept import read
from ghashgen.cli.verbs import prove as command
from ghashgen.cli.verbs.options import default_out
from ghashgen.kernels import manifest
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.search import kernel as search

SMALL, OTHER = "ghash_avx_k_clmul1_x1", "ghash_avx_schoolbook_clmul2_x1"
UPDATE = f"{SMALL}_update"


@dataclass
class Project:
    """The verb with a cache of its own."""

    root: Path

    def run(self, *options: str, name: str = SMALL) -> Result:
        return CliRunner().invoke(command.COMMAND, ["--name", name, *options])

    def proves(self, *options: str, name: str = SMALL) -> None:
        result = self.run(*options, name=name)
        assert result.exit_code == 0, (result.output, result.exception)
        assert "1 of 1 kernel proved" in result.output

    def refuses(self, *options: str) -> str:
        """Return the one line of a refusal and what stands above it."""
        result = self.run(*options)
        assert isinstance(result.exception, GhashgenError), result.output
        return f"{result.exception}\n{result.stderr}"

    def path(self, name: str = SMALL, abi: str = "sysv") -> Path:
        code = manifest.load(default_out())[name].object.text_sha256
        return self.root / "certificates" / abi / f"{code}.json"

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the certificates of the small kernel."""
        document = json.loads(self.path().read_text())
        change(document["functions"])
        self.path().write_text(json.dumps(document))

    def forget(self) -> None:
        """Delete the kept verdicts."""
        for path in (self.root / "proofs").iterdir():
            path.unlink()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(command, "build_folder", lambda name: tmp_path / name)
    return Project(tmp_path)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of which certificates are searched."""
    found: list[str] = []
    real = search.proposed

    def noted(image: Any, spec: Any, meaning: Any) -> Any:
        found.append(meaning().symbol)
        return real(image, spec, meaning)

    monkeypatch.setattr(search, "proposed", noted)
    return found


def test_what_is_found_is_kept_and_used_again(project: Project, searches: list[str]) -> None:
    project.proves()
    assert searches == [f"{SMALL}_init", f"{SMALL}_mul", UPDATE]
    assert sorted(read(project.path(), "")) == ["init", "mul", "update"]
    before = project.path().read_bytes()
    project.forget()
    project.proves()
    project.proves("--check")
    assert len(searches) == 3
    assert project.path().read_bytes() == before
    project.proves("--no-cache")
    assert len(searches) == 6
    assert project.path().read_bytes() == before


def test_each_convention_has_its_own(project: Project, searches: list[str]) -> None:
    project.proves("--abi", "win64")
    missing = f"{project.root}/certificates has no certificates of {SMALL}"
    assert missing in project.refuses("--check")
    project.proves()
    assert len(searches) == 6
    project.proves("--check", "--abi", "win64")
    assert len(searches) == 6


def test_the_same_code_finds_them_whatever_its_prefix(
    project: Project, searches: list[str]
) -> None:
    project.proves("--prefix", "other_")
    assert searches == [f"other_{SMALL}_init", f"other_{SMALL}_mul", f"other_{UPDATE}"]
    project.proves("--check")
    project.proves()
    assert len(searches) == 3


def test_a_kept_verdict_is_nothing_without_its_certificates(
    project: Project, searches: list[str]
) -> None:
    project.proves()
    project.path().unlink()
    assert "run ghashgen prove, which searches" in project.refuses("--check")
    project.proves()
    assert len(searches) == 6
    project.proves("--check")


def _level(functions: dict[str, Any]) -> None:
    functions["update"]["assertions"]["loop"]["falls"] = "0"


def _hashed(functions: dict[str, Any]) -> None:
    """A block is claimed that has not been hashed."""
    ghost = functions["update"]["assertions"]["loop"]["ghosts"]["x"]
    ghost["hashed"] = f"{ghost['hashed']}+16"


def _left_out(functions: dict[str, Any]) -> None:
    del functions["update"]


def _no_certificate(functions: dict[str, Any]) -> None:
    functions["update"] = {"assertions": []}


WRONG = [_level, _hashed, _left_out, _no_certificate]


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change.__name__)
def test_a_wrong_one_is_refused_and_searched_again(
    project: Project, searches: list[str], change: Callable[[dict[str, Any]], None]
) -> None:
    project.proves()
    before = project.path().read_bytes()
    project.edit(change)
    said = project.refuses("--check")
    assert f"not proved: 1 of 1 kernel, first {SMALL}" in said
    assert f"unsupported: {UPDATE}: " in said
    assert "certificate of" in said
    assert len(searches) == 3
    project.forget()
    project.proves()
    assert searches[3:] == [UPDATE]
    assert project.path().read_bytes() == before
    project.proves("--check")


def test_the_remedy_of_a_refused_one_works(project: Project, searches: list[str]) -> None:
    """The verdict is still kept: a refused certificate is searched again all the same."""
    project.proves()
    project.edit(_level)
    result = project.run("--check")
    assert isinstance(result.exception, GhashgenError)
    assert result.exception.remedy == "run ghashgen prove --no-cache, which searches for new ones"
    project.proves("--no-cache")
    assert len(searches) == 6
    project.proves("--check")


def test_one_of_another_function_is_refused(project: Project) -> None:
    def change(functions: dict[str, Any]) -> None:
        functions["mul"] = functions["update"]

    project.proves()
    project.edit(change)
    assert f"the certificate of {SMALL}_mul is refused" in project.refuses("--check")


def test_those_of_another_kernel_are_refused(project: Project) -> None:
    project.proves()
    project.proves(name=OTHER)
    project.path().write_bytes(project.path(OTHER).read_bytes())
    assert f"the certificate of {UPDATE} is refused" in project.refuses("--check")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2, "functions": {}}'])
def test_a_file_that_holds_none_is_refused_by_its_name(project: Project, text: str) -> None:
    project.proves()
    project.path().write_text(text)
    assert f"{project.path()} has no certificates: " in project.refuses("--check")
    project.forget()
    project.proves()
    project.proves("--check")


def test_who_only_checks_loads_no_more_of_the_search_than_what_hands_on(project: Project) -> None:
    project.proves()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from click.testing import CliRunner\n"
        "from ghashgen.cli.verbs import prove\n"
        "prove.build_folder = lambda name: Path(sys.argv[1]) / name\n"
        f"done = CliRunner().invoke(prove.COMMAND, ['--name', '{SMALL}', '--check'])\n"
        "assert done.exit_code == 0, done.output\n"
        "print([name for name in sys.modules if name.startswith('ghashgen.verify.search')])"
    )
    command_line = [sys.executable, "-c", script, str(project.root)]
    done = subprocess.run(command_line, capture_output=True, text=True, check=True)
    assert done.stdout == "['ghashgen.verify.search', 'ghashgen.verify.search.certified']\n"


def test_identities_have_no_certificates() -> None:
    assert "no --check" in refused("prove", "--identities", "--check")
