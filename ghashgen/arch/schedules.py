"""Schedules by name: as written, or list-scheduled for a microarchitecture by its table's name.

The names of scheduled kernels end with the table's suffix.
"""

from ghashgen.arch.registry import uarches
from ghashgen.arch.uarch import Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

WRITTEN = "written"


def schedules() -> tuple[str, ...]:
    """Return the name of every schedule."""
    return (WRITTEN, *uarches())


def table_of(schedule: str) -> Uarch:
    """Return the microarchitecture of a schedule other than `written`.

    Raises:
        GhashgenError: the schedule is unknown.
    """
    if schedule not in uarches():
        raise GhashgenError(f"unknown schedule {schedule!r}", choose_one(schedule, schedules()))
    return uarches()[schedule]


def suffix(schedule: str) -> str:
    """Return the end of the names of kernels with this schedule."""
    return table_of(schedule).suffix
