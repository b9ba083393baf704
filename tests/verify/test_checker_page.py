"""The page on the checker: its example is proved as it stands, and refused as the page says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers.verify_objects import assembled

from ghashgen.cli.verbs.prove_object import COMMAND
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.assertion import Stated, read_certificate

PAGE = (Path(__file__).parents[2] / "docs" / "checker.md").read_text(encoding="utf-8")
CHANGE = re.compile(r"^\| (\w+) \| `([^`]+)` \| `([^`]+)` \| (`+) ?(.+?) ?\4 \|$", re.MULTILINE)
CHANGES = [(rule, old, new, why) for rule, old, new, _, why in CHANGE.findall(PAGE)]


def shown(language: str) -> str:
    """Return the one block of a language that the page has."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert isinstance(text, str)
    return text


def proved(folder: Path, certificates: str) -> Result:
    """Run the page's command on its files, in a folder, with these certificates."""
    files = {"one.toml": shown("toml").encode(), "one.json": certificates.encode()}
    files["one.o"] = assembled(shown("nasm"))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    words = [*("--spec", folder / "one.toml"), *("--certificates", folder / "one.json"), "--no-run"]
    return CliRunner().invoke(COMMAND, [str(folder / "one.o"), *map(str, words)])


def test_the_example_is_proved_by_its_certificate(tmp_path: Path) -> None:
    result = proved(tmp_path, shown("json"))
    assert result.exit_code == 0
    assert result.output.startswith("one: proved\n")


def test_each_rule_of_the_example_refuses_something() -> None:
    assert {rule for rule, *_ in CHANGES} == {"step", "cut", "descend", "end"}


@pytest.mark.parametrize(("rule", "old", "new", "why"), CHANGES)
def test_a_changed_number_is_refused_as_told(
    tmp_path: Path, rule: str, old: str, new: str, why: str
) -> None:
    text = shown("json")
    assert text.count(old) == 1, rule
    result = proved(tmp_path, text.replace(old, new))
    assert f": the certificate of one_update is refused: {why}; neither " in str(result.exception)


@pytest.mark.parametrize("field", sorted(Stated.__struct_encode_fields__))
def test_each_field_is_named_and_needed(field: str) -> None:
    certificate: dict[str, Any] = json.loads(shown("json"))["functions"]["one_update"]
    read_certificate(certificate)
    assert f"`{field}`" in PAGE
    del certificate["assertions"]["loop"][field]
    with pytest.raises(Refutation):
        read_certificate(certificate)
