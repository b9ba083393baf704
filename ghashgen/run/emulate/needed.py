"""The CPU features that an x86-64 object needs, whoever made it."""

from collections.abc import Iterable
from pathlib import Path

from iced_x86 import Decoder

from ghashgen.arch.x86_64.cpuid import cpu_features
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.run.emulate.image import load_object


def needed(obj: Path, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return an object's CPU features that the harness knows, including `known`.

    Bytes that are never executed may look like any instruction.

    Raises:
        GhashgenError: the object cannot be laid out.
    """
    code = (part.content for part in load_object(obj).segments if part.kind == "x")
    found = {name for part in code for name in cpu_features(Decoder(64, part))}
    return tuple(name for name in FEATURES if name in {*found, *known})
