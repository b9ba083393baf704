"""Peers' loops as stored in peers.toml, and the same loops in installed libraries.

The file stores counts, not code. For each loop a person writes where it was published and how it
was counted; [peer.loop] has the output of `ghashgen model --count`.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ghashgen.arch.x86_64.forms import known
from ghashgen.cost.count import Counted, body_from, count, read
from ghashgen.lab.bench.peers import installed
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

STORED = Path(__file__).with_name("peers.toml")

_Number = Annotated[int, Meta(ge=1)]


class _Loop(Struct, frozen=True, forbid_unknown_fields=True):
    symbol: str
    blocks: _Number
    text_sha256: str
    features: tuple[str, ...]
    forms: dict[str, _Number]
    pairs: dict[str, _Number]


class _Stored(Struct, frozen=True, forbid_unknown_fields=True):
    """A peer, as in the file; see `Peer`."""

    name: str
    project: str
    version: str
    file: str
    how: str
    loop: _Loop
    library: str = ""
    member: str = ""
    package: str = ""
    bench: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    peer: tuple[_Stored, ...] = ()


_FILE = Document(_File, "holds no peers' loops", "count it again with ghashgen model --count")


@dataclass(frozen=True)
class Peer:
    """A published loop."""

    name: str
    project: str
    version: str
    """The release or the commit."""
    file: str
    """Its place in the project."""
    how: str
    """How it was counted."""
    library: str
    """The static library that a distribution ships it in, or ""."""
    member: str
    package: str
    """The package of that library."""
    bench: str
    """Its name in stored measurements, or ""."""
    loop: Counted


@dataclass(frozen=True)
class Recount:
    """A stored loop compared with the installed library."""

    peer: str
    library: str
    state: str
    """same, other build (the counts agree), differs, absent."""
    said: str


def _form(form: str, where: str) -> str:
    if form not in known(form.partition(" ")[0]):
        raise _FILE.refuse(where, f"no instruction has the form {form!r}")
    return form


def _loop(loop: _Loop, where: str) -> Counted:
    forms = {_form(form, where): number for form, number in loop.forms.items()}
    for pair, number in loop.pairs.items():
        first, plus, second = pair.partition(" + ")
        if not plus or number > min(forms.get(first, 0), forms.get(second, 0)):
            raise _FILE.refuse(where, f"the pair {pair!r} is not among the forms that often")
    return Counted(
        symbol=loop.symbol,
        blocks=loop.blocks,
        text_sha256=loop.text_sha256,
        features=loop.features,
        body=body_from(forms, loop.pairs),
    )


def parse(text: str, where: str) -> tuple[Peer, ...]:
    """Parse stored loops; `where` names the file in refusals.

    Raises:
        GhashgenError: the text is not TOML, a key is missing or unknown, no instruction has a form,
            a count is not a positive whole number, or two loops have one name.
    """
    out: dict[str, Peer] = {}
    for stored in _FILE.parse(text, where, toml=True).peer:
        named = f"{where}, {stored.name},"
        if stored.name in out:
            raise _FILE.refuse(named, "two peers of that name")
        texts = {name: getattr(stored, name) for name in stored.__struct_fields__ if name != "loop"}
        out[stored.name] = Peer(**texts, loop=_loop(stored.loop, named))
    return tuple(out.values())


@cache
def peers() -> tuple[Peer, ...]:
    """Return every stored loop, in the order of the file."""
    return parse(STORED.read_text(encoding="utf-8"), f"model/{STORED.name}")


def recount(peer: Peer) -> Recount | None:
    """Count a stored loop in the installed library; None if no distribution ships it.

    Raises:
        GhashgenError: there is no C compiler to tell where libraries are.
    """
    if not peer.library:
        return None
    path = installed(peer.library)
    if path is None:
        said = f"{peer.library} is not installed: apt-get install {peer.package}"
        return Recount(peer.name, peer.library, "absent", said)
    try:
        found = count(read(path, peer.member), peer.loop.symbol)
    except GhashgenError as refusal:
        return Recount(peer.name, peer.library, "absent", str(refusal))
    ours = (peer.loop.blocks, peer.loop.features, peer.loop.body)
    agrees = ours == (found.blocks, found.features, found.body)
    if found.text_sha256 == peer.loop.text_sha256:
        state, said = ("same", str(path)) if agrees else ("differs", f"{path}, the same bytes")
    else:
        state, said = ("other build" if agrees else "differs"), f"{path}, another build"
    return Recount(peer.name, peer.library, state, said)
