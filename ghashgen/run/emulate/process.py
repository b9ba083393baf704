"""One worker process: starts it, asks it, and reports how it ended."""

import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ghashgen.run.emulate.frames import read_frame, write_frame
from ghashgen.run.emulate.image import Image
from ghashgen.support.child import end
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command

# A call's budget ends it long before; this only catches a worker that hangs.
_REPLY_SECONDS = 300


class WorkerDiedError(Exception):
    """The worker closed its pipe."""


class WorkerFullError(Exception):
    """The worker has no guest memory left."""


class WorkerProcess:
    """One worker process and the images that it holds."""

    def __init__(self) -> None:
        self.images: dict[Image, int] = {}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        package_parent = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, (package_parent, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ghashgen.run.emulate.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {"PYTHONPATH": path},
        )
        try:
            self._hello()
        except BaseException:
            self.close()
            raise

    def _hello(self) -> None:
        try:
            header, _ = self._receive()
        except WorkerDiedError:
            words = self.last_words()
            raise GhashgenError(
                f"the emulator does not start: {words}", f"run: {command('emulate')}"
            ) from None
        if header.get("error") == "import":
            detail = header["detail"]
            cause = "is not installed" if "No module" in detail else f"does not load: {detail}"
            raise GhashgenError(f"bochscpu-python 0.3.1 {cause}", f"run: {command('emulate')}")

    def last_words(self) -> str:
        """Return the last line that the worker printed, and its exit status."""
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'no message'} (status {self._process.returncode})"

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        answers = self._process.stdout
        assert answers is not None
        if not select.select([answers], [], [], _REPLY_SECONDS)[0]:
            self._process.kill()
            raise GhashgenError(
                f"the emulator did not answer within {_REPLY_SECONDS} seconds", "lower the budget"
            )
        try:
            return read_frame(answers)
        except EOFError:
            raise WorkerDiedError from None

    def ask(self, header: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for its answer."""
        requests = self._process.stdin
        assert requests is not None
        try:
            write_frame(requests, header, payload)
        except OSError:
            raise WorkerDiedError from None
        answer, parts = self._receive()
        error = answer.get("error")
        if error == "memory":
            raise WorkerFullError
        if error:
            raise GhashgenError(f"the emulator failed: {error}", "report it with the object")
        return answer, parts

    def image_id(self, image: Image) -> int:
        """Return the worker's number for an image, loading it if necessary."""
        if image not in self.images:
            segments = [[s.address, s.kind, len(s.content)] for s in image.segments]
            contents = b"".join(s.content for s in image.segments)
            answer, _ = self.ask({"op": "image", "segments": segments}, contents)
            self.images[image] = answer["image"]
        return self.images[image]

    def close(self) -> None:
        """End the process and release the pipes."""
        end(self._process)
        self._log.close()
