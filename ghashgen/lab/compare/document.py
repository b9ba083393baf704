"""docs/comparisons.md: the stored comparisons as Markdown, each between a pair of markers."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ghashgen.lab.compare.core import Study
from ghashgen.lab.compare.record import Record, records_of
from ghashgen.lab.compare.registry import studies
from ghashgen.lab.compare.table import UNMEASURED, missing, table
from ghashgen.lab.standing import markdown_table
from ghashgen.records.cpus import title_of
from ghashgen.support.errors import GhashgenError

NAME = "docs/comparisons.md"

WIDTH = 100
"""Columns of the prose."""

_MODES = {
    "throughput": "independent calls of one `update`",
    "gcm": "independent messages of three updates each: 12 bytes of AAD, the message, its lengths",
    "seal": "independent messages, each sealed in one call with {aad} bytes of AAD",
    "threads": "messages one after another, timed by the wall clock from call to return",
    "text": "independent texts, encrypted and hashed without AAD, lengths and tag",
}


def markers(study: Study) -> tuple[str, str]:
    """Return the marker lines before and after a study's block."""
    return f"<!-- compare {study.name}:begin -->\n", f"<!-- compare {study.name}:end -->\n"


def block(study: Study, records: Sequence[Record]) -> str:
    """Return the text between a study's markers, CPU by CPU, ending with a newline."""
    if not records:
        return f"Not measured yet: `ghashgen compare {study.name} --record`.\n"
    differs = "\n".join(_item(text) for text in study.differs)
    parts = [
        *(part for record in records for part in _measured(study, record)),
        f"What differs from the paper:\n\n{differs}" if differs else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _measured(study: Study, record: Record) -> Iterator[str]:
    yield f"### {title_of(record.machine)}"
    yield _wrapped(method(study, record))
    yield _markdown(study, record)
    yield from (_wrapped(f"Not measured: {names}: {why}.") for why, names in missing(record))
    for derived in study.derived:
        found = derived.table(record)
        yield _wrapped(derived.says)
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


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> str:
    return textwrap.fill(
        f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _markdown(study: Study, record: Record) -> str:
    """Return the table of what was measured; `missing` names the rest."""
    found = table(study, record)
    return markdown_table(found.columns, (row for row in found.rows if UNMEASURED not in row))


def _bounds(text: str, study: Study) -> tuple[int, int]:
    begin, end = markers(study)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise GhashgenError(
            f"{NAME} does not have the lines {begin.strip()} and {end.strip()} once each",
            "put them back",
        )
    return text.index(begin) + len(begin), text.index(end)


def rendered(text: str, records: Iterable[tuple[Study, Sequence[Record]]]) -> str:
    """Return the document with the block of each study replaced.

    Raises:
        GhashgenError: a study's markers are not there exactly once, in order.
    """
    for study, found in records:
        start, end = _bounds(text, study)
        text = f"{text[:start]}{block(study, found)}{text[end:]}"
    return text


def read(root: Path) -> str:
    """Return the document as it is.

    Raises:
        GhashgenError: it cannot be read.
    """
    try:
        return (root / NAME).read_text(encoding="utf-8")
    except OSError as error:
        raise GhashgenError(f"{root / NAME}: {error.strerror}", "run it in a clone") from None


def current(root: Path) -> str:
    """Return the document that the stored records give.

    Raises:
        GhashgenError: the document or a record cannot be read, or a marker is missing.
    """
    stored = [(study, records_of(root, study)) for study in studies().values()]
    return rendered(read(root), stored)
