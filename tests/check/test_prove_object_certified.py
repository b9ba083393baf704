"""`prove-object` by certificates that are searched, or given."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers import open_by_hand
from helpers.verify_objects import assembled

from ghashgen.cli.main import cli
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search import kernel

STATEMENT = f"""
name = "open by hand"
family = "gcm"
abi = "sysv"
key_bits = 128
order = "reflected"
blocks = 1
cells = {json.dumps(open_by_hand.CELLS)}

[functions.open]
symbol = "gcm_open"
parameters = {json.dumps(open_by_hand.OPEN.parameters)}
"""

MUL = """
name = "mul by hand"
abi = "sysv"
order = "reflected"
blocks = 1
cells = ["B1"]

[functions.mul]
symbol = "mul"
parameters = ["table", "state"]
"""

SIZES = ", ".join(
    f"{name} = 0..{(1 << 64) - 1}" for name in ("iv_length", "aad_length", "length", "tag_length")
)
"""What is said of any lengths: those that there may not be are refused."""

NAME = "gcm_open"


def asked(folder: Path, data: bytes, *words: str, text: str = STATEMENT) -> Result:
    """Return what `prove-object` says of an object."""
    (folder / "kernel.o").write_bytes(data)
    (folder / "kernel.toml").write_text(text, encoding="utf-8")
    files = [str(folder / "kernel.o"), "--spec", str(folder / "kernel.toml")]
    return CliRunner().invoke(cli, ["prove-object", *files, "--no-run", *words])


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """What was said of the object by hand, and the certificates that were found."""
    folder = tmp_path_factory.mktemp("searched")
    path = folder / "found.json"
    return asked(folder, open_by_hand.data(), "--save-certificates", str(path)), path


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search be an error."""

    def refuse(*_: object) -> dict[str, Any]:
        raise AssertionError("a certificate is searched")

    monkeypatch.setattr(kernel, "proposed", refuse)


def test_an_open_that_checks_its_tag_first_is_proved(searched: tuple[Result, Path]) -> None:
    said, path = searched
    assert said.exit_code == 0, said.output
    for what in ("function", "memory", "constant-time", "abi"):
        for way in ("apart", "in place"):
            assert f"    {what}: {SIZES}, by certificate, {way}\n" in said.output
    assert sorted(json.loads(path.read_text())["functions"]) == [NAME]


@pytest.mark.usefixtures("no_search")
def test_given_certificates_are_checked_and_nothing_is_searched(
    searched: tuple[Result, Path], tmp_path: Path
) -> None:
    said = asked(tmp_path, open_by_hand.data(), "--certificates", str(searched[1]))
    assert said.exit_code == 0, said.output
    # They prove nothing of another object: 15 bytes of the tag are compared, or nothing is cleared.
    for changes in ({"COMPARED": "17"}, {"WRONG": ""}):
        said = asked(tmp_path, open_by_hand.data(**changes), "--certificates", str(searched[1]))
        assert "is not proved" in str(said.exception)


@pytest.mark.parametrize("changes", [{"COMPARED": "17"}, {"HASHED": "OUT"}], ids=str)
def test_for_a_wrong_twin_nothing_is_found(changes: dict[str, str], tmp_path: Path) -> None:
    """The one compares 15 bytes of the tag; the other is right in place alone."""
    path = tmp_path / "found.json"
    said = asked(tmp_path, open_by_hand.data(**changes), "--save-certificates", str(path))
    assert "is not proved" in str(said.exception)
    assert json.loads(path.read_text())["functions"] == {}


