"""Peers' loops as they are stored in peers.toml, and the same loops in installed libraries.

The file keeps counts, no code: for each loop where it was published and how it was counted, which a
person writes, and under [peer.loop] what `ghashgen model --count` printed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ghashgen.arch.x86_64.forms import known
from ghashgen.cost.count import Counted, body_from, count, read
from ghashgen.lab.bench.peers import installed
from ghashgen.support.errors import GhashgenError

STORED = Path(__file__).with_name("peers.toml")

_TEXTS = ("name", "project", "version", "file", "how")
_OPTIONAL = ("library", "member", "package", "bench")
_LOOP = ("symbol", "blocks", "text_sha256", "features", "forms", "pairs")


@dataclass(frozen=True)
class Peer:
    """A published loop."""

    name: str
    project: str
    version: str
    """The release or the commit."""
    file: str
    """Where it stands in the project."""
    how: str
    """How it was counted."""
    library: str
    """The static library that a distribution ships it in; empty where none."""
    member: str
    package: str
    """The package of that library."""
    bench: str
    """Its name in stored measurements; empty where it has none."""
    loop: Counted


@dataclass(frozen=True)
class Recount:
    """A stored loop against the library that is installed here."""

    peer: str
    library: str
    state: str
    """same, other build (the counts agree), differs, absent."""
    said: str


def _refuse(where: str, what: str) -> GhashgenError:
    return GhashgenError(f"{where}: {what}", "count it again with ghashgen model --count")


def _keys(table: Mapping[str, Any], needed: Sequence[str], allowed: Sequence[str], w: str) -> None:
    missing = [key for key in needed if key not in table]
    unknown = sorted(table.keys() - set(allowed))
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"unknown key {unknown[0]!r}"
        raise _refuse(w, what)


def _number(value: Any, what: str, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _refuse(where, f"{what} must be a whole number above 0, not {value!r}")
    return value


def _form(form: str, where: str) -> str:
    if form not in known(form.partition(" ")[0]):
        raise _refuse(where, f"no instruction has the form {form!r}")
    return form


def _loop(table: Mapping[str, Any], where: str) -> Counted:
    _keys(table, _LOOP, _LOOP, where)
    forms = {_form(f, where): _number(n, f, where) for f, n in table["forms"].items()}
    for pair, number in table["pairs"].items():
        first, plus, second = pair.partition(" + ")
        fits = _number(number, pair, where) <= min(forms.get(first, 0), forms.get(second, 0))
        if not plus or not fits:
            raise _refuse(where, f"the pair {pair!r} is not among the forms that often")
    return Counted(
        symbol=str(table["symbol"]),
        blocks=_number(table["blocks"], "blocks", where),
        text_sha256=str(table["text_sha256"]),
        features=tuple(table["features"]),
        body=body_from(forms, table["pairs"]),
    )


def parse(text: str, where: str) -> tuple[Peer, ...]:
    """Parse and check stored loops; `where` names the file in refusals.

    Raises:
        GhashgenError: the text is no TOML, a key is missing or unknown, a form belongs to no
            instruction, a count is no whole number above 0, or two loops have one name.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GhashgenError(f"{where}: not TOML: {error}", "mend the file") from None
    out: dict[str, Peer] = {}
    for table in data.get("peer", []):
        named = f"{where}: {table.get('name', 'a peer without a name')}"
        _keys(table, (*_TEXTS, "loop"), (*_TEXTS, *_OPTIONAL, "loop"), named)
        texts = {key: str(table.get(key, "")) for key in (*_TEXTS, *_OPTIONAL)}
        if texts["name"] in out:
            raise _refuse(named, "two peers of that name")
        out[texts["name"]] = Peer(**texts, loop=_loop(table["loop"], named))
    return tuple(out.values())


@cache
def peers() -> tuple[Peer, ...]:
    """Return every stored loop, in the order of the file."""
    return parse(STORED.read_text(encoding="utf-8"), f"model/{STORED.name}")


def recount(peer: Peer) -> Recount | None:
    """Count a stored loop in the installed library; None if no distribution ships it.

    Raises:
        GhashgenError: there is no C compiler to say where libraries lie.
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
