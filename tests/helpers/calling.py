"""The command line, called in the test's process, which has imported it already."""

import contextlib
import io
import subprocess
import sys

import pytest

from ghashgen.cli import main as program


def here(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Call it with these words, in an environment with these variables; it takes no signals."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        patch.setattr(sys, "argv", ["ghashgen", *words])
        patch.setattr(program, "heed", lambda: None)
        for name, value in variables.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            program.main()
    status = ended.value.code
    assert status is None or isinstance(status, int)
    return subprocess.CompletedProcess(words, status or 0, out.getvalue(), err.getvalue())
