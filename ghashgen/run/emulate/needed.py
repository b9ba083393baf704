"""Which CPU features an object of x86-64 needs, whoever made it."""

from collections.abc import Iterable
from pathlib import Path

from iced_x86 import Decoder

from ghashgen.arch.x86_64.cpuid import cpu_features
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.run.emulate.image import load_object


def needed(obj: Path, known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the CPU features of an object, of those that the harness knows, `known` among them.

    Bytes that are never executed may look like any instruction.

    Raises:
        GhashgenError: it is no object that can be laid out.
    """
    code = (part.content for part in load_object(obj).segments if part.kind == "x")
    found = {name for part in code for name in cpu_features(Decoder(64, part))}
    return tuple(name for name in FEATURES if name in {*found, *known})
