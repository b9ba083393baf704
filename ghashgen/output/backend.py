"""Back ends: what allocates registers and encodes the emitted instructions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghashgen.compiler.pipeline import Compiled, Measure

Hold = Callable[[Mapping[str, Compiled], bytes], None]
"""(compiled functions, assembled ELF object) → raises an error if the bytes do not match."""


@dataclass(frozen=True)
class Prepared:
    """How a back end compiles one kernel."""

    compiling: Callable[[Measure], Mapping[str, Compiled]]
    hold: Hold | None = None
    """A check of the assembled object in addition to its audit, or None."""
