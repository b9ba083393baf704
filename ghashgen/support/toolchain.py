"""Starts assemblers, compilers, linkers and llvm-mca; no other module does.

Their output depends only on sources and options. They run in the source's folder, so that no
folder's name enters an object, and write to a temporary name that replaces the target at the end,
so that a failure leaves nothing half-written.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import make_folder

_INSTALL_CC = "install one: apt-get install gcc, or name one in CC"
_INSTALL_MCA = "install it: apt-get install llvm, or name one in GHASHGEN_LLVM_MCA"
_SECONDS = 120


@dataclass(frozen=True)
class Dialect:
    """A kind of assembler: how to recognise it, and what it writes."""

    name: str
    """Its name in manifests."""
    says: str
    """Pattern for the beginning of its version output; group 1 is the version."""
    formats: tuple[tuple[str, tuple[str, ...]], ...]
    """The object formats that it writes, each with its options."""
    minimum: tuple[int, ...] = ()
    """The first accepted release line; () for any."""


@dataclass(frozen=True)
class Assembler:
    """How to find an assembler for a syntax."""

    title: str
    variable: str
    """Environment variable that names the program."""
    package: str
    """The Debian package."""
    programs: tuple[str, ...]
    """If the variable is not set, the first of these that is one of `dialects` is used."""
    dialects: tuple[Dialect, ...]
    """The first dialect that recognises a program's answer applies."""
    asked: str = "--version"
    """The option that makes a program identify itself."""

    @property
    def remedy(self) -> str:
        """The remedy if there is none."""
        return f"install it: apt-get install {self.package}, or name one in {self.variable}"


@dataclass(frozen=True)
class Tool:
    """A program that was found, with options from its name (``CC="zig cc"``)."""

    path: Path
    version: str
    options: tuple[str, ...] = ()
    dialect: Dialect | None = None
    """For an assembler."""

    @property
    def said(self) -> str:
        """Its name and version, as in a manifest."""
        return f"{self.dialect.name if self.dialect else self.path.name} {self.version}"

    @property
    def command(self) -> list[str]:
        """The beginning of the command line."""
        return [str(self.path), *self.options]


