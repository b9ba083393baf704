"""The result of validating a kernel."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Validation:
    """What was run for one kernel, and what failed."""

    name: str
    isa: str
    how: str
    cases: int
    longest_tail: int
    """Every length from 0 to this many bytes was run."""
    seconds: float
    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agreed."""
        return not self.failures
