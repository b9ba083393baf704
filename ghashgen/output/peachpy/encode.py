"""Encodes a kernel's functions with PeachPy, and refuses kernels that PeachPy cannot encode."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from ghashgen.arch.core import Abi
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.ir.program import Program
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import axes_of, functions_of
from ghashgen.output.peachpy.instructions import Encoded
from ghashgen.output.peachpy.program import encode
from ghashgen.output.peachpy.tool import WORKER, require
from ghashgen.support.errors import GhashgenError

ISA = "avx"
"""The only instruction set: PeachPy has no EVEX VPCLMULQDQ, and sse would add nothing."""

FAMILY = "hash"
"""The only family: the core that PeachPy encodes for has no AES."""

REGISTER = "register"
"""The value of the axis `swap` that needs no buffer on the stack."""

_SECONDS = 120
"""A kernel takes a second."""

_SPILLS = ("No physical registers", "live virtual registers exceeds")
"""What PeachPy's allocator says when it runs out of registers."""


def check(kernel: Point, abi: Abi = SYSV) -> None:
    """Refuse a kernel that this back end cannot build.

    Raises:
        GhashgenError: names the axis and what to choose instead.
    """
    isa, swap = kernel.instruction_set.name, axes_of(kernel).get("swap", REGISTER)
    if isa != ISA:
        raise GhashgenError(
            f"{kernel.name}: PeachPy builds only kernels of isa {ISA!r}, not {isa!r}",
            f"choose isa {ISA}, or backend own",
        )
    if kernel.family != FAMILY:
        raise GhashgenError(
            f"{kernel.name}: PeachPy builds only kernels of family {FAMILY!r}; it has no AES here",
            f"choose family {FAMILY}, or backend own",
        )
    if swap != REGISTER:
        raise GhashgenError(
            f"{kernel.name}: swap {swap!r} needs a stack buffer, which PeachPy does not get",
            "choose swap register, or backend own",
        )
    if given := [f.name for f in functions_of(kernel).values() if f.returns]:
        raise GhashgenError(
            f"{kernel.name}: PeachPy builds only functions without a return value, and {given[0]} "
            "has one",
            "choose backend own",
        )
    if abi != SYSV:
        raise GhashgenError(
            f"{kernel.name}: PeachPy builds only for abi {SYSV.name!r}, not {abi.name!r}",
            f"choose abi {SYSV.name}, or backend own",
        )


def encoded(kernel: Point, programs: Mapping[str, Program]) -> dict[str, Encoded]:
    """Return a kernel's selected programs as PeachPy encodes them; nothing is run.

    Raises:
        GhashgenError: PeachPy is missing, or refuses the kernel (it cannot spill).
    """
    functions = {name: encode(item, kernel.instruction_set) for name, item in programs.items()}
    answer = _asked(kernel.name, {"functions": functions})
    return {
        name: Encoded(
            name,
            bytes.fromhex(item["code"]),
            {offset: bytes.fromhex(data) for offset, data in item["constants"]},
        )
        for name, item in answer["functions"].items()
    }


def _asked(what: str, request: Mapping[str, Any]) -> Any:
    """Return what the worker answers to a request about `what`."""
    command = [str(require().python), str(WORKER)]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise GhashgenError(f"PeachPy, {what}: no answer in {_SECONDS} s") from None
    # The first line says where PeachPy is.
    _, *answers = done.stdout.splitlines() or [""]
    if not answers:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise GhashgenError(f"PeachPy, {what}: {last} (exit status {done.returncode})")
    answer = json.loads(answers[0])
    if "error" not in answer:
        return answer
    if any(words in answer["detail"] for words in _SPILLS):
        raise GhashgenError(
            f"PeachPy, {what}: its allocator ran out of registers and cannot spill",
            "choose fewer blocks or a simpler variant, or backend own",
        )
    raise GhashgenError(f"PeachPy, {what}: {answer['error']}: {answer['detail']}")
