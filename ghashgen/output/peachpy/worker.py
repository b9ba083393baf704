"""The PeachPy side: builds functions with PeachPy.

A script of its own: it needs the standard library and PeachPy, nothing of ghashgen, and runs under
any Python from 3.9 on, because PeachPy is usually installed for the system's Python alone.

One JSON object a line. The first out is {"ready": folder of PeachPy, "python": version}, then comes
one answer for each request; one with "error" and "detail" is a refusal. Bytes are hexadecimal.

    {"functions": {name: program}}, programs as `program.py` says
        {"functions": {name: {"code": bytes, "constants": [[offset, bytes], …]}}}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


class Operands:
    """Turns a program's operands into PeachPy's; registers are made as they appear."""

    def __init__(self, program: dict[str, Any]) -> None:
        from peachpy.literal import Constant, uint64_t
        from peachpy.name import Name
        from peachpy.x86_64 import Label

        self._registers: dict[tuple[str, int], Any] = {}
        self.labels = {name: Label("L_" + name) for name, _ in program["blocks"]}
        self._constants = {}
        for name, text in program["constants"].items():
            data = bytes.fromhex(text)
            halves = tuple(int.from_bytes(data[at : at + 8], "little") for at in (0, 8))
            # A Name with `prename` may enter a function's scope at every use of the constant. One
            # with `name`, as Constant.uint64x2(name=…) makes it, is refused at the second use.
            self._constants[name] = Constant(16, 2, halves, uint64_t, Name(prename=name))

    def register(self, kind: str, index: int) -> Any:
        """Return register n of kind x, q or d; d is the low half of q."""
        from peachpy.x86_64 import GeneralPurposeRegister64, XMMRegister

        if kind == "d":
            return self.register("q", index).as_dword
        if (kind, index) not in self._registers:
            made = XMMRegister() if kind == "x" else GeneralPurposeRegister64()
            self._registers[kind, index] = made
        return self._registers[kind, index]

    def operand(self, tagged: list[Any]) -> Any:
        """Return any operand."""
        kind, *rest = tagged
        if kind == "i":
            return rest[0]
        if kind == "l":
            return self.labels[rest[0]]
        return self._memory(rest) if kind == "m" else self.register(kind, rest[0])

    def _memory(self, fields: list[Any]) -> Any:
        from peachpy.x86_64.operand import MemoryAddress, MemoryOperand

        size, base, index, scale, displacement, constant = fields
        if constant is not None:
            return MemoryOperand(self._constants[constant], size)
        indexed = None if index is None else self.register("q", index)
        address = MemoryAddress(
            self.register("q", base), indexed, None if index is None else scale, displacement
        )
        return MemoryOperand(address, size)


def build(name: str, program: dict[str, Any]) -> Any:
    """Return PeachPy's encoded function for the System V ABI, with its registers and encoder."""
    from peachpy import Argument, ptr, size_t, x86_64
    from peachpy.x86_64.uarch import Microarchitecture

    # The features that the kernels claim, so that PeachPy refuses instructions that need more. Its
    # own uarch.sandy_bridge lacks pclmulqdq.
    features = (x86_64.isa.avx, x86_64.isa.pclmulqdq)
    target = Microarchitecture("avx and pclmulqdq", features, 128, 128, 128, 128)
    params = program["params"]
    # Without a name an Argument looks for one in the caller's source text.
    arguments = [Argument(size_t if key == "len" else ptr(), name=key) for _, key in params]
    operands = Operands(program)
    with x86_64.Function(name, tuple(arguments), target=target) as function:
        for position, (index, _) in enumerate(params):
            x86_64.LOAD.ARGUMENT(operands.register("q", index), arguments[position])
        for label, ops in program["blocks"]:
            x86_64.LABEL(operands.labels[label])
            for mnemonic, *rest in ops:
                if mnemonic == "ret":
                    # RETURN, unlike RET, restores what the prologue saved.
                    x86_64.RETURN()
                else:
                    getattr(x86_64, mnemonic.upper())(*[operands.operand(item) for item in rest])
    return function.finalize(x86_64.abi.system_v_x86_64_abi).encode()


def described(encoded: Any) -> dict[str, Any]:
    """Return the bytes before relocation, and the constant that each relocation names."""
    section, data = encoded.code_section, bytes(encoded.const_section.content)
    constants = []
    for item in section.relocations:
        start = item.symbol.offset
        constants.append([item.offset, data[start : start + item.symbol.size].hex()])
    return {"code": bytes(section.content).hex(), "constants": constants}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    made = {name: build(name, program) for name, program in request["functions"].items()}
    return {"functions": {name: described(encoded) for name, encoded in made.items()}}


def hello() -> dict[str, str]:
    """Return the first message: where PeachPy is, or why it cannot be used."""
    try:
        import peachpy.x86_64
    except ImportError as problem:
        return {"error": "import", "detail": str(problem)}
    return {"ready": str(Path(peachpy.__file__).parent), "python": sys.version.split()[0]}


def main() -> None:
    """Serve one client until it closes its side."""
    # Modules beside this script must not hide those of Python or PeachPy.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
    # Keeps a library's output apart from the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    message: dict[str, Any] = hello()
    answers.write(json.dumps(message) + "\n")
    answers.flush()
    if "error" in message:
        return
    for line in sys.stdin:
        try:
            message = answer(json.loads(line))
        except Exception as problem:
            message = {"error": type(problem).__name__, "detail": str(problem)}
        answers.write(json.dumps(message) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
