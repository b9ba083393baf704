"""Schedules by name: as written, or list-scheduled for a microarchitecture by its table's name.

The names of scheduled kernels end with the table's suffix.
"""

from ghashgen.arch.registry import labels, uarches
from ghashgen.arch.uarch import Label, Uarch
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import choose_one

WRITTEN = "written"


def schedules() -> tuple[str, ...]:
    """Return the name of every schedule."""
    return (WRITTEN, *labels())


def table_of(schedule: str) -> Uarch:
    """Return the microarchitecture of a schedule other than `written`.

    Raises:
        GhashgenError: the schedule is unknown.
    """
    label_of(schedule)
    return uarches()[schedule]


def label_of(schedule: str) -> Label:
    """Return the label of that microarchitecture, without reading its whole table.

    Raises:
        GhashgenError: as `table_of`.
    """
    if schedule not in labels():
        raise GhashgenError(f"unknown schedule {schedule!r}", choose_one(schedule, schedules()))
    return labels()[schedule]


def suffix(schedule: str) -> str:
    """Return the end of the names of kernels with this schedule."""
    return label_of(schedule).suffix
