"""Checks that theorems cover the lengths that `EXPECTED` lists by hand.

A theorem with the same name but for fewer lengths, or only for separate input and output, is
another theorem. The list has the words of each part of a proof, for each function:

    encrypt: 0..68719476704 by certificate, apart; 0..68719476704 by certificate, in place

n and r stand for any number, and n+1 for the one after n, so that parts meet.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ghashgen.check.ledger import kept_lines
from ghashgen.check.verdicts import Verdict
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.theorems import FunctionProof, Theorem

EXPECTED = Path("docs") / "expected-lengths.txt"

_LETTER = re.compile(r"\b(?P<name>[nr])\b(?P<next>\+1\b)?")
"""A letter for a number, perhaps with +1."""


def listed(path: Path) -> Mapping[str, str]:
    """Read the list, with lines `function: lengths by method; lengths by method`.

    Raises:
        GhashgenError: the file is missing or a line is invalid.
    """
    out: dict[str, str] = {}
    for number, line, text in kept_lines(path):
        name, colon, said = map(str.strip, text.partition(":"))
        if not (name and colon and said) or name in out:
            raise GhashgenError(
                f"{path}:{number}: invalid line {line!r}", "write function: lengths by method"
            )
        out[name] = said
    return out


def others(verdicts: Iterable[Verdict], path: Path) -> list[str]:
    """Return, in words, the theorems that cover other lengths than the list has for their function.

    Raises:
        GhashgenError: the list cannot be read.
    """
    wanted = listed(path)
    return [
        f"{function.symbol}: {what} was proved of {said or 'nothing'}; "
        f"{path.name} has {wanted.get(function.operation, 'nothing of such a function')}"
        for verdict in verdicts
        if verdict.proved
        for function in verdict.functions
        for what, said in _said(function).items()
        if not fits(said, wanted.get(function.operation, ""))
    ]


def fits(said: str, wanted: str) -> bool:
    """Return whether a proof's words match the wanted ones, with some number for each letter."""
    end, pattern, follows = 0, "", []
    seen: set[str] = set()
    for k, letter in enumerate(_LETTER.finditer(wanted)):
        pattern += re.escape(wanted[end : letter.start()])
        end, name = letter.end(), letter["name"]
        if letter["next"]:
            follows.append((name, f"next{k}"))
            pattern += rf"(?P<next{k}>\d+)"
        else:
            pattern += f"(?P={name})" if name in seen else rf"(?P<{name}>\d+)"
            seen.add(name)
    found = re.fullmatch(pattern + re.escape(wanted[end:]), said)
    return found is not None and all(
        int(found[after]) == int(found[name]) + 1 for name, after in follows
    )


def _said(function: FunctionProof) -> dict[str, str]:
    """Return the lengths that each theorem of a function covers."""
    parts: dict[str, list[Theorem]] = {}
    for theorem in function.theorems:
        parts.setdefault(theorem.what, []).append(theorem)
    return {
        what: "; ".join(f"{part.lengths} by {part.method}" for part in own)
        for what, own in parts.items()
    } or {"no theorem": ""}
