"""The page on the checker: its certificate is of the form that the rules read."""

import json
import re
from pathlib import Path

import pytest

from ghashgen.verify.core.linear import Linear
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.assertion import read_certificate

PAGE = Path(__file__).parent.parent / "docs" / "checker.md"


def shown() -> dict[str, object]:
    """Return the certificate that the page shows."""
    (text,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_the_certificate_that_is_shown_is_read() -> None:
    found = read_certificate(shown())
    assert list(found) == ["loop"]
    assert found["loop"].falls == Linear(-128, (("length", 1), ("t", -128)))


@pytest.mark.parametrize("field", ["at", "unknowns", "among", "facts", "from", "falls"])
def test_each_field_that_is_named_is_needed(field: str) -> None:
    data = shown()
    one = data["assertions"]
    assert isinstance(one, dict)
    assert f"`{field}`" in PAGE.read_text(encoding="utf-8")
    del one["loop"][field]
    with pytest.raises(Refutation):
        read_certificate(data)
