"""Kernels as assembled objects on disk, from the output folder if it has them.

A kernel in the manifest is assembled from its checked-in file, as a user would; any other is
rendered first. Objects are cached in build/obj by the hash of their text and sealed
(`ghashgen.support.sealed`); one that does not fit its seal is assembled again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Generic, TypeVar

from ghashgen.arch.objects import read_object
from ghashgen.cost.audit import Audit, audit
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Keyed, Point
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.target import Target, require_fit
from ghashgen.output.artefact import Artefact, make, sha256
from ghashgen.run.arguments import Arguments, Values
from ghashgen.run.callee import Exported, arguments_of
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.parallel import run
from ghashgen.support.sealed import kept
from ghashgen.support.toolchain import Tool, assemble, find_assembler

K = TypeVar("K", bound=Point)
K_co = TypeVar("K_co", bound=Point, covariant=True)


@dataclass(frozen=True)
class Built(Generic[K_co]):
    """An assembled kernel."""

    kernel: K_co
    obj: Path
    abi: str
    table_align: int
    """Alignment in bytes that callers promise for the table."""
    audit: Audit
    source: str
    """The file that it was assembled from, or "rendered"."""
    prefix: str = ""
    """The prefix of the object's symbols."""

    @property
    def symbol(self) -> str:
        """The beginning of its functions' names."""
        return f"{self.prefix}{self.kernel.name}"

    @property
    def name(self) -> str:
        """The kernel's name, also in the harness."""
        return self.kernel.name

    @property
    def blocks(self) -> int:
        """Blocks in one turn of its loop."""
        return self.kernel.blocks

    @property
    def table_bytes(self) -> int:
        """Bytes of its table."""
        return self.kernel.layout.size

    @property
    def key_bytes(self) -> int:
        """Key size of its cipher in bytes, 0 for a hash."""
        return self.kernel.key_bytes if isinstance(self.kernel, Keyed) else 0

    @cached_property
    def exported(self) -> Mapping[str, Exported]:
        """Its functions, by name."""
        return {
            name: Exported(
                function,
                function.symbol_in(self.symbol),
                function.roles,
                multiple=function.length_multiple(self.kernel),
            )
            for name, function in functions_of(self.kernel).items()
        }

    def table(self, key: bytes) -> bytes:
        """Raise: its own init makes the table from a key."""
        raise GhashgenError(f"{self.name} has no init", "report this")

    @property
    def features(self) -> tuple[str, ...]:
        """The CPU features that the object's instructions need."""
        return self.audit.features

    def arguments(self, function: str, values: Values) -> Arguments:
        """Return the arguments of a call of one of its functions.

        Raises:
            GhashgenError: as `run.arguments.arguments`.
        """
        return arguments_of(self, function, values)

    @property
    def harness_kernel(self) -> HarnessKernel:
        """What the harness needs to call it."""
        return HarnessKernel.of_kernel(
            self.kernel,
            self.obj,
            self.features,
            abi=self.abi,
            table_align=self.table_align,
            symbol=self.symbol,
        )


def _text(
    kernel: Point, target: Target, folder: Path, entry: Entry | None, tool: Tool
) -> tuple[str, str]:
    """Return (text, source)."""
    if entry is not None and not target.prefix and _made_for(entry, kernel, target):
        path = folder / entry.file
        if not path.exists():
            raise GhashgenError(f"{path} is missing", "run ghashgen generate")
        text = path.read_text(encoding="utf-8")
        if sha256(text.encode()) != entry.sha256:
            raise GhashgenError(
                f"{path} was edited by hand: it differs from {manifest.NAME}",
                "run ghashgen generate --force to restore it",
            )
        return text, entry.file
    return make(kernel, target, tool).text, "rendered"


def _made_for(entry: Entry, kernel: Point, target: Target) -> bool:
    align = target.table_align_of(kernel)
    made = entry.abi, entry.syntax, entry.backend, entry.table.align, list(entry.symbols)
    wanted = target.abi.name, target.syntax.name, target.backend, align, list(functions_of(kernel))
    return made == wanted


