"""Lists what this machine has and lacks, with the command that installs what is missing."""

import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ghashgen.arch.core import Arch
from ghashgen.arch.registry import DEFAULT, arches, isas, syntaxes
from ghashgen.kernels import manifest
from ghashgen.kernels.families import families
from ghashgen.output.peachpy import tool as peachpy
from ghashgen.run.harness import build as build_harness
from ghashgen.run.machine import host, machine_for
from ghashgen.support import extras
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import GENERATED, project_root
from ghashgen.support.toolchain import find_assembler, find_cc, find_llvm_mca


@dataclass(frozen=True)
class Finding:
    """One thing that the project uses."""

    item: str
    found: str
    """What was found; empty if it is missing."""
    needed_for: str
    required: bool
    remedy: str
    """The command that installs it, or why nothing can."""

    @property
    def ok(self) -> bool:
        """Whether it was found."""
        return bool(self.found)


def _tool(find: Callable[[], object]) -> tuple[str, str]:
    """Return (what was found, remedy) from a finder that raises."""
    try:
        tool = find()
    except GhashgenError as refusal:
        return "", f"{refusal.cause}; {refusal.remedy}"
    return f"{getattr(tool, 'path', tool)} {getattr(tool, 'version', '')}".strip(), ""


def _python() -> Finding:
    version = platform.python_version()
    good = sys.version_info >= (3, 11)
    return Finding("python", version if good else "", "everything", True, "install Python 3.11")


def _program(name: str, package: str, needed_for: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path or "", needed_for, False, f"apt-get install {package}")


def _extra(name: str) -> Finding:
    found = "" if extras.missing(name) else " ".join(extras.EXTRAS[name].values())
    return Finding(f"extra: {name}", found, extras.USES[name], False, extras.command(name))


def _peachpy() -> Finding:
    tool = peachpy.find()
    found = f"{tool.python} {tool.version}" if tool else ""
    return Finding("peachpy", found, "--backend peachpy", False, peachpy.REMEDY)


def _llvm_mca() -> Finding:
    found, _ = _tool(find_llvm_mca)
    # Debian's plain llvm is too old to model znver4 and Sapphire Rapids.
    return Finding("llvm-mca", found, "port bounds by a model", False, "apt-get install llvm-19")


def _cpu(folder: Path) -> list[Finding]:
    """Return one finding for each instruction set and family: which features the CPU has."""
    try:
        present = build_harness([], folder).features()
    except GhashgenError as refusal:
        return [Finding("cpu", "", "native runs", False, str(refusal))]
    here = host()
    own = isas(here.name) if here else {}
    out = []
    for (isa, family), needs in sorted(_needs().items()):
        if isa not in own:
            continue
        missing = [name for name in sorted(needs) if not present.get(name, False)]
        out.append(
            Finding(
                f"cpu: {isa}, {family}",
                "" if missing else " ".join(sorted(needs)),
                f"running {isa} kernels of {families()[family].title} natively",
                False,
                f"this CPU lacks {', '.join(missing)}: kernels run in the emulator",
            )
        )
    return out


def _needs() -> dict[tuple[str, str], set[str]]:
    """Return the CPU features that the catalogue's kernels need, by instruction set and family."""
    needs: dict[tuple[str, str], set[str]] = {}
    for entry in manifest.load(project_root() / GENERATED).values():
        key = (entry.isa, entry.family)
        needs.setdefault(key, set()).update(entry.cpu_features)
    return needs


def _others() -> list[Finding]:
    """Return what runs programs of the other architectures."""
    return [_other(arch) for arch in arches().values() if arch != host()]


def _other(arch: Arch) -> Finding:
    """Return whether this machine can build and run programs of another architecture."""
    what = f"running {arch.title} kernels"
    try:
        machine = machine_for(arch)
    except GhashgenError as refusal:
        return Finding(arch.title, "", what, False, str(refusal))
    return Finding(arch.title, f"{machine.how}, {machine.cc.version}", what, False, "")


def _assemblers() -> list[Finding]:
    """Return the assembler of each syntax; only the default syntax's is required."""
    out = []
    for arch in arches().values():
        found = syntaxes(arch.name)
        for assembler in dict.fromkeys(syntax.assembler for syntax in found.values()):
            names = [name for name, syntax in found.items() if syntax.assembler == assembler]
            needed_for = f"{arch.title}: --syntax {' and '.join(names)}"
            required = arch.name == DEFAULT and arch.syntax in names
            tool, remedy = _tool(partial(find_assembler, assembler))
            out.append(Finding(assembler.title, tool, needed_for, required, remedy))
    return sorted(out, key=lambda finding: not finding.required)


def examine(folder: Path) -> Sequence[Finding]:
    """Examine the machine. The program that detects CPU features is built in `folder`."""
    cc, cc_remedy = _tool(find_cc)
    return [
        _python(),
        *_assemblers(),
        Finding("C compiler", cc, "the harness: validate, bench", True, cc_remedy),
        _program("make", "make", "the Makefile"),
        *_cpu(folder),
        *_others(),
        *(_extra(name) for name in extras.EXTRAS),
        _peachpy(),
        _llvm_mca(),
    ]
