"""Builds the C harness with a set of kernels, and talks to it.

The harness runs kernels on this machine's CPU between guard pages, through trampolines that check
the calling convention. ``harness/commands.h`` lists its subcommands and exit codes.
"""

import io
import json
import os
import re
import signal
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghashgen.arch.core import Arch
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.run.arguments import Arguments, Memory, buffers_of
from ghashgen.run.machine import NATIVE, machine_for
from ghashgen.run.table import HarnessKernel, check_linkable, write_table
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.programs import program

_CHECK_FAILED, _MISSING = 1, 3
_SECONDS = 600
_GARBAGE = b"\xa5"

States = list[bytes]
"""Final states, 16 bytes each, in the order of the vectors."""


@dataclass(frozen=True)
class Vector:
    """Hash subkey and state (16 bytes, SP 800-38D order), and the bytes of one update for each
    chunk.
    """

    h: bytes
    x: bytes
    chunks: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if len(self.h) != 16 or len(self.x) != 16:
            raise GhashgenError(
                f"a vector has h of {len(self.h)} and x of {len(self.x)} bytes", "both need 16"
            )


@dataclass(frozen=True)
class Listed:
    """A kernel as the harness lists it; ``missing`` are needed features that this CPU lacks."""

    name: str
    isa: str
    abi: str
    blocks: int
    needs: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The outcome of one category of checks; an unfinished one is not ``ok``."""

    category: str
    ok: bool
    ran: bool
    failures: int
    detail: str


@dataclass(frozen=True)
class Report:
    """What ``Harness.check`` found over ``calls`` calls of the kernel's functions."""

    name: str
    findings: tuple[Finding, ...]
    calls: int

    @property
    def ok(self) -> bool:
        """Whether every category ran and passed."""
        return all(finding.ok for finding in self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The categories in which a fault was seen."""
        return tuple(finding for finding in self.findings if finding.ran and not finding.ok)

    @property
    def unfinished(self) -> tuple[Finding, ...]:
        """The categories that did not finish and saw no fault until then."""
        return tuple(finding for finding in self.findings if not finding.ran)


@dataclass(frozen=True)
class Called:
    """What a call left: violations of its convention, in words, and the memory that it may write.

    `register` is the one for returned numbers.
    """

    violations: str
    buffers: Mapping[str, bytes]
    register: int


class MissingFeatures(GhashgenError):  # noqa: N818 - a refusal, like its base
    """The CPU lacks ``features``, which the kernel needs."""

    def __init__(self, cause: str, features: tuple[str, ...]) -> None:
        super().__init__(cause, "use a machine that has them, or an emulator")
        self.features = features


@dataclass(frozen=True)
class Harness:
    """A linked harness."""

    program: Path
    command: tuple[str, ...] = ()
    """The command that runs it, if it is a program for another CPU."""
    how: str = NATIVE
    """native, or the emulator's name."""

    def features(self) -> dict[str, bool]:
        """Return the features of its CPU and operating system, without those of FEATURES_OFF."""
        answer: dict[str, bool] = self._json("features")
        return answer

    def list(self) -> tuple[Listed, ...]:
        """Return the kernels, the portable ones first."""
        return tuple(
            Listed(**{**row, "needs": tuple(row["needs"]), "missing": tuple(row["missing"])})
            for row in self._json("list")
        )

    def run(self, name: str, vectors: Sequence[Vector]) -> States:
        """Return the state of each vector after one update for each chunk.

        Raises MissingFeatures, or GhashgenError if the kernel faults.
        """
        return self._states("run", name, vectors)

    def mul(self, name: str, vectors: Sequence[Vector]) -> States:
        """Return the product x·H of each vector; no vector may have chunks.

        Raises MissingFeatures, or GhashgenError if the kernel faults.
        """
        return self._states("mul", name, vectors)

    def segments(self, name: str, vectors: Sequence[Vector]) -> States:
        """Return the state of each vector after its chunks, each hashed from state 0 and combined.

        Raises MissingFeatures, or GhashgenError if the kernel faults or cannot combine.
        """
        return self._states("segments", name, vectors)

    def power(self, name: str, vectors: Sequence[Vector]) -> States:
        """Return H^m of each vector; m is the first 8 bytes of its x, little-endian; no chunks.

        Raises MissingFeatures, or GhashgenError if the kernel faults or has no power.
        """
        return self._states("power", name, vectors)

    def check(self, name: str) -> Report:
        """Check convention, bounds, alignment and results of a kernel.

        Raises MissingFeatures, or GhashgenError if the check itself fails.
        """
        answer = json.loads(self._call(["check", name], accept=(0, _CHECK_FAILED)))
        findings = tuple(Finding(category, **row) for category, row in answer["checks"].items())
        return Report(answer["name"], findings, answer["calls"])

    def call(
        self, name: str, function: str, calls: Sequence[Arguments], dirty: bool = False
    ) -> Sequence[Called]:
        """Return what calls of a kernel's function do, with each buffer next to a guard page.

        ``dirty``: the upper halves of vector registers hold garbage and are not checked.

        Raises MissingFeatures, or GhashgenError if a call faults or writes beside its buffers.
        """
        output = io.BytesIO(self._call(["call", name, function], encode_calls(calls, dirty)))
        out = []
        for call in calls:
            (size,) = struct.unpack("<Q", output.read(8))
            violations = output.read(size).decode()
            (register,) = struct.unpack("<Q", output.read(8))
            written = [x for x in buffers_of(call) if x.writable]
            buffers = {x.name: output.read(x.size) for x in written}
            out.append(Called(violations, buffers, register))
        return out

    def sampled(self, job: bytes) -> Sequence[str]:
        """Return the lines that ``harness/sampled.c`` writes for a job.

        Raises MissingFeatures, or GhashgenError if the job cannot be run.
        """
        return self._call(["sampled"], job).decode().splitlines()

    def _states(self, command: str, name: str, vectors: Sequence[Vector]) -> States:
        output = self._call([command, name], encode(vectors))
        if len(output) != 16 * len(vectors):
            raise GhashgenError(
                f"{name}: {len(output)} bytes came back for {len(vectors)} vectors", "report this"
            )
        return [output[i : i + 16] for i in range(0, len(output), 16)]

    def _json(self, command: str) -> Any:
        return json.loads(self._call([command]))

    def _call(
        self, arguments: Sequence[str], data: bytes = b"", accept: Sequence[int] = (0,)
    ) -> bytes:
        what = " ".join(arguments)
        # Features hidden on this machine say nothing about an emulated one.
        off = {FEATURES_OFF} if self.command else set()
        try:
            result = subprocess.run(
                [*self.command, str(self.program), *arguments],
                env={name: value for name, value in os.environ.items() if name not in off},
                input=data,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GhashgenError(f"harness {what}: no answer in {_SECONDS} s") from None
        except OSError as error:
            raise GhashgenError(f"{self.program} cannot be run: {error.strerror}") from None
        if result.returncode in accept:
            return result.stdout
        raise _refusal(what, result.returncode, result.stderr.decode(errors="replace"))


def _refusal(what: str, status: int, stderr: str) -> GhashgenError:
    line = stderr.strip().splitlines()[-1] if stderr.strip() else ""
    line = line.removeprefix("ghashgen-harness: ")
    if status == _MISSING:
        match = re.search(r"needs (.*), which", line)
        return MissingFeatures(line, tuple(match[1].split()) if match else ())
    if status < 0:
        name = signal.Signals(-status).name
        return GhashgenError(f"harness {what}: ended by {name}", "harness check says more")
    return GhashgenError(line or f"harness {what}: exit status {status}")


def encode(vectors: Sequence[Vector]) -> bytes:
    """Return the harness's input: "GHV1", u32 count; for each vector h, x, u32 n, u64 lengths,
    chunks.
    """
    parts = [b"GHV1", struct.pack("<I", len(vectors))]
    for vector in vectors:
        lengths = [len(chunk) for chunk in vector.chunks]
        parts += [vector.h, vector.x, struct.pack(f"<I{len(lengths)}Q", len(lengths), *lengths)]
        parts += vector.chunks
    return b"".join(parts)


def encode_calls(calls: Sequence[Arguments], dirty: bool = False) -> bytes:
    """Return the input of ``call``, as specified in ``harness/call.c``."""
    parts = [b"GHC2", struct.pack("<BI", dirty, len(calls))]
    for call in calls:
        buffers = buffers_of(call)
        numbers = {x: i for i, x in enumerate(buffers)}
        parts.append(struct.pack("<I", len(buffers)))
        for x in buffers:
            content = _GARBAGE * x.content if isinstance(x.content, int) else x.content
            flags = x.writable | x.at_start << 1 | bool(x.zeros) << 2
            parts.append(struct.pack("<16sBQQ", x.name.encode()[:16], flags, x.gap, x.size))
            if x.zeros:
                parts.append(struct.pack("<Q", len(content)))
            parts.append(content)
        held = [(numbers[x], at, numbers[y]) for x in buffers for at, y in x.pointers]
        parts.append(struct.pack("<I", len(held)))
        parts += [struct.pack("<IQI", *one) for one in held]
        parts.append(struct.pack("<I", len(call)))
        for value in call:
            if isinstance(value, Memory):
                parts.append(struct.pack("<BQ", 1, numbers[value]))
            else:
                parts.append(struct.pack("<BQ", 0, value % 2**64))
    return b"".join(parts)


def build(kernels: Iterable[HarnessKernel], out_dir: Path, arch: Arch | None = None) -> Harness:
    """Compile the harness into ``out_dir`` and link it with ``kernels``, all of one architecture.

    Every file there is named by a hash of everything that it is made from, so an existing one is
    reused. The architecture is this machine's unless another is named.

    Raises GhashgenError for a kernel that cannot be linked and for missing tools.
    """
    kernels, machine = tuple(kernels), machine_for(arch)
    check_linkable(kernels, machine)
    folder = project_root() / "harness"
    own = folder / machine.name
    sources = [*sorted(folder.glob("*.c")), *sorted([*own.glob("*.c"), *own.glob("*.S")])]
    objects = [kernel.obj for kernel in kernels]
    table = write_table(kernels, out_dir)
    sources.append(table)
    linked_as, headers = machine.linked_as, machine.headers
    made = program(machine.cc, "harness", sources, objects, out_dir, linked_as, headers)
    return Harness(made, machine.command, machine.how)
