"""Of which lengths the theorems about a function must be, as `EXPECTED` lists them by hand.

A theorem that is named and was shown of fewer lengths, or with input and output apart alone, is
another theorem. The list says the words of each part of a proof, function by function:

    update: 0..n by execution; n+1..4611686018427387903 by induction

n stands for whatever number is there, and n+1 for the next one: so the parts meet.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ghashgen.check.verdicts import Verdict
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.prove import FunctionProof, Theorem

EXPECTED = Path("docs") / "expected-lengths.txt"

_LETTER = re.compile(r"\b(?P<name>[nr])\b(?P<next>\+1\b)?")
"""A number that is not written out, or the one that follows it."""


def listed(path: Path) -> Mapping[str, str]:
    """Read the list, `function: lengths by method; lengths by method` a line.

    Raises:
        GhashgenError: the file is missing or a line has no meaning.
    """
    out: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "restore it from the repository") from None
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, colon, said = map(str.strip, text.partition(":"))
        if not (name and colon and said) or name in out:
            raise GhashgenError(f"{path}:{number}: {line!r}", "write function: lengths by method")
        out[name] = said
    return out


def others(verdicts: Iterable[Verdict], path: Path) -> list[str]:
    """Return, in words, which theorems are of other lengths than the list has for their function.

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
    """Return whether the words of a proof are those wanted, some number being in each letter."""
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
    """Return what each theorem of a function is of; nothing, if it has none at all."""
    parts: dict[str, list[Theorem]] = {}
    for theorem in function.theorems:
        parts.setdefault(theorem.what, []).append(theorem)
    return {
        what: "; ".join(f"{part.lengths} by {part.method}" for part in own)
        for what, own in parts.items()
    } or {"no theorem": ""}
