"""Verdicts that are kept: a forged, cut or foreign one is noticed, an untouched one is used."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace as changed

from ghashgen.check import proofs, verdicts
from ghashgen.check.trusted import ROOTS
from ghashgen.cli.verbs import prove as command
from ghashgen.cli.verbs.options import default_out
from ghashgen.kernels import manifest
from ghashgen.output.artefact import sha256
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import state_folder
from ghashgen.support.sealed import KEY, KEY_BYTES, Seal, seal_of
from ghashgen.verify.prove import Proof, Search, prove_object
from ghashgen.verify.statements.hash import KernelSpec

SMALL, OTHER = "ghash_avx_k_clmul1_x1", "ghash_avx_schoolbook_clmul2_x1"


@dataclass
class Project:
    """The verb with files of its own; one kernel at a time, so that no worker is started."""

    root: Path
    proved: list[str] = field(default_factory=list)

    def run(self, *options: str, name: str = SMALL) -> Result:
        return CliRunner().invoke(command.COMMAND, ["--name", name, *options])

    def proves(self, *options: str, name: str = SMALL) -> int:
        """Return how often the prover was called for a kernel that must come out as proved."""
        before = len(self.proved)
        result = self.run(*options, name=name)
        assert result.exit_code == 0, (result.output, result.exception)
        assert "1 of 1 kernel proved" in result.output
        return len(self.proved) - before

    def refuses(self, *options: str) -> int:
        """Return the same for one that must not."""
        before = len(self.proved)
        result = self.run(*options)
        assert isinstance(result.exception, GhashgenError), result.output
        assert f"not proved: 1 of 1 kernel, first {SMALL}" in str(result.exception)
        return len(self.proved) - before

    def break_kernel(self) -> None:
        """Plant a fault in the file, with a manifest that vouches for it: a constant of Q'."""
        entries = manifest.load(self.root)
        entry = entries[SMALL]
        path = self.root / entry.file
        text = path.read_text()
        assert text.count("0xc2\n") == 1
        text = text.replace("0xc2\n", "0xc3\n")
        path.write_text(text)
        entries[SMALL] = changed(entry, sha256=sha256(text.encode()))
        (self.root / manifest.NAME).write_text(manifest.dump(entries.values(), {}))

    @property
    def verdict(self) -> Path:
        """The file of the last verdict."""
        return max((self.root / "proofs").iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def objects(self, name: str) -> Path:
        (found,) = (self.root / "obj").glob(f"{name}-*.o")
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    entries = manifest.load(default_out())
    two = [entries[name] for name in (SMALL, OTHER)]
    for entry in two:
        path = tmp_path / entry.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes((default_out() / entry.file).read_bytes())
    (tmp_path / manifest.NAME).write_text(manifest.dump(two, {}))
    made = Project(tmp_path)

    def counted(obj: bytes, spec: KernelSpec, search: Search) -> Proof:
        made.proved.append(spec.name)
        return prove_object(obj, spec, search)

    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))
    monkeypatch.setattr(command, "default_out", lambda: tmp_path)
    monkeypatch.setattr(command, "build_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(proofs, "prove_object", counted)
    return made


def test_an_untouched_verdict_is_used_and_said_to_be(project: Project) -> None:
    assert project.proves() == 1
    assert project.proves() == 0
    result = project.run()
    assert "1 of 1 verdict from an earlier run" in result.stderr
    assert project.proves("--no-cache") == 1
    assert "from an earlier run" not in project.run("--no-cache").stderr
    assert project.proves() == 0


def test_a_refutation_is_kept_too(project: Project) -> None:
    project.break_kernel()
    assert project.refuses() == 1
    assert project.refuses() == 0


def _turned(verdict: bytes) -> bytes:
    return json.dumps(json.loads(verdict) | {"proved": True, "refutation": None}).encode()


FORGED: dict[str, Callable[[bytes, bytes], tuple[bytes, bytes]]] = {
    "one word": lambda seal, old: (seal, old.replace(b'"proved":false', b'"proved":true')),
    "as if proved": lambda seal, old: (seal, _turned(old)),
    "no seal": lambda seal, old: (b"", _turned(old)),
    "sealed by a hash": lambda seal, old: (sha256(_turned(old)).encode(), _turned(old)),
    "sealed by another": lambda seal, old: (
        Seal(b"k" * KEY_BYTES).of("verdict", _turned(old)),
        _turned(old),
    ),
}
"""What becomes of a verdict's seal and of its words."""


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_a_broken_kernel_is_not_proved_by_editing_its_verdict(
    project: Project, forge: Callable[[bytes, bytes], tuple[bytes, bytes]]
) -> None:
    project.break_kernel()
    assert project.refuses() == 1
    seal, _, words = project.verdict.read_bytes().partition(b"\n")
    forged = forge(seal, words)
    assert forged != (seal, words)
    project.verdict.write_bytes(b"\n".join(forged))
    assert f"the seal does not fit, proved again: {SMALL}" in project.run().stderr
    assert len(project.proved) == 2
    assert project.refuses() == 0


def test_nor_by_the_verdict_on_the_right_one_or_on_another(project: Project) -> None:
    assert project.proves() == 1
    right = project.verdict.read_bytes()
    assert project.proves(name=OTHER) == 1
    other = project.verdict.read_bytes()
    project.break_kernel()
    assert project.refuses() == 1
    broken = project.verdict
    for replayed in (right, other):
        broken.write_bytes(replayed)
        assert project.refuses() == 1


def test_nor_by_the_object_of_the_right_one_or_of_another(project: Project) -> None:
    assert project.proves() == project.proves(name=OTHER) == 1
    pairs = [
        (obj.read_bytes(), seal_of(obj).read_bytes())
        for obj in map(project.objects, (SMALL, OTHER))
    ]
    for path in (project.objects(SMALL), seal_of(project.objects(SMALL))):
        path.unlink()
    project.break_kernel()
    assert project.refuses() == 1
    wrong = project.objects(SMALL)
    bytes_of_wrong = wrong.read_bytes()
    for obj, seal in pairs:
        wrong.write_bytes(obj)
        seal_of(wrong).write_bytes(seal)
        assert project.refuses() == 0
        assert wrong.read_bytes() == bytes_of_wrong


def test_an_object_exchanged_for_a_wrong_one_is_assembled_again(project: Project) -> None:
    assert project.proves() == project.proves(name=OTHER) == 1
    right = project.objects(SMALL).read_bytes()
    project.objects(SMALL).write_bytes(project.objects(OTHER).read_bytes())
    assert project.proves() == 0
    assert project.objects(SMALL).read_bytes() == right


def test_a_kernel_that_exports_more_than_is_stated_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is told that a kernel is proved takes that for all that it exports."""
    own = proofs.statement

    def narrower(*kernel: Any) -> KernelSpec:
        stated: KernelSpec = own(*kernel)
        return replace(stated, functions=stated.functions[:2])

    monkeypatch.setattr(proofs, "statement", narrower)
    result = project.run()
    assert isinstance(result.exception, GhashgenError)
    assert f"{SMALL} exports {SMALL}_update, which its statement lacks" in str(result.exception)
    assert not list((project.root / "proofs").glob("*"))


def test_a_verdict_that_was_cut_short_is_not_read(project: Project) -> None:
    assert project.proves() == 1
    whole = project.verdict.read_bytes()
    line = whole.index(b"\n")
    for length in (0, 1, line, line + 1, len(whole) // 2, len(whole) - 1):
        project.verdict.write_bytes(whole[:length])
        assert project.proves() == 1
        assert project.proves() == 0
    project.verdict.write_bytes(whole + b" ")
    assert project.proves() == 1


@pytest.mark.parametrize("name", [*verdicts.READERS, "capstone library", "python", "optimize"])
def test_another_version_proves_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert project.proves() == 1
    real = verdicts.versions()
    assert real[name]
    monkeypatch.setattr(verdicts, "versions", lambda: real | {name: f"{real[name]}.1"})
    assert project.proves() == 1
    monkeypatch.setattr(verdicts, "versions", lambda: real)
    assert project.proves() == 0


@pytest.mark.parametrize(
    "name",
    [
        "doit.toml",
        "check.py",
        "certified.py",
        "checking.py",
        "gf128.py",
        "forms.py",
        "proofs.py",
        "verdicts.py",
    ],
)
def test_other_sources_prove_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert project.proves() == 1
    real = Path.read_bytes

    def changed(path: Path) -> bytes:
        return real(path) + (b"#" if path.name == name else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    assert project.proves() == 1


def test_another_statement_proves_again(project: Project) -> None:
    assert project.proves() == 1
    assert project.proves("--table-align", "64") == 1
    assert project.proves() == 0


def test_without_its_key_nothing_is_believed(project: Project) -> None:
    key = state_folder() / KEY
    assert project.proves() == 1
    held = key.read_bytes()
    key.unlink()
    assert project.proves() == 1, "another key"
    assert key.read_bytes() != held
    key.chmod(0o644)
    result = project.run()
    assert f"verdicts are not cached: {key} is open to others: delete it" in result.stderr
    assert project.proves() == 1


def test_what_the_prover_imports_is_among_the_sources() -> None:
    script = (
        f"import sys, {', '.join(ROOTS)}\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'ghashgen'))"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    imported = {Path(name).resolve() for name in answer.stdout.decode().split()}
    assert len(imported) > 40
    assert imported <= {path.resolve() for path in verdicts.sources()}
    assert verdicts.PACKAGE / "verify" / "x86_64" / "doit.toml" in verdicts.sources()


def test_kernels_that_are_kept_come_in_their_order_among_others(project: Project) -> None:
    assert project.proves(name=OTHER) == 1
    result = project.run("--name", OTHER, "--json")
    assert result.exit_code == 0, result.output
    assert [item["kernel"] for item in json.loads(result.stdout)] == [SMALL, OTHER]
    assert project.proved == [OTHER, SMALL]
    assert "1 of 2 verdicts from an earlier run" in result.stderr