@pytest.mark.usefixtures("no_search")
def test_a_function_needs_its_certificate(searched: tuple[Result, Path], tmp_path: Path) -> None:
    document = json.loads(searched[1].read_text())
    path = tmp_path / "given.json"
    del document["functions"][NAME]
    path.write_text(json.dumps(document))
    said = asked(tmp_path, open_by_hand.data(), "--certificates", str(path))
    assert "a certificate is searched" in str(said.exception)
    document = json.loads(searched[1].read_text())
    document["functions"][NAME]["assertions"]["loop2"]["falls"] = "0"
    path.write_text(json.dumps(document))
    said = asked(tmp_path, open_by_hand.data(), "--certificates", str(path))
    assert "does not fall" in str(said.exception)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "has no certificates: Expecting"),
        ("[]", "has no certificates: unsupported: no certificates of this schema"),
        ('{"schema": 2, "functions": {}}', "no certificates of this schema"),
        ('{"schema": 1, "functions": {"mul": {}}}', "certificates of mul, which the statement"),
        ('{"schema": 1, "functions": {"a\\nb": {}}}', "no certificates of this schema"),
        ('{"schema": 2, "schema": 1, "functions": {}}', "a key occurs twice"),
        ('{"schema": 1, "functions": {"gcm_open": {"a": 0, "a": 0}}}', "a key occurs twice"),
    ],
)
def test_other_files_are_refused_in_one_line(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_text(text)
    said = asked(tmp_path, open_by_hand.data(), "--certificates", str(path))
    assert why in str(said.exception)
    absent = asked(tmp_path, open_by_hand.data(), "--certificates", str(tmp_path / "absent"))
    assert "has no certificates" in str(absent.exception)


@pytest.mark.parametrize(
    "words",
    ["--abi win64", "--abi sysv", "--table-align 64", "--symbol x", "--isa avx", "--name x"],
)
def test_a_statement_excludes_other_claims(words: str, tmp_path: Path) -> None:
    said = asked(tmp_path, b"", *words.split())
    assert "the file of --spec states all" in str(said.exception)


def test_a_wrong_result_is_told(tmp_path: Path) -> None:
    data = assembled(
        "global mul:function\nsection .text\nmul: ret\n"
        "section .note.GNU-stack noalloc noexec nowrite progbits\n"
    )
    said = asked(tmp_path, data, text=MUL)
    assert "is not proved: function: mul: the state is not written" in str(said.exception)


@pytest.mark.parametrize(
    ("line", "category", "advice"),
    [
        ("mov rax, [rdi + 16]", "memory", "do not use it"),
        ("mov rbx, 1", "abi", "do not use it"),
        ("popcnt rax, rdi", "unsupported", "neither proved nor shown wrong"),
    ],
)
def test_a_fault_is_told_with_advice(line: str, category: str, advice: str, tmp_path: Path) -> None:
    data = assembled(
        f"global mul:function\nsection .text\nmul: {line}\nret\n"
        "section .note.GNU-stack noalloc noexec nowrite progbits\n"
    )
    said = asked(tmp_path, data, text=MUL)
    assert f"is not proved: {category}: mul" in str(said.exception)
    assert isinstance(said.exception, GhashgenError)
    assert said.exception.remedy == advice


@pytest.mark.parametrize("unit", [1, 16])
def test_a_statement_in_whole_blocks_is_not_the_checkers(unit: int, tmp_path: Path) -> None:
    """The object takes bytes. A caller who counts blocks would pass 1 for a block."""
    text = f"{STATEMENT}length_multiple = 16\nlength_unit = {unit}\n"
    said = asked(tmp_path, open_by_hand.data(), text=text)
    assert "is not proved" in str(said.exception)
    whole = replace(open_by_hand.OPEN, length_multiple=16, length_unit=unit)
    with pytest.raises(Refutation, match="of any number of bytes only"):
        open_by_hand.SPEC.meaning(whole)


@pytest.mark.parametrize("operation", ["start", "aad", "init"])
def test_a_unit_of_a_length_that_there_is_not_is_refused(operation: str) -> None:
    parameters = open_by_hand.OPERATIONS[operation]
    with pytest.raises(GhashgenError, match="and no parameter length"):
        open_by_hand.GcmFunction(operation, "it", parameters, length_multiple=16, length_unit=16)


def test_a_function_without_rules_needs_no_certificate() -> None:
    other = SimpleNamespace(symbol="gcm_other", operation="other")
    with pytest.raises(Refutation, match="no rules of the checker cover other"):
        open_by_hand.SPEC.meaning(other)
