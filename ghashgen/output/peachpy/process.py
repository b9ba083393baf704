"""The worker process: starts it, asks it, and reports how it ended."""

import json
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from ghashgen.output.peachpy.tool import WORKER, PeachPyTool
from ghashgen.support.child import end
from ghashgen.support.errors import GhashgenError

# A call takes microseconds and a kernel a second; this only catches a function that never returns.
_SECONDS = 120
_SPILLS = ("No physical registers", "live virtual registers exceeds")
"""What PeachPy's allocator says when it runs out of registers."""


class WorkerProcess:
    """A running worker."""

    def __init__(self, tool: PeachPyTool) -> None:
        self.dead = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            [str(tool.python), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        try:
            self._receive("start")
        except BaseException:
            self.close()
            raise

    def ask(self, what: str, request: Mapping[str, Any]) -> Any:
        """Send a request about `what` and return the answer.

        Raises:
            GhashgenError: PeachPy refused, or a call faulted or did not return; `dead` says whether
            the
                worker has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._death(what) from None
        return self._receive(what)

    def _receive(self, what: str) -> Any:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], _SECONDS)[0]:
            self._process.kill()
            self.dead = True
            raise GhashgenError(f"PeachPy, {what}: no answer in {_SECONDS} s")
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._death(what)
        answer = json.loads(line)
        if "error" in answer:
            raise _refusal(what, answer["error"], answer["detail"])
        return answer

    def _death(self, what: str) -> GhashgenError:
        self.dead = True
        status = self._process.wait()
        if status < 0:
            name = signal.Signals(-status).name
            remedy = "the CPU must have avx and pclmulqdq" if name == "SIGILL" else ""
            return GhashgenError(f"PeachPy, {what}: ended by {name}", remedy)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "no message"
        return GhashgenError(f"PeachPy, {what}: {last} (exit status {status})")

    def close(self) -> None:
        """End the process and release the pipes."""
        self.dead = True
        end(self._process)
        self._log.close()


def _refusal(what: str, error: str, detail: str) -> GhashgenError:
    if any(words in detail for words in _SPILLS):
        return GhashgenError(
            f"PeachPy, {what}: its allocator ran out of registers and cannot spill",
            "choose fewer blocks or a simpler variant, or backend own",
        )
    return GhashgenError(f"PeachPy, {what}: {error}: {detail}")
