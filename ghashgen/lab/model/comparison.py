"""Everything that the comparison of loops by port tables found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghashgen.lab.model.bursts import Burst
from ghashgen.lab.model.rows import LABEL, Check, Match, Row, Wanted


@dataclass(frozen=True)
class Comparison:
    """Everything that is shown."""

    rows: Mapping[str, tuple[Row, ...]]
    """By microarchitecture, ours and peers' together, the lowest bound first."""
    matches: Mapping[str, tuple[Match, ...]]
    """By microarchitecture."""
    checks: Mapping[str, tuple[Check, ...]]
    """By the title of each measured CPU that has a table."""
    wanted: Mapping[str, tuple[Wanted, ...]]
    """Goals for long messages beside the lowest bounds, by microarchitecture."""
    bursts: Mapping[str, tuple[Burst, ...]]
    """By microarchitecture; empty if nothing was run."""

    def as_json(self) -> dict[str, Any]:
        """Return the comparison."""
        return {
            "is": LABEL,
            "uarches": {name: [row.as_json() for row in rows] for name, rows in self.rows.items()},
            "like_with_like": {
                name: [match.as_json() for match in matches]
                for name, matches in self.matches.items()
            },
            "model_beside_measurement": {
                title: [check.as_json() for check in found] for title, found in self.checks.items()
            },
            "goals": {
                name: [wanted.as_json() for wanted in found] for name, found in self.wanted.items()
            },
            "bursts": {
                name: [burst.as_json() for burst in found] for name, found in self.bursts.items()
            },
        }
