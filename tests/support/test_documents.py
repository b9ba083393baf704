"""Files of JSON and TOML: what does not fit its type is refused in one line that says where."""

from pathlib import Path

import pytest
from msgspec import Struct

from ghashgen.support.documents import Document, converted
from ghashgen.support.errors import GhashgenError


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    size: int | None
    counts: dict[str, int] = {}


class Whole(Struct, frozen=True):
    parts: tuple[Part, ...]
    named: dict[str, dict[str, Part]] = {}


FILE = Document(Whole, "is no whole", "write one", schema=1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Input data was truncated"),
        ("{", "Input data was truncated"),
        ('"schema": 1', "JSON is malformed: trailing characters (byte 9)"),
        ("[]", "expected a table, got a list"),
        ("{}", "lacks 'schema'"),
        ('{"schema": 2}', "schema 2, this version reads 1"),
        ('{"schema": 1}', "lacks 'parts'"),
        ('{"schema": 1, "parts": 1}', "parts: expected a list, got int"),
        ('{"schema": 1, "parts": [{}]}', "parts[0]: lacks 'size'"),
        ('{"schema": 1, "parts": [{"size": "4"}]}', "parts[0].size: expected int or null, got str"),
        (
            '{"schema": 1, "parts": [{"size": true}]}',
            "parts[0].size: expected int or null, got bool",
        ),
        ('{"schema": 1, "parts": [{"size": 1, "sise": 1}]}', "parts[0]: unknown key 'sise'"),
        (
            '{"schema": 1, "parts": [{"size": 1, "counts": {"a": 1, "b": "x", "c": "y"}}]}',
            "parts[0].counts.b: expected int, got str",
        ),
        (
            '{"schema": 1, "parts": [], "named": {"a": {}, "b": {"c": {"size": 1}, "d.e": {}}, '
            '"f": {"g": {}}}}',
            "named.b.d.e: lacks 'size'",
        ),
    ],
)
def test_what_does_not_fit_is_one_line_that_says_where(text: str, why: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        FILE.parse(text, "x.json")
    assert refusal.value.cause == f"x.json is no whole: {why}"
    assert refusal.value.remedy == "write one"


def test_files_are_json_or_toml_by_their_name(tmp_path: Path) -> None:
    wanted = Whole((Part(4, {"a": 1}),))
    (tmp_path / "x.json").write_text('{"schema": 1, "parts": [{"size": 4, "counts": {"a": 1}}]}')
    (tmp_path / "x.toml").write_text("schema = 1\n[[parts]]\nsize = 4\ncounts.a = 1\n")
    assert FILE.read(tmp_path / "x.json") == FILE.read(tmp_path / "x.toml") == wanted
    for name, content in (("bad.toml", b"parts = ["), ("bad.json", b"{"), ("utf.toml", b"\xff")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(GhashgenError, match=f"{name} is no whole: "):
            FILE.read(tmp_path / name)
    with pytest.raises(GhashgenError, match=r"none\.json: No such file"):
        FILE.read(tmp_path / "none.json")
    with pytest.raises(GhashgenError, match="Is a directory"):
        FILE.read(tmp_path)


def test_a_part_of_a_file_names_its_place() -> None:
    assert converted({"size": None}, Part, "parts[3]") == Part(None)
    with pytest.raises(ValueError, match=r"^parts\[3\]: lacks 'size'$"):
        converted({}, Part, "parts[3]")
    with pytest.raises(ValueError, match=r"^parts\[3\]\.counts\.b: expected int, got str$"):
        converted({"size": 1, "counts": {"b": "x"}}, Part, "parts[3]")
