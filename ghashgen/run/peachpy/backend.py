"""The worker's client: PeachPy builds, loads and calls kernels, without an assembler."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.ir.program import Program
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.output.peachpy.encode import answered, check, request
from ghashgen.output.peachpy.instructions import Encoded
from ghashgen.output.peachpy.process import WorkerProcess
from ghashgen.output.peachpy.tool import PeachPyTool, require
from ghashgen.run.harness import Vector
from ghashgen.support.errors import GhashgenError

_SCRIPTS_A_REQUEST = 64


def _check(kernel: Kernel) -> None:
    """Refuse kernels that PeachPy cannot encode, or would not end as requested."""
    check(kernel)
    if kernel.wipe:
        raise GhashgenError("PeachPy's own epilogue wipes nothing", "choose a kernel without wipe")


class Session(AbstractContextManager["Session"]):
    """One worker process, which serves many calls; a context manager.

    It starts with the first request, and again if it died.
    """

    def __init__(self, tool: PeachPyTool | None = None) -> None:
        self._tool = tool
        self._worker: WorkerProcess | None = None
        self._loaded: dict[Kernel, Mapping[str, Encoded]] = {}

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None
        self._loaded = {}

    def load(
        self, kernel: Kernel, programs: Mapping[str, Program] | None = None
    ) -> Mapping[str, Encoded]:
        """Build and load a kernel's functions; return them by name (init, mul, update).

        `programs` are selected programs that replace the kernel's own.

        Raises:
            GhashgenError: PeachPy is missing, or refuses the kernel (it cannot spill).
        """
        _check(kernel)
        if programs is None:
            if kernel in self._loaded:
                return self._loaded[kernel]
            compiled = compile_kernel(kernel, SYSV)
            programs = {name: item.selected for name, item in compiled.items()}
        loaded = answered(self._ask(kernel, request("load", kernel, programs)))
        self._loaded[kernel] = loaded
        return loaded

    def run(self, kernel: Kernel, vectors: Sequence[Vector]) -> list[bytes]:
        """Return the state of each vector, 16 bytes, after init and one update for each chunk.

        Raises:
            GhashgenError: as `load`, or a call faulted or wrote outside its buffers.
        """
        scripts = []
        for vector in vectors:
            names = [f"in{i}" for i in range(len(vector.chunks))]
            chunks = {
                name: {"hex": chunk.hex()} for name, chunk in zip(names, vector.chunks, strict=True)
            }
            updates = [
                _call("update", {"in": name, "len": len(chunk)})
                for name, chunk in zip(names, vector.chunks, strict=True)
            ]
            scripts.append(_script(kernel, vector, chunks, updates))
        return self._states(kernel, scripts)

    def multiply(self, kernel: Kernel, vectors: Sequence[Vector]) -> list[bytes]:
        """Return x·H of each vector, 16 bytes, after init and mul; chunks are not used.

        Raises:
            GhashgenError: as `run`.
        """
        scripts = [_script(kernel, vector, {}, [_call("mul")]) for vector in vectors]
        return self._states(kernel, scripts)

    def _states(self, kernel: Kernel, scripts: Sequence[dict[str, Any]]) -> list[bytes]:
        self.load(kernel)
        out: list[bytes] = []
        for at in range(0, len(scripts), _SCRIPTS_A_REQUEST):
            part = scripts[at : at + _SCRIPTS_A_REQUEST]
            asked = {"op": "run", "kernel": kernel.name, "scripts": part}
            results = self._ask(kernel, asked)["results"]
            out.extend(bytes.fromhex(result["x"]) for result in results)
        return out

    def _ask(self, kernel: Kernel, asked: Mapping[str, Any]) -> Any:
        if self._worker is None:
            self._tool = self._tool or require()
            self._worker = WorkerProcess(self._tool)
        try:
            return self._worker.ask(kernel.name, asked)
        except GhashgenError:
            if self._worker.dead:
                self.close()
            raise


def _call(function: str, given: Mapping[str, str | int] = MappingProxyType({})) -> list[str | int]:
    """Return a call for the worker; a parameter is the buffer of its name, or a given value."""
    params = FAMILY.functions()[function].params
    return [function, *(given.get(param.name, param.name) for param in params)]


def _script(
    kernel: Kernel, vector: Vector, chunks: Mapping[str, Any], calls: Sequence[list[Any]]
) -> dict[str, Any]:
    """Return the buffers and calls of one vector; init comes first."""
    return {
        "buffers": {
            "table": {"size": kernel.table_bytes, "align": kernel.instruction_set.operand_align},
            "h": {"hex": vector.h.hex()},
            "x": {"hex": vector.x.hex()},
            **chunks,
        },
        "calls": [_call("init"), *calls],
        "results": ["x"],
    }


def compile_function(selected: Program, kernel: Kernel, name: str) -> Encoded:
    """Return one selected function of a kernel as PeachPy encodes it.

    Raises:
        GhashgenError: PeachPy is missing, or refuses the function.
    """
    with Session() as session:
        return session.load(kernel, {name: selected})[name]


def run(kernel: Kernel, vectors: Sequence[Vector]) -> list[bytes]:
    """Return the final states of vectors, like `run.harness.Harness.run`, in a new session.

    Raises:
        GhashgenError: as `Session.run`.
    """
    with Session() as session:
        return session.run(kernel, vectors)
