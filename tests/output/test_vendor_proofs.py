"""Which proofs `ghashgen vendor` takes from PROOFS.json, and which it makes."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from helpers.verbs import called

from ghashgen.arch.elf import read_elf
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check import evidence, ledger, proofs, recorded, vendoring
from ghashgen.check.proofs import Proved
from ghashgen.check.recorded import Recorded, covering
from ghashgen.check.verdicts import Verdict
from ghashgen.cli.main import cli
from ghashgen.cli.verbs import options
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import Target, runnable
from ghashgen.output import vendored
from ghashgen.output.generate import made
from ghashgen.run.built import Built, build_made
from ghashgen.support import timer
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import find_assembler

pytestmark = pytest.mark.usefixtures("own_cache")

ONE, TWO = "ghash_sse_k_clmul1_x1", "ghash_avx_k_clmul1_x1"
SEALS = "gcm128_avx_winograd_clmul1_x8"
RECORD = project_root() / "generated" / ledger.NAME


class Asked:
    """The kernels that are proved, and whether afresh; any other prover would take minutes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.fresh: list[bool] = []
        monkeypatch.setattr(proofs, "prove", self.prove)

    def prove(
        self,
        kernels: Sequence[Built[Any]],
        folder: Path,
        certificates: Path,
        on_done: Callable[[Any], None],
        fresh: bool,
    ) -> Proved:
        self.names += [built.name for built in kernels]
        self.fresh.append(fresh)
        known = recorded.read().verdicts
        return Proved([known[built.name] for built in kernels], 0, (), "")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


def built(name: str, where: Target, folder: Path) -> Built[Any]:
    kernels = look_up(Choice(name=(name,))).kernels
    artefacts = made(kernels, where, find_assembler(where.syntax.assembler))
    (one,) = build_made(artefacts, where, folder)
    return one


def test_a_recorded_proof_is_not_made_again(tmp_path: Path, asked: Asked) -> None:
    found = called("vendor", "--into", tmp_path, "--name", SEALS, "--name", ONE)
    assert asked.names == []
    assert "proved already, in PROOFS.json: 2 of 2 kernels" in found.stderr
    text = (tmp_path / "VENDORED").read_text()
    assert text.count("for every key, state and message, by the record PROOFS.json:\n") == 2
    assert f"sha256 {sha256(RECORD.read_bytes()).hexdigest()}," in text
    assert "ghashgen vendor --into . --reprove" in text
    verdicts = {v.kernel: v for v in ledger.load(RECORD)}
    for name in (SEALS, ONE):
        assert f"#   .text       sha256 {verdicts[name].text_sha256}\n" in text
    said = json.loads(called("vendor", "--into", tmp_path, "--json").stdout)
    assert sorted(said["proofs_on_record"]) == sorted((SEALS, ONE))


def test_reprove_proves_afresh_and_an_update_repeats_it(tmp_path: Path, asked: Asked) -> None:
    called("vendor", "--into", tmp_path, "--name", ONE)
    # As VENDORED tells an auditor: without naming the kernels.
    found = called("vendor", "--into", tmp_path, "--reprove")
    assert (asked.names, asked.fresh) == ([ONE], [True])
    assert "proved already" not in found.stderr
    assert f"to prove now: {ONE}" in found.stderr
    text = (tmp_path / "VENDORED").read_text()
    assert "PROOFS.json" not in text
    assert "proved from these bytes, for every key, state and message:\n" in text
    record = vendored.read(tmp_path)
    assert record is not None
    assert record.options == ("--name", ONE, "--reprove")
    called("vendor", "--into", tmp_path)
    assert asked.fresh == [True, True]


@pytest.mark.parametrize(
    "words", [("--abi", "win64"), ("--table-align", "64"), ("--prefix", "my_"), ("--syntax", "gas")]
)
def test_another_target_is_proved(tmp_path: Path, asked: Asked, words: tuple[str, ...]) -> None:
    """Even where the code is the same: what was recorded is another statement or object."""
    CliRunner().invoke(cli, ["vendor", "--into", str(tmp_path), "--name", TWO, *words])
    assert asked.names == [TWO]


def test_the_same_code_in_another_format_is_on_record(tmp_path: Path, asked: Asked) -> None:
    """What is proved is the ELF object of the same instructions."""
    called("vendor", "--into", tmp_path, "--name", TWO, "--format", "macho64")
    assert asked.names == []


Change = Callable[[Verdict, Verdict], Verdict]
"""Of the kernel's record and of another one's, a planted record of the kernel."""

