"""Calls of `ghashgen vendor`, for tests."""

from typing import Any

import pytest
from click.testing import CliRunner

from ghashgen.cli.main import cli
from ghashgen.support.errors import GhashgenError


def vendor(*words: object) -> Any:
    """Run it, and return what it says; its error is raised."""
    result = CliRunner().invoke(cli, ["vendor", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result


def refused(*words: object) -> str:
    """Return the words with which it refuses."""
    with pytest.raises(GhashgenError) as refusal:
        vendor(*words)
    return str(refusal.value)
