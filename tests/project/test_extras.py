"""Extras, by pyproject.toml, the locks and docs/install.md; an absent one is named."""

import re
import sys

import pytest
from helpers.installing import BUILD, OPTIONAL, PROJECT, ROOT, name_of

from ghashgen.support import extras
from ghashgen.support.errors import GhashgenError


def test_extras_are_those_of_the_project() -> None:
    named = {extra: sorted(map(name_of, OPTIONAL[extra])) for extra in extras.EXTRAS}
    assert named == {extra: sorted(held.values()) for extra, held in extras.EXTRAS.items()}
    assert set(OPTIONAL) == {*extras.EXTRAS, "all", "docs", "dev"}
    assert set(extras.USES) == set(extras.EXTRAS)
    (every,) = OPTIONAL["all"]
    assert every == f"ghashgen[{','.join(extras.EXTRAS)}]"


def test_the_document_names_every_extra() -> None:
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    assert rows == {**extras.USES, "all": "all of them"}


def test_the_locks_hold_every_requirement() -> None:
    texts = [(ROOT / ".ci" / f"{lock}.lock").read_text() for lock in ("requirements", "emulate")]
    locked = dict(re.findall(r"^([\w-]+)==(\S+)", "\n".join(texts), re.MULTILINE))
    wanted = [*PROJECT["dependencies"], *(t for e in OPTIONAL if e != "all" for t in OPTIONAL[e])]
    assert {name_of(text) for text in wanted} <= locked.keys()
    # The wheel that the tests build is the one that pip builds.
    (backend,) = BUILD["requires"]
    assert backend == f"setuptools=={locked['setuptools']}"
    assert not [line for text in texts for line in text.splitlines() if line.startswith("--")]


def test_an_absent_extra_is_refused_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.require.cache_clear()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(GhashgenError) as caught:
        extras.require("validate")
    assert caught.value.cause.startswith("cryptography, needed for validating kernels, is not")
    assert caught.value.remedy == f"run: {extras.command('validate')}"
    monkeypatch.undo()
    extras.require("validate")