def _build(
    target: Target,
    folder: Path,
    objects: Path,
    tool: Tool,
    assembler: str,
    fresh: bool,
    item: tuple[K, Entry | None],
) -> Built[K]:
    kernel, entry = item
    text, source = _text(kernel, target, folder, entry, tool)
    return _assembled(target, objects, tool, assembler, fresh, (kernel, text, source))


def _assembled(
    target: Target, objects: Path, tool: Tool, assembler: str, fresh: bool, item: tuple[K, str, str]
) -> Built[K]:
    kernel, text, source = item
    obj = _object(target, objects, tool, assembler, fresh, (kernel, text))
    counted = audit(kernel, target.symbol(kernel.name), read_object(obj.read_bytes()))
    abi, align = target.abi.name, target.table_align_of(kernel)
    return Built(kernel, obj, abi, align, counted, source, target.prefix)


def _object(
    target: Target, objects: Path, tool: Tool, assembler: str, fresh: bool, item: tuple[Point, str]
) -> Path:
    """Return the object of a text, cached or newly assembled."""
    kernel, text = item
    digest = sha256(f"{tool.version} {text}".encode())
    stem = f"{kernel.name}-{digest[:16]}"

    def fill() -> None:
        asm = objects / f"{stem}.{target.syntax.suffix}"
        write_whole(asm, text)
        assemble(tool, asm, objects / f"{stem}.o", kernel.instruction_set.arch.default_format.name)

    return kept(objects / f"{stem}.o", f"object of {digest} by {assembler}", fill, fresh)


def _tool(target: Target) -> tuple[Tool, str]:
    """Return a target's assembler, and what distinguishes it from others of its version."""
    if not target.fmt.elf:
        raise GhashgenError(
            f"objects of format {target.fmt.name} cannot be run here", "choose --format elf64"
        )
    tool = find_assembler(target.syntax.assembler)
    # Two programs with the same version have separate objects.
    try:
        return tool, sha256(tool.path.read_bytes())
    except OSError as error:
        raise GhashgenError(f"{tool.path}: {error.strerror}", "let it be read") from None


def build(
    kernels: Sequence[K],
    target: Target,
    folder: Path,
    objects: Path,
    on_done: Callable[[K], None] = lambda kernel: None,
    fresh: bool = False,
) -> tuple[Built[K], ...]:
    """Assemble and audit kernels; `fresh` ignores existing `objects`.

    Raises:
        GhashgenError: a file of the folder was edited by hand or is missing, or assembling fails.
    """
    require_fit(kernels, target)
    tool, assembler = _tool(target)
    entries = manifest.load(folder)
    items = [(kernel, entries.get(kernel.name)) for kernel in kernels]
    work = partial(_build, target, folder, objects, tool, assembler, fresh)
    return tuple(run(work, items, lambda item: on_done(item[0])))


def assembling(target: Target, folder: Path, objects: Path) -> Callable[[tuple[K, Entry]], Path]:
    """Return a function that returns the assembled object of a folder's kernel, without an audit.

    It can be sent to a worker.

    Raises:
        GhashgenError: as `build`; the returned function too.
    """
    tool, assembler = _tool(target)
    return partial(_listed, target, folder, objects, tool, assembler)


def _listed(
    target: Target,
    folder: Path,
    objects: Path,
    tool: Tool,
    assembler: str,
    item: tuple[Point, Entry],
) -> Path:
    kernel, entry = item
    text, _ = _text(kernel, target, folder, entry, tool)
    return _object(target, objects, tool, assembler, False, (kernel, text))


def build_made(
    artefacts: Sequence[Artefact],
    target: Target,
    objects: Path,
    on_done: Callable[[Point], None] = lambda kernel: None,
    fresh: bool = False,
) -> tuple[Built[Point], ...]:
    """Assemble and audit these texts, made for this target, unchanged.

    Raises:
        GhashgenError: as `build`.
    """
    tool, assembler = _tool(target)
    items = [(artefact.kernel, artefact.text, "rendered") for artefact in artefacts]
    work = partial(_assembled, target, objects, tool, assembler, fresh)
    return tuple(run(work, items, lambda item: on_done(item[0])))
