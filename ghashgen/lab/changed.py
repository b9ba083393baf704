"""Figures of kernels whose code has changed since they were measured, and how tables mark them."""

from collections.abc import Collection, Iterable, Mapping

from ghashgen.choice.candidate import candidates
from ghashgen.choice.figures import of_other_code
from ghashgen.kernels.families import in_order
from ghashgen.kernels.manifest import Entry
from ghashgen.records.records import Record

MARK = "\\*"
"""Marks a kernel whose figures are of other code than is checked in, in Markdown."""


def changed(records: Iterable[Record], entries: Collection[Entry]) -> Mapping[str, tuple[str, ...]]:
    """Return, by a record's slug, the measured kernels that have other code now, sorted."""
    pool = [one for family in in_order() for one in candidates(entries, family.name)]
    found = dict[str, set[str]]()
    for record in records:
        found.setdefault(record.slug, set()).update(of_other_code(record, pool))
    return {slug: tuple(sorted(names)) for slug, names in found.items()}


def marked(part: str, names: Iterable[str]) -> str:
    """Return Markdown with each of these kernels marked, where it is named as code."""
    for name in names:
        part = part.replace(f"`{name}`", f"`{name}`{MARK}")
    return part
