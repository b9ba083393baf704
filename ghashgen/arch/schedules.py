"""Schedules by name: as written, ordered for a microarchitecture, or by a stored solution for it.

`written`; NAME of a table, list-scheduled for it; NAME-solved, whose loop body has the order that
`ghashgen solve` stored. Kernel names end in the table's suffix, followed by `opt` if solved.
"""

from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

WRITTEN = "written"
SOLVED = "-solved"


def schedules() -> tuple[str, ...]:
    """Return the name of every schedule."""
    return (WRITTEN, *uarches(), *(name + SOLVED for name in uarches()))


def is_solved(schedule: str) -> bool:
    """Whether a schedule takes its loop body from a stored solution."""
    return schedule.endswith(SOLVED)


def table_of(schedule: str) -> Uarch:
    """Return the microarchitecture of a schedule other than `written`.

    Raises:
        GhashgenError: there is no such schedule.
    """
    name = schedule.removesuffix(SOLVED)
    if name not in uarches():
        raise GhashgenError(f"unknown schedule {schedule!r}", choose_one(schedule, schedules()))
    return uarches()[name]


def suffix(schedule: str) -> str:
    """Return how the names of kernels with this schedule end."""
    return table_of(schedule).suffix + ("opt" if is_solved(schedule) else "")
