"""A Go package without C: the proved bytes for Go's own assembler.

A kernel's object becomes one TEXT: its .text, then its .rodata, whose places are filled in. Calls
go through one adapter for each function, from Go's arguments on the stack to System V's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from ghashgen.arch.elf import Elf, read_elf
from ghashgen.arch.objects import ObjectCode, read_object
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.plan9 import spelled
from ghashgen.kernels.core import Function, Keyed, Word
from ghashgen.kernels.families import families, functions_of
from ghashgen.output.artefact import Artefact, sha256
from ghashgen.output.hosts import go, plain
from ghashgen.support.errors import GhashgenError
from ghashgen.support.templates import environment
from ghashgen.support.toolchain import Tool, assemble_text

_CALLED = ("init", "seal", "open")
_ENTRY = re.compile(r"\b(call(?:Init|Seal|Open)\()([\w.+]+),")
_CONVENTION = "sysv"
_REGISTERS = ("DI", "SI", "DX", "CX", "R8", "R9")
_RELATIVE = {2, 4}
"""R_X86_64_PC32 and R_X86_64_PLT32."""
_LINE = 64
_CHUNKS = {4: "LONG", 2: "WORD", 1: "BYTE"}


def files(artefacts: Sequence[Artefact], tool: Tool) -> Mapping[str, str]:
    """Return the kernels for Go's assembler, and what calls them, by path."""
    for artefact in artefacts:
        _require_taken(artefact)
    own = [_kernel(artefact, tool) for artefact in _ordered(artefacts)]
    stack = max(size for a in artefacts for size in a.audit.stack_bytes.values())
    width = max(map(len, ARCH.features))
    values = {
        "library": artefacts[0].target.library,
        "kernels": own,
        "largest": max(each["table"] for each in own),
        "calls": [_call(functions_of(artefacts[0].kernel)[name], stack) for name in _CALLED],
        "stack": stack,
        "features": [(f"{name:<{width}}", *_place(how)) for name, how in ARCH.features.items()],
    }
    made = {f"{each['name']}_amd64.s": _rendered("kernel.s", each) for each in own}
    for name in ("calls.go", "calls.s"):
        made[f"calls_amd64.{name.partition('.')[2]}"] = _rendered(name, values)
    return made


def _ordered(artefacts: Sequence[Artefact]) -> list[Artefact]:
    """Return kernels in the order in which they are tried, the widest first."""
    preferred = families()["gcm"].preference["isa"]
    return sorted(
        artefacts, key=lambda a: (preferred.index(a.kernel.instruction_set.name), a.kernel.name)
    )


def counting(
    artefacts: Sequence[Artefact], files: Mapping[str, str], symbols: Sequence[str], path: Path
) -> Mapping[str, str]:
    """Return files that count the calls of kernels (`ghashgen.output.hosts.trial.Trial`)."""
    functions = [(functions_of(a.kernel), a) for a in _ordered(artefacts)]
    places = [
        [symbols.index(own[name].symbol_in(a.target.symbol(a.kernel.name))) for name in _CALLED]
        for own, a in functions
    ]
    values = {
        "library": artefacts[0].target.library,
        "places": places,
        "number": len(symbols),
        "path": path,
    }
    return {
        HOST.caller: _ENTRY.sub(r"\1counted(\2),", files[HOST.caller]),
        "counts_amd64.go": _rendered("counts.go", values),
    }


def _require_taken(artefact: Artefact) -> None:
    """Refuse kernels that the adapters cannot call.

    Raises:
        GhashgenError: says what they cannot call.
    """
    kernel, why = artefact.kernel, ""
    if artefact.target.abi.name != _CONVENTION:
        why = f"in the convention {artefact.target.abi.name}"
    elif not isinstance(kernel, Keyed):
        why = "of another family than AES-GCM"
    elif len(functions_of(kernel)["init"].params) != 2:
        why = "for keys of several sizes"
    if why:
        raise GhashgenError(
            f"host {HOST.name} calls no kernel {why}, such as {kernel.name}",
            f"choose kernels of AES-GCM for one key size each, in the convention {_CONVENTION}",
        )


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(f"hosts/go_asm/{template}.j2").render(values)


def _place(how: str) -> tuple[str, str, str]:
    """Return a feature's word of CPUID, bit and state by their names in Go."""
    word, bit, state = how.split(", ")
    return word.lower().replace("_e", "E")[:-2] + word[-2:], bit, state[5:].lower() or "0"