FAULTS: dict[str, Change] = {
    "not proved": lambda own, other: msgspec.structs.replace(own, proved=False),
    "of other sections": lambda own, other: msgspec.structs.replace(
        own, code_sha256=other.code_sha256
    ),
    "of other code": lambda own, other: msgspec.structs.replace(own, text_sha256=other.text_sha256),
    "another kernel's": lambda own, other: msgspec.structs.replace(other, kernel=own.kernel),
    "without a function": lambda own, other: msgspec.structs.replace(
        own, functions=own.functions[:-1]
    ),
    "of a function named otherwise": lambda own, other: msgspec.structs.replace(
        own, functions=(*own.functions[:-1], replace(own.functions[-1], operation="mul"))
    ),
}


def test_an_unchanged_record_covers_the_object(tmp_path: Path) -> None:
    record, own = recorded.read(), built(ONE, runnable("sysv"), tmp_path)
    assert covering(record, own) == record.verdicts[ONE]


@pytest.mark.parametrize(
    ("more", "counts"),
    {
        "": True,
        "section .data\n db 1": False,
        "section .rodata.more\n db 1": False,
        "section .text\nmore: ret": False,
    }.items(),
)
def test_only_unwind_tables_do_not_count(tmp_path: Path, more: str, counts: bool) -> None:
    where, tool = replace(runnable("sysv"), unwind=True), find_nasm()
    (artefact,) = made(look_up(Choice(name=(ONE,))).kernels, where, tool)
    artefact = replace(artefact, text=f"{artefact.text}{more}\n")
    (own,) = build_made((artefact,), where, tmp_path)
    record = recorded.read()
    assert read_elf(own.obj.read_bytes()).named(".eh_frame")
    assert covering(record, own) == (record.verdicts[ONE] if counts else None)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_record_with_a_fault_covers_nothing(tmp_path: Path, fault: str) -> None:
    record, own = recorded.read(), built(ONE, runnable("sysv"), tmp_path)
    planted = FAULTS[fault](record.verdicts[ONE], record.verdicts[TWO])
    assert planted != record.verdicts[ONE]
    assert covering(Recorded({ONE: planted}), own) is None


def test_no_record_covers_nothing(tmp_path: Path) -> None:
    own = built(ONE, runnable("sysv"), tmp_path)
    assert covering(Recorded({}), own) is None


@pytest.mark.parametrize("section", [".text", ".rodata"])
def test_a_changed_byte_of_the_object_is_not_on_record(tmp_path: Path, section: str) -> None:
    from elftools.elf.elffile import ELFFile

    own, record = built(ONE, runnable("sysv"), tmp_path), recorded.read()
    with own.obj.open("rb") as file:
        found = ELFFile(file).get_section_by_name(section)
        assert found is not None
        at = found["sh_offset"]
    data = bytearray(own.obj.read_bytes())
    data[at] ^= 1
    own.obj.write_bytes(bytes(data))
    assert covering(record, own) is None


