"""Keeps a finding as a folder with everything needed to repeat it."""

import re
from hashlib import sha256
from pathlib import Path

from ghashgen.check.attack.core import Finding
from ghashgen.support.files import write_whole

NOTE = "finding.txt"
_LONGEST = 60


def keep(folder: Path, part: str, seed: int, finding: Finding) -> Path:
    """Write a finding into a new folder named after it, and return the folder.

    Raises:
        GhashgenError: it cannot be written.
    """
    files = {name: _bytes(content) for name, content in finding.files.items()}
    digest = sha256(repr((finding.title, sorted(files.items()))).encode()).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9]+", "-", finding.title).strip("-")[:_LONGEST].strip("-")
    place = folder / f"{part}-{slug}-{digest}"
    for name, content in files.items():
        write_whole(place / name, content)
    lines = (finding.title, finding.wrong, f"part {part}, seed {seed}", finding.repeat)
    write_whole(place / NOTE, "".join(f"{line}\n" for line in lines))
    return place


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