def _call(function: Function[Any], stack: int) -> Mapping[str, Any]:
    """Return how an adapter calls a function: System V AMD64 psABI, section 3.2.3."""
    places = [(param.name, 8 + 8 * i) for i, param in enumerate(function.params)]
    stacked = [(*place, 8 * i) for i, place in enumerate(places[len(_REGISTERS) :])]
    types = ["uint64" if isinstance(p.size, Word) else "unsafe.Pointer" for p in function.params]
    said = [f"{p.name} {kind}" for p, kind in zip(function.params, types, strict=True)]
    return {
        "name": f"call{function.name.title()}",
        "params": ["fn uintptr", *said],
        "registers": [(*each, at) for each, at in zip(places, _REGISTERS, strict=False)],
        "stacked": stacked,
        # The return address, and what aligning skips.
        "frame": stack + 8 + 16 + 8 * len(stacked),
        "arguments": 8 + 8 * len(places),
        "returns": function.returns is not None,
    }


def _kernel(artefact: Artefact, tool: Tool) -> Mapping[str, Any]:
    kernel, name = artefact.kernel, artefact.target.symbol(artefact.kernel.name)
    assert isinstance(kernel, Keyed)
    data = assemble_text(tool, kernel.name, artefact.text, artefact.target.fmt.name)
    code, elf = read_object(data), read_elf(data)
    if code.code != artefact.code:
        raise GhashgenError(f"{kernel.name} was assembled otherwise", "report this kernel")
    image = _image(elf)
    return {
        "name": name,
        "key": kernel.key_bytes,
        "table": kernel.layout.size,
        "needs": artefact.audit.features,
        "size": len(image),
        "hash": sha256(image),
        "entries": {f: code.functions[functions_of(kernel)[f].symbol_in(name)][0] for f in _CALLED},
        "lines": [*_lines(code, image)],
    }


def _image(elf: Elf) -> bytes:
    """Return .text and, at the next multiple of 64, .rodata, with the places in .text filled in.

    Raises:
        GhashgenError: a place is not relative to the instruction, or not in .rodata.
    """
    text, constants = elf.named(".text"), elf.named(".rodata")
    assert text is not None
    found = bytearray(elf.sections[text].content)
    start = -(-len(found) // _LINE) * _LINE
    for each in elf.relocations:
        if each.section != text:
            continue
        if each.type not in _RELATIVE or each.symbol.section != constants:
            raise GhashgenError("a kernel refers to what Go's file cannot hold", "report this")
        to = start + each.symbol.value + each.addend - each.at
        found[each.at : each.at + 4] = to.to_bytes(4, "little", signed=True)
    if constants is None:
        return bytes(found)
    return bytes(found).ljust(start, b"\0") + elf.sections[constants].content


def _lines(code: ObjectCode, image: bytes) -> Iterator[str]:
    """Yield the lines of a kernel: instructions, then what lies behind them."""
    names = {start: name for name, (start, _) in code.functions.items()}
    instructions = code.decoder.decode(image[: len(code.code)])
    ends = [*instructions, len(code.code)]
    for (at, end), found in zip(pairwise(ends), instructions.values(), strict=True):
        if at in names:
            yield f"// {names[at]}"
        yield spelled(found) or f"{_bytes(image[at:end])} // {found}"
    for at in range(len(code.code), len(image), 16):
        yield _bytes(image[at : at + 16])


def _bytes(data: bytes) -> str:
    words, at = [], 0
    while at < len(data):
        size = next(size for size in _CHUNKS if size <= len(data) - at)
        value = int.from_bytes(data[at : at + size], "little")
        words.append(f"{_CHUNKS[size]} ${value:#0{2 * size + 2}x}")
        at += size
    return "; ".join(words)


def _placed(file: str) -> str:
    path = PurePosixPath(file)
    return f"{path.stem}_amd64.s" if path.suffix in (".S", ".asm") else plain.HOST.place(file)


HOST = replace(
    go.HOST,
    name="go-asm",
    place=_placed,
    title="Go: a package of AES-GCM by Go's own assembler, without C",
    files={
        **go.SHARED,
        "calls_other.go": "hosts/go_asm/other.go.j2",
        "calls_amd64_test.go": "hosts/go_asm/code_test.go.j2",
        "{library}.md": "hosts/go_asm/page.md.j2",
    },
    needs=("Go 1.24",),
    # The bytes are what counts, and those of NASM are proved on record.
    syntax="",
    assembled=files,
    caller="calls_amd64.go",
    trial=replace(
        go.TRIAL,
        programs={"go": "golang"},
        make="CGO_ENABLED=0 go build -o measure . && go vet ghashgen",
        # Its own test compares what Go assembled with the proved bytes.
        objects="",
        counting=counting,
    ),
)