def _run(
    command: Sequence[str], cwd: Path | None = None, remedy: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a tool in the C locale; return its output whatever its exit status."""
    try:
        return subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GhashgenError(f"{command[0]} did not finish in {_SECONDS} s", remedy) from None
    except OSError as error:
        raise GhashgenError(f"{command[0]} cannot be run: {error.strerror}", remedy) from None


def _which(name: str) -> Path | None:
    found = shutil.which(name)
    # Absolute, because tools are started in their source's folder.
    return Path(found).absolute() if found else None


def find_assembler(assembler: Assembler) -> Tool:
    """Return an assembler for a syntax (``Syntax.assembler``).

    This is the program that the variable names, else the first on the path that identifies itself
    as one.

    Raises GhashgenError if there is none, or it is too old.
    """
    wanted = os.environ.get(assembler.variable, "")
    other = ""
    for name in (wanted,) if wanted else assembler.programs:
        path = _which(name)
        if path is None:
            continue
        answer = _run([str(path), assembler.asked], remedy=assembler.remedy).stdout
        for dialect in assembler.dialects:
            if match := re.match(dialect.says, answer, re.DOTALL):
                _require_new(dialect, match[1], assembler.remedy)
                return Tool(path, match[1], (), dialect)
        other = other or f"{path} does not say that it is {assembler.title}"
    cause = f"{assembler.title} not found" + (f" under the name {wanted}" if wanted else "")
    raise GhashgenError(other or cause, assembler.remedy)


def _require_new(dialect: Dialect, version: str, remedy: str) -> None:
    found = tuple(int(number) for number in re.findall(r"\d+", version))
    if found[: len(dialect.minimum)] < dialect.minimum:
        needed = ".".join(map(str, dialect.minimum))
        raise GhashgenError(f"{dialect.name} {version} is too old, {needed} is needed", remedy)


def _format_options(tool: Tool, fmt: str) -> tuple[str, ...]:
    """Return the options that make a tool write an object format."""
    known = dict(tool.dialect.formats) if tool.dialect else {}
    if fmt not in known:
        raise GhashgenError(
            f"{tool.path.name} does not write {fmt}", f"it writes {', '.join(known) or 'none'}"
        )
    return known[fmt]


def find_cc() -> Tool:
    """Return the C compiler named by ``CC``, else the first of cc, gcc, clang on the path.

    Raises GhashgenError if there is none.
    """
    wanted = os.environ.get("CC", "").strip()
    for candidate in (wanted,) if wanted else ("cc", "gcc", "clang"):
        name, *options = shlex.split(candidate)
        path = _which(name)
        if path is None:
            continue
        answer = _run([str(path), *options, "--version"], remedy=_INSTALL_CC)
        if answer.returncode != 0 or not answer.stdout.strip():
            raise GhashgenError(f"{candidate} --version fails", _INSTALL_CC)
        return Tool(path, answer.stdout.splitlines()[0].strip(), tuple(options))
    raise GhashgenError("no C compiler found" + _named(wanted, ""), _INSTALL_CC)


def find_cross_cc(triple: str) -> Tool:
    """Return the GCC for another machine, by the triple that its name begins with.

    Raises GhashgenError if there is none.
    """
    name = f"{triple}-gcc"
    path = _which(name)
    if path is None:
        package = f"gcc-{triple.replace('_', '-')}"
        raise GhashgenError(f"{name} not found", f"install it: apt-get install {package}")
    answer = _run([str(path), "--version"], remedy=f"install {name} anew")
    return Tool(path, answer.stdout.splitlines()[0].strip())


def find_emulator(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a user-mode emulator, with its program's path.

    Raises GhashgenError if it is not installed.
    """
    name, *options = command
    path = _which(name)
    if path is None:
        raise GhashgenError(f"{name} not found", "install it: apt-get install qemu-user")
    return (str(path), *options)


LLVM_RELEASES = range(14, 24)
"""Releases whose llvm-mca is looked for under its versioned name; 14 is the first whose JSON has
the names of a model's resources.
"""

MCA_PASSES = 32
"""Passes of a loop that llvm-mca simulates; with more, the leading digits no longer change."""


def _llvm_mca(name: str) -> tuple[tuple[int, ...], Tool] | None:
    """Return (release, tool) if a program of this name identifies itself as llvm-mca."""
    path = _which(name)
    if path is None:
        return None
    answer = _run([str(path), "--version"], remedy=_INSTALL_MCA).stdout
    match = re.search(r"LLVM version (\d+)\.(\d+)\.(\d+)\S*", answer)
    if match is None:
        return None
    version = match[0].removeprefix("LLVM version ")
    return tuple(int(number) for number in match.groups()), Tool(path, version)


def find_llvm_mca() -> Tool:
    """Return the llvm-mca named by ``GHASHGEN_LLVM_MCA``, else the newest on the path.

    Raises GhashgenError if there is none.
    """
    wanted = os.environ.get("GHASHGEN_LLVM_MCA", "")
    usual = ("llvm-mca", *(f"llvm-mca-{release}" for release in LLVM_RELEASES))
    found = [tool for name in ((wanted,) if wanted else usual) if (tool := _llvm_mca(name))]
    if not found:
        raise GhashgenError("llvm-mca not found" + _named(wanted, ""), _INSTALL_MCA)
    return max(found, key=lambda item: item[0])[1]


def run_llvm_mca(mca: Tool, cpu: str, assembly: str) -> tuple[str, str]:
    """Run the model of ``cpu`` (an -mcpu name) on AT&T assembly with LLVM-MCA-BEGIN/END marks.

    Return (its JSON, its refusal); one of the two is empty. llvm-mca continues with an unknown
    processor; this counts as a refusal.
    """
    options = ["-mtriple=x86_64", f"-mcpu={cpu}", f"-iterations={MCA_PASSES}", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "loop.s"
        source.write_text(assembly, encoding="utf-8")
        result = _run([*mca.command, *options, source.name], cwd=Path(folder))
    unknown = "is not a recognized processor" in result.stderr
    if result.returncode != 0 or unknown or not result.stdout.strip():
        return "", first_error(result.stderr) or f"exit status {result.returncode}"
    return result.stdout, ""


def _named(name: str, usual: str) -> str:
    return "" if name == usual else f" under the name {name}"


def assemble(
    assembler: Tool,
    source: Path,
    obj: Path,
    fmt: str = "elf64",
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> None:
    """Assemble ``source`` into ``obj``; ``defines`` are single-line macros (``-D``).

    Raises GhashgenError with the assembler's first error.
    """
    options = [*_format_options(assembler, fmt)]
    options += [f"-I{folder.absolute()}/" for folder in include]
    options += [f"-D{name}={value}" for name, value in sorted((defines or {}).items())]
    _produce(assembler, [*options, _name(source)], source.parent, obj)


def compile_c(
    cc: Tool, source: Path, obj: Path, *, flags: Sequence[str] = (), include: Sequence[Path] = ()
) -> None:
    """Compile ``source`` (``.c``, or ``.S`` with the preprocessor) into ``obj``.

    Raises GhashgenError with the compiler's first error.
    """
    options = [*flags, *(f"-I{folder.absolute()}" for folder in include)]
    _produce(cc, [*options, "-c", _name(source)], source.parent, obj)


def link(cc: Tool, objects: Sequence[Path], program: Path, *, flags: Sequence[str] = ()) -> None:
    """Link ``objects`` into an executable.

    Raises GhashgenError with the linker's first error.
    """
    names = [str(path.absolute()) for path in objects]
    _produce(cc, [*flags, *names], None, program)


def assemble_text(assembler: Tool, name: str, text: str, fmt: str) -> bytes:
    """Return the object of an assembly text.

    Raises GhashgenError if the assembler fails.
    """
    with tempfile.TemporaryDirectory(prefix="ghashgen-") as folder:
        source, obj = Path(folder) / f"{name}.asm", Path(folder) / f"{name}.o"
        source.write_bytes(text.encode())
        _make(assembler, [*_format_options(assembler, fmt), source.name], source.parent, obj)
        return obj.read_bytes()


def _name(source: Path) -> str:
    if not source.is_file():
        raise GhashgenError(f"{source}: no such file")
    return source.name


def _produce(tool: Tool, arguments: Sequence[str], cwd: Path | None, target: Path) -> None:
    """Run ``tool arguments -o`` a temporary name beside ``target``, then replace ``target``."""
    target = target.absolute()
    make_folder(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        unfinished = Path(folder) / target.name
        _make(tool, arguments, cwd, unfinished)
        unfinished.replace(target)


def _make(tool: Tool, arguments: Sequence[str], cwd: Path | None, output: Path) -> None:
    """Run ``tool arguments -o output``; a failure may leave part of ``output`` behind."""
    result = _run([*tool.command, *arguments, "-o", str(output)], cwd=cwd)
    if result.returncode != 0 or not output.exists():
        line = first_error(result.stderr or result.stdout)
        raise GhashgenError(
            f"{tool.path.name} failed: {line or f'exit status {result.returncode}'}",
            f"{tool.path.name} here is {tool.version}",
        )


def first_error(output: str) -> str:
    """Return the first line that reports an error (not a warning or note), else the first line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marks = re.compile(r"\b(fatal|error|panic): |undefined reference|multiple definition")
    return next((line for line in lines if marks.search(line)), lines[0] if lines else "")
