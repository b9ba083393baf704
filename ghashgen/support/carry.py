"""A wheel build step: puts files that lie beside the package in a clone into the package.

They go to `ghashgen/carried/`, with the same paths as in the clone, where
`ghashgen/support/paths.py`
finds them. An editable install carries nothing, because it is the clone. setuptools loads this file
(pyproject.toml, tool.setuptools.cmdclass); no module imports it.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from setuptools.command.build_py import build_py

CARRIED = (
    "harness", "templates", "docs", "generated/MANIFEST.json", "generated/PROOFS.json", "LICENSE",
    "SOUNDNESS.md",
)  # fmt: skip

SOURCES = (".ci", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "generated", "tests")
"""Other files of a source archive, so that the tests run there."""


def files(names: Iterable[str]) -> Iterator[Path]:
    """Yield the files, relative to the root, in a fixed order; refuse a tree without them."""
    for name in names:
        found = sorted(
            path
            for path in Path(name).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        )
        found = [Path(name)] if Path(name).is_file() else found
        if not found:
            raise SystemExit(f"{name} is missing: build from a clone or from a source archive")
        yield from found


class Build(build_py):  # type: ignore[misc] # setuptools ships no type information
    """Builds the package and what it carries."""

    def run(self) -> None:
        """Copy the carried files, unless the install is editable."""
        if not self.editable_mode:
            # Files that an earlier version left there would go into the wheel too.
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            for source, target in self._carried():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def _carried(self) -> list[tuple[Path, Path]]:
        folder = Path(self.build_lib) / "ghashgen" / "carried"
        return [(path, folder / path) for path in files(CARRIED)]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return the files that the build makes."""
        own = [] if self.editable_mode else [str(target) for _, target in self._carried()]
        return [*super().get_outputs(include_bytecode), *own]

    def get_output_mapping(self) -> dict[str, str]:
        """Return the source of each file that the build makes."""
        own = {} if self.editable_mode else {str(t): str(s) for s, t in self._carried()}
        return {**super().get_output_mapping(), **own}

    def get_source_files(self) -> list[str]:
        """Return what a source archive needs besides the package's modules."""
        return [*super().get_source_files(), *map(str, files((*CARRIED, *SOURCES)))]
