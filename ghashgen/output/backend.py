"""Back ends: who allocates registers and encodes the instructions of what is emitted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghashgen.compiler.pipeline import Compiled, Measure

Hold = Callable[[Mapping[str, Compiled], bytes], None]
"""(what was compiled, the assembled ELF object) → an error where the bytes are not as they should
be."""


@dataclass(frozen=True)
class Prepared:
    """How one kernel is compiled by a back end."""

    compiling: Callable[[Measure], Mapping[str, Compiled]]
    hold: Hold | None = None
    """What the assembled object is held to beside its audit; None for nothing."""
