"""Reads JSON and TOML files into typed values; refuses malformed files in one line.

A kind of file is a `Document`: the type of its content (a msgspec Struct, or anything else that
msgspec reads), its name, and the remedy for a malformed file. A refusal names the file, the place
in it and what was expected there:

    chosen.json is no chosen set: sets[0].classes[1].up_to: expected int or null, got str; …
"""

import re
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from ghashgen.support.errors import GhashgenError

T = TypeVar("T")

_PLACE = re.compile(r"(?P<said>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<key>\[\.\.\.\])")
_WORDS = (
    (re.compile(r"Object missing required field `(.*)`"), r"lacks '\1'"),
    (re.compile(r"Object contains unknown field `(.*)`"), r"unknown key '\1'"),
    (re.compile(r"`(\w+) \| null`"), r"\1 or null"),
    (re.compile(r"`object`"), "a table"),
    (re.compile(r"`array`"), "a list"),
    (re.compile(r"^Expected"), "expected"),
    (re.compile(r"`"), ""),
)


class _Versioned(msgspec.Struct, frozen=True):
    schema: int


@dataclass(frozen=True)
class Document(Generic[T]):
    """A kind of file."""

    content: type[T]
    unlike: str
    """What a malformed file is said to be, with a verb: "is no chosen set"."""
    remedy: str
    schema: int | None = None
    """The schema that this version reads, for files that state theirs."""

    def read(self, path: Path) -> T:
        """Return the content of a file: TOML if its name says so, else JSON.

        Raises:
            GhashgenError: it cannot be read, is not JSON or TOML, has another schema, or a value
            does
                not fit its type.
        """
        return self.parse(self.content_of(path), str(path), toml=path.suffix == ".toml")

    def content_of(self, path: Path) -> bytes:
        """Return the bytes of a file.

        Raises:
            GhashgenError: it cannot be read.
        """
        try:
            return path.read_bytes()
        except OSError as error:
            raise GhashgenError(f"{path}: {error.strerror}", self.remedy) from None

    def parse(self, data: bytes | str, where: str, toml: bool = False) -> T:
        """Return the content of a text; `where` names it in refusals.

        Raises:
            GhashgenError: as `read`.
        """
        try:
            plain = msgspec.toml.decode(data) if toml else msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self.refuse(where, str(error)) from None
        try:
            if self.schema is not None:
                found = msgspec.convert(plain, _Versioned).schema
                if found != self.schema:
                    # Checked first, because another schema may differ in everything.
                    raise self.refuse(where, f"schema {found}, this version reads {self.schema}")
            return msgspec.convert(plain, self.content)
        except msgspec.ValidationError as error:
            raise self.refuse(where, _in_words(error, plain, self.content)) from None

    def refuse(self, where: Path | str, why: str) -> GhashgenError:
        """Return the refusal of a file, for checks that no type expresses."""
        return GhashgenError(f"{where} {self.unlike}: {why}", self.remedy)


def converted(value: Any, kind: type[T], where: str) -> T:
    """Return plain data as a value of a type; `where` is its place in a file.

    Raises:
        ValueError: it does not fit; the text says where and what was expected.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        place, _, said = _in_words(error, value, kind).rpartition(": ")
        between = "." if place and not place.startswith("[") else ""
        raise ValueError(f"{where}{between}{place}: {said}") from None


def _in_words(error: msgspec.ValidationError, plain: Any, kind: type[Any]) -> str:
    """Return msgspec's message with the place first."""
    match = _PLACE.fullmatch(str(error))
    said, path = (match["said"], match["path"] or "") if match else (str(error), "")
    for pattern, words in _WORDS:
        said = pattern.sub(words, said)
    place = _named(plain, kind, path, str(error)).removeprefix(".")
    return f"{place}: {said}" if place else said


def _named(plain: Any, kind: type[Any], path: str, error: str) -> str:
    """Return a path with the keys of mappings, where msgspec writes [...].

    The key is the one that gives the same error when it is alone in its mapping.
    """
    plain, out = deepcopy(plain), ""
    here = plain
    for step in _STEP.finditer(path):
        if step["key"] is None:
            out += step[0]
            here = here[step["field"] or int(step["index"])]
            continue
        for key, value in dict(here).items():
            here.clear()
            here[key] = value
            if _refusal(plain, kind) == error:
                break
        else:
            return out + path[step.start() :]
        out, here = f"{out}.{key}", value
    return out


def _refusal(plain: Any, kind: type[Any]) -> str:
    try:
        msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""
