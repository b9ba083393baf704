"""docs/comparisons.md: the stored comparisons as Markdown, each between a pair of markers."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ghashgen.lab.compare.core import Study
from ghashgen.lab.compare.record import Record, records_of
from ghashgen.lab.compare.registry import studies
from ghashgen.lab.compare.table import UNMEASURED, missing, table
from ghashgen.lab.pages import item, markdown_table, read_page, replaced, wrapped
from ghashgen.records.cpus import title_of

NAME = "docs/comparisons.md"


_MODES = {
    "throughput": "independent calls of one `update`",
    "gcm": "independent messages of three updates each: 12 bytes of AAD, the message, its lengths",
    "seal": "independent messages, each sealed in one call with {aad} bytes of AAD",
    "threads": "messages one after another, timed by the wall clock from call to return",
    "text": "independent texts, encrypted and hashed without AAD, lengths and tag",
}


def markers(study: Study) -> tuple[str, str]:
    """Return the marker lines before and after a study's block."""
    return f"<!-- compare {study.name}:begin -->", f"<!-- compare {study.name}:end -->"


def block(study: Study, records: Sequence[Record]) -> str:
    """Return the text between a study's markers, CPU by CPU, ending with a newline."""
    if not records:
        return f"Not measured yet: `ghashgen compare {study.name} --record`.\n"
    differs = "\n".join(map(item, study.differs))
    parts = [
        *(part for record in records for part in _measured(study, record)),
        f"What differs from the paper:\n\n{differs}" if differs else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _measured(study: Study, record: Record) -> Iterator[str]:
    yield f"### {title_of(record.machine)}"
    yield wrapped(method(study, record))
    yield _markdown(study, record)
    yield from (wrapped(f"Not measured: {names}: {why}.") for why, names in missing(record))
    for derived in study.derived:
        found = derived.table(record)
        yield wrapped(derived.says)
        yield markdown_table(found.columns, found.rows)


def method(study: Study, record: Record) -> str:
    """Return what was measured, where and how, in sentences."""
    where = f"{record.machine}, {record.clock_ghz:.2f} GHz, sources {record.sources or 'unknown'}"
    mode = _MODES[record.mode].format(aad=study.aad)
    runs = f"{record.processes} process{'es' if record.processes > 1 else ''}"
    text = f"Measured on {where}, in {runs} of up to {record.samples} samples: {mode}."
    if not all(row.constant_time for row in record.rows):
        text += " Column time: whether the code's time depends on the length alone."
    return f"{text} The paper's column: {study.time_source}." if study.time_source else text


def _markdown(study: Study, record: Record) -> str:
    """Return the table of what was measured; `missing` names the rest."""
    found = table(study, record)
    return markdown_table(found.columns, (row for row in found.rows if UNMEASURED not in row))


def rendered(text: str, records: Iterable[tuple[Study, Sequence[Record]]]) -> str:
    """Return the document with the block of each study replaced.

    Raises:
        GhashgenError: a study's markers are not there exactly once, in order.
    """
    for study, found in records:
        text = replaced(text, block(study, found), markers(study), NAME)
    return text


def current(root: Path) -> str:
    """Return the document that the stored records give.

    Raises:
        GhashgenError: the document or a record cannot be read, or a marker is missing.
    """
    stored = [(study, records_of(root, study)) for study in studies().values()]
    return rendered(read_page(root / NAME), stored)
