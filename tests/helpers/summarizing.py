"""A clone that has only what `ghashgen summary` reads."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.manifest import load as load_manifest
from ghashgen.lab.figures import four, ports
from ghashgen.lab.figures.gallery import FOLDER as FIGURES
from ghashgen.lab.hosts import PAGE as HOSTS
from ghashgen.lab.pages import README
from ghashgen.lab.summary import RESULTS
from ghashgen.records.records import FOLDER
from ghashgen.support.paths import project_root

PAGES = (README, RESULTS, HOSTS)


def gather_entries() -> Mapping[str, Entry]:
    return load_manifest(project_root() / "generated")


def copied(root: Path, to: Path) -> Path:
    """The pages, manifest and stored results alone, as the command sees them."""
    entries = gather_entries()
    drawn = [Path("generated") / entries[of.KERNEL].file for of in (ports, four)]
    folders: list[str | Path] = [FOLDER, FIGURES, Path(HOSTS).with_suffix("")]
    for folder in folders:
        shutil.copytree(root / folder, to / folder)
    files: list[str | Path] = [*PAGES, "generated/MANIFEST.json", "generated/PROOFS.json", *drawn]
    for each in files:
        (to / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / each, to / each)
    return to
