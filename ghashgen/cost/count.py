"""The histogram of a function's main loop, from an object file or a member of a static library."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ghashgen.arch.decoder import CLASSES
from ghashgen.arch.objects import read_object
from ghashgen.arch.uarch import is_memory
from ghashgen.arch.x86_64.instructions import class_of
from ghashgen.cost.histogram import Histogram, histogram
from ghashgen.cost.loops import blocks as blocks_of
from ghashgen.cost.loops import largest, loops
from ghashgen.support.archive import member
from ghashgen.support.errors import GhashgenError


@dataclass(frozen=True)
class Counted:
    """What is stored about a loop: enough for its bound, and to recognise the same object."""

    symbol: str
    """The global symbol of its function."""
    blocks: int
    """16-byte blocks that one pass takes."""
    text_sha256: str
    """Hash of the object's .text."""
    features: tuple[str, ...]
    """CPUID features that the loop needs, by iced's names, sorted."""
    body: Histogram


def read(path: Path, ending: str = "") -> bytes:
    """Return an object file, or the static library's member whose name ends with `ending`.

    Raises:
        GhashgenError: the file cannot be read, or is a library without a named or matching member.
    """
    if ending:
        data = member(path, ending)
        if data is None:
            raise GhashgenError(f"{path} has no member that ends with {ending!r}", "see ar t")
        return data
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}") from None
    if data.startswith(b"!<arch>"):
        raise GhashgenError(f"{path} is a static library", "name an object of it: --member")
    if not data.startswith(b"\x7fELF"):
        raise GhashgenError(f"{path} is not an ELF object")
    return data


def count(data: bytes, symbol: str, blocks: int | None = None) -> Counted:
    """Count the main loop of a function of an ELF64 object.

    `blocks` is what one pass takes, if the steps of pointers and lengths do not tell.

    Raises:
        GhashgenError: the symbol is missing, there is no loop with a carry-less product, or
        `blocks`
            is needed.
    """
    body = largest(loops(data, symbol), symbol)
    return Counted(
        symbol=symbol,
        blocks=blocks if blocks is not None else blocks_of(body),
        text_sha256=hashlib.sha256(read_object(data).code).hexdigest(),
        features=body.decoder.needs(body.instructions),
        body=histogram(body.decoder, body.instructions),
    )


def classes(body: Histogram) -> dict[str, int]:
    """Return instructions by class, every class present."""
    out = dict.fromkeys(CLASSES, 0)
    for form, number in body.forms.items():
        out[class_of(form)] += number
    return out


def memory_operands(body: Histogram) -> int:
    """Return the memory operands of computing instructions."""
    return sum(
        number
        for form, number in body.forms.items()
        if class_of(form) not in ("load", "store")
        and any(map(is_memory, form.partition(" ")[2].split(",")))
    )


def toml(counted: Counted) -> str:
    """Return the counted part of a [[peer]] of peers.toml."""
    return "\n".join((*_lines(counted), ""))


def _lines(counted: Counted) -> Iterator[str]:
    yield "[peer.loop]"
    yield f"symbol = {json.dumps(counted.symbol)}"
    yield f"blocks = {counted.blocks}"
    yield f'text_sha256 = "{counted.text_sha256}"'
    yield f"features = {json.dumps(list(counted.features))}"
    yield "[peer.loop.forms]"
    for form, number in counted.body.forms.items():
        yield f"{json.dumps(form)} = {number}"
    yield "[peer.loop.pairs]"
    for pair, number in counted.body.pairs.items():
        yield f"{json.dumps(' + '.join(pair))} = {number}"


def body_from(forms: Mapping[str, Any], pairs: Mapping[str, Any]) -> Histogram:
    """Return the histogram of a parsed [peer.loop]; `peers` has checked its values."""
    split = ((pair.partition(" + "), number) for pair, number in pairs.items())
    return Histogram(
        MappingProxyType(dict(sorted(forms.items()))),
        MappingProxyType(dict(sorted(((a, b), number) for (a, _, b), number in split))),
    )
