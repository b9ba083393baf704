"""Calls of the command line's verbs in the test's process, for tests."""

import pytest
from click.testing import CliRunner, Result

from ghashgen.cli.main import cli
from ghashgen.support.errors import GhashgenError


def called(*words: object) -> Result:
    """Call a verb, and return what it says; its error is raised."""
    result = CliRunner().invoke(cli, [*map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result


def refused(*words: object) -> str:
    """Call a verb, and return the words with which it refuses."""
    with pytest.raises(GhashgenError) as refusal:
        called(*words)
    return str(refusal.value)
