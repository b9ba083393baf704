"""Small English: a count with its noun, and near names for one that is not known."""

from collections.abc import Iterable

_MOST = 3
"""Near names that are worth reading."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return "1 kernel", "2 kernels"; `nouns` is a plural that does not end in s."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that a word may be a slip of, the nearest first; case aside."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    return tuple(names[found] for found in get_close_matches(word.lower(), names, _MOST))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for a name that is not known: the near names, and what else to do."""
    found = near(word, known)
    return f"did you mean {' or '.join(found)}? {otherwise}" if found else otherwise


def choose_one(word: str, known: Iterable[str]) -> str:
    """Return the remedy for a value that is not known: the near ones of many, then all."""
    known = tuple(known)
    every = f"choose one of {', '.join(known)}"
    # A short list is read faster than a guess.
    return every if len(known) <= _MOST else did_you_mean(word, known, every)