def test_a_kernel_of_that_name_with_other_axes_is_not_on_record(tmp_path: Path) -> None:
    """The name decides nothing: the kernel has to be the catalogue's."""
    own, other = (built(name, runnable("sysv"), tmp_path) for name in (ONE, TWO))
    record = recorded.read()
    posing = replace(own, kernel=replace(other.kernel, isa="sse", blocks=2))
    verdicts = {posing.kernel.name: record.verdicts[ONE]}
    assert covering(Recorded(verdicts), posing) is None


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of a copy of PROOFS.json that is read instead."""
    path = tmp_path / "root" / "generated" / ledger.NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(RECORD.read_bytes())
    monkeypatch.setattr(recorded, "project_root", lambda: tmp_path / "root")
    return path


def test_an_edited_record_counts_for_nothing(tmp_path: Path, elsewhere: Path, asked: Asked) -> None:
    elsewhere.write_text(RECORD.read_text().replace(ONE, "ghash_sse_k_clmul1_x9"))
    found = recorded.read()
    assert (found.verdicts, found.sha256) == ({}, "")
    assert "was changed: its hash differs" in found.why
    planned = _plan(tmp_path / "own", TWO)
    assert [each.name for each in planned.unrecorded] == [TWO]


def _plan(into: Path, name: str) -> evidence.Plan:
    from ghashgen.output.hosts.registry import DEFAULT, hosts

    kernels = look_up(Choice(name=(name,))).kernels
    order = vendoring.Order(kernels, (Target(),), hosts()[DEFAULT], ("--name", name))
    prepared = vendoring.prepare(order, into, False)
    return evidence.plan(prepared.artefacts, False)


@pytest.mark.parametrize("text", [None, "{}", "no JSON"])
def test_a_missing_record_says_so_and_everything_is_proved(
    tmp_path: Path, elsewhere: Path, asked: Asked, text: str | None
) -> None:
    if text is None:
        elsewhere.unlink()
    else:
        elsewhere.write_text(text)
    found = recorded.read()
    assert found.verdicts == {}
    assert str(elsewhere) in found.why
    planned = _plan(tmp_path / "own", ONE)
    assert planned.on_record == {}


def test_the_cause_is_said(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.write_text("{}")
    known = {v.kernel: v for v in ledger.load(RECORD)}
    monkeypatch.setattr(
        proofs, "prove", lambda todo, *rest: Proved([known[b.name] for b in todo], 0, (), "")
    )
    found = called("vendor", "--into", tmp_path / "own", "--name", ONE)
    assert f"no recorded proof counts: {elsewhere}" in found.stderr


def test_a_recorded_proof_of_fewer_lengths_is_refused(
    tmp_path: Path, elsewhere: Path, asked: Asked
) -> None:
    """With a right hash of itself: it is compared with the list of lengths kept by hand."""
    body = json.loads(RECORD.read_text())
    (own,) = (proof for proof in body["proofs"] if proof["kernel"] == ONE)
    for theorem in own["functions"][2]["theorems"]:
        theorem["lengths"] = "16..4611686018427387903"
    elsewhere.write_text(ledger.dump(msgspec.convert(body["proofs"], list[Verdict])))
    planned = _plan(tmp_path / "own", ONE)
    # The hashes agree, so it covers the object, and is refused for what it says.
    assert [kernel.name for kernel, _ in planned.on_record] == [ONE]
    (known,) = evidence.prove(planned, unproved=True)
    assert f"{ONE}_update: function was proved of 16.." in known.refused


# --- An installed package


class Installed(Distribution):
    """A package as its installer lists it."""

    def __init__(self, root: Path, listed: str) -> None:
        self.root, self.listed = root, listed

    def read_text(self, filename: str) -> str | None:
        return self.listed if filename == "RECORD" else None

    def locate_file(self, path: Any) -> Any:
        return self.root / path


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        ("generated/PROOFS.json,sha256={right},1", True),
        ("generated/PROOFS.json,sha256={wrong},1", False),
        ("generated/PROOFS.json,,", False),
        ("other/PROOFS.json,sha256={right},1", False),
        ("generated/MANIFEST.json,sha256={right},1", False),
        ("", False),
    ],
)
def test_the_record_of_an_installed_package_is_the_one_that_was_installed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, row: str, counts: bool
) -> None:
    digest = urlsafe_b64encode(sha256(RECORD.read_bytes()).digest()).rstrip(b"=").decode()
    wrong = urlsafe_b64encode(sha256(b"").digest()).rstrip(b"=").decode()
    listed = row.format(right=digest, wrong=wrong)
    # Files that are not there are not listed by importlib.metadata.
    other = elsewhere.parent.parent / "other" / ledger.NAME
    other.parent.mkdir()
    other.write_bytes(RECORD.read_bytes())
    (elsewhere.parent / "MANIFEST.json").write_bytes(RECORD.read_bytes())
    package = Installed(elsewhere.parent.parent, listed)
    monkeypatch.setattr(recorded, "files", lambda name: package.files)
    monkeypatch.setattr(recorded, "in_clone", lambda: False)
    found = recorded.read()
    assert bool(found.verdicts) is counts
    assert ("is not the file that was installed" in found.why) is not counts


def test_a_package_that_nobody_installed_has_no_record(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(recorded, "files", absent)
    monkeypatch.setattr(recorded, "in_clone", lambda: False)
    assert recorded.read().verdicts == {}


# --- Progress


def test_a_long_item_shows_that_time_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "EVERY", 0.02)
    with options.progress("prove", 2) as advance:
        advance("one")
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            time.sleep(0.01)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("prove: 1 of 2 done in ") for line in lines)


def test_the_timer_stops_with_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    calls: list[int] = []
    before = signal.getsignal(signal.SIGALRM)
    with timer.regularly(0.01, lambda: calls.append(1)):
        time.sleep(0.1)
    seen = len(calls)
    assert seen >= 2
    time.sleep(0.05)
    assert len(calls) == seen
    assert signal.getsignal(signal.SIGALRM) == before
