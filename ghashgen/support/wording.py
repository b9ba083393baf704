"""Helpers for English: counts with their nouns, lists, and similar names for an unknown one."""

from collections.abc import Iterable, Sequence

_MOST = 3
"""Most similar names to list."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return "1 kernel", "2 kernels"; `nouns` is a plural that does not end in s."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def joined(items: Iterable[object]) -> str:
    """Return "a, b and c"; "" if there are none."""
    *most, last = [str(item) for item in items] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def first_of(names: Sequence[str], shown: int) -> str:
    """Return the first names, and how many more there are: "a, b and 3 more"."""
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return known names that a word may be a typo of, the nearest first, ignoring case."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    return tuple(names[found] for found in get_close_matches(word.lower(), names, _MOST))


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for an unknown name: similar names, and what else to do."""
    found = near(word, known)
    return f"did you mean {' or '.join(found)}? {otherwise}" if found else otherwise


def choose_one(word: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown value: similar values if there are many, then all."""
    known = tuple(known)
    every = f"choose one of {', '.join(known)}"
    # A short list is read faster than a guess.
    return every if len(known) <= _MOST else did_you_mean(word, known, every)
