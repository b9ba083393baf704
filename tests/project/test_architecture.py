"""The direction of imports, the places that start processes, the size of files."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from helpers.rooms import ROOMS

import ghashgen

PACKAGE = Path(ghashgen.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400


ALONE = {
    part: set(names.split())
    for part, names in {
        "algebra.field": "algebra.field support.errors",
        "algebra.ops": "algebra.field algebra.ops support.errors",
        "algebra.schemes": "algebra.field algebra.ops algebra.schemes support.errors "
        "support.registry",
        "ir": "algebra.ops.protocol ir",
        "arch": "arch ir support",
        "kernels.aes": "algebra.field arch.registry arch.rows ir kernels.aes kernels.axes "
        "kernels.bytes kernels.core kernels.memory kernels.shared_axes",
        "kernels.bytes": "algebra.field ir kernels.bytes",
        "verify": "algebra.field algebra.ops support.errors verify",
        "verify.core": "algebra.field algebra.ops support.errors verify.core",
        "verify.machine": "support.errors verify.core verify.machine",
        "verify.x86_64": "algebra support.errors verify.core verify.machine verify.x86_64",
        "verify.rules": "verify.core verify.machine verify.rules",
        "verify.meaning": "algebra.field algebra.ops verify.core verify.machine verify.meaning "
        "verify.rules",
        "verify.search": "algebra.field algebra.ops verify.checking verify.core verify.machine "
        "verify.meaning verify.rules verify.search verify.statements.core "
        "verify.x86_64.elf",
        "verify.prove": "verify.checking verify.core verify.machine verify.search.certified "
        "verify.statements verify.theorems verify.x86_64.elf",
    }.items()
}
"""Parts that import less than their room may: all that they import of the package."""

LOOKS = "verify.search.x86_64"
"""What the search asks of instructions: the one part of it that knows its machine."""

STRANGERS = {
    "check.sampled": {"verify"},
    "compiler": {"verify"},
    "output": {"verify"},
    "verify.rules": {"verify.search"},
    "verify.meaning": {"verify.search"},
    "verify.checking": {"verify.search"},
    "verify.statements": {"verify.search"},
}
"""Parts that share no step with each other: what they must not import."""

READ_ELF = {"arch.elf", "verify.x86_64"}
"""Who reads ELF: one for all, and `verify` for itself."""


def test_elf_is_read_once() -> None:
    readers = {name_of(path) for path in MODULES if any(m[:8] == "elftools" for m in imports(path))}
    assert readers == set()
    words = {name_of(path) for path in MODULES if "Elf64_Sym" in path.read_text(encoding="utf-8")}
    assert {name for name in words if not any(within(name, r) for r in READ_ELF)} == set()


PROCESSES = {"subprocess", "multiprocessing", "concurrent.futures.ProcessPoolExecutor", "pty"}
STARTS_PROCESSES = {
    "support.toolchain", "support.child", "output.peachpy", "run", "records.machine", "lab.bench",
    "check.attack",
}  # fmt: skip
"""Parts that start programs of others; child ends them."""
POOLS = {"support.parallel", "support.termination", "algebra.identities", "lab.tune"}
"""Parts that run the package's own functions in worker processes, or end these."""


def name_of(path: Path) -> str:
    """A module's dotted name below the package."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name.removesuffix("__init__").rstrip(".")


NAMES = frozenset(map(name_of, MODULES))


def within(name: str, part: str) -> bool:
    return name == part or name.startswith(f"{part}.")


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, at any depth, with the names taken from packages."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports; of a name in a module, the module."""
    names = {name.removeprefix("ghashgen.") for name in imports(path) if "ghashgen." in name}
    found = set()
    for name in names:
        while name and name not in NAMES:
            name = name.rpartition(".")[0]
        found.add(name)
    # `from ghashgen.a import b`: b says more than a, which is its package.
    return {name for name in found - {""} if not any(n != name and within(n, name) for n in found)}


def breaches(name: str, used: set[str]) -> set[str]:
    """What a module imports and must not."""
    room = name.partition(".")[0]
    found = set()
    if room in ROOMS:
        below = ROOMS[: ROOMS.index(room) + 1]
        found |= {other for other in used if other.partition(".")[0] not in below}
    for part, allowed in ALONE.items():
        if within(name, part) and name != LOOKS:
            found |= {other for other in used if not any(within(other, a) for a in allowed)}
    for part, strangers in STRANGERS.items():
        if within(name, part):
            found |= {other for other in used if any(within(other, s) for s in strangers)}
    return found


def test_a_room_imports_only_rooms_below_it() -> None:
    found = {name_of(path): breaches(name_of(path), imported(path)) for path in MODULES}
    assert {name: used for name, used in found.items() if used} == {}


def test_every_folder_is_a_room_and_few_modules_stand_outside() -> None:
    outside = {path.stem for path in PACKAGE.glob("*.py")}
    assert outside == {"__init__", "__main__", "api"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("algebra.field.gf2", "from ghashgen.algebra.ops import integers"),
        ("verify.statements.hash", "import ghashgen.algebra.schemes.fold"),
        ("verify.statements.hash", "from ghashgen.arch import sets"),
        ("verify.core.terms", "from ghashgen.verify.x86_64 import machine"),
        ("verify.rules.check", "from ghashgen.verify.meaning.names import Names"),
        ("verify.checking", "from ghashgen.verify.search.kernel import proposed"),
        ("verify.prove", "from ghashgen.verify.meaning import hash"),
        ("verify.rules.check", "from ghashgen.verify.x86_64.target import X86_64"),
        ("verify.meaning.status", "from ghashgen.verify.x86_64 import abi"),
        ("verify.machine.memory", "from ghashgen.verify.x86_64.elf import load_image"),
        ("verify.search.flow", "from ghashgen.verify.x86_64.decoding import decode"),
        ("compiler.select", "from ghashgen.output.render import render"),
        ("check.sampled.points", "from ghashgen.verify.core.terms import Terms"),
        ("arch.x86_64.sets.avx", "def f():\n    from ghashgen.compiler.select import select"),
    ],
)
def test_a_wrong_import_is_noticed(name: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(line, encoding="utf-8")
    assert breaches(name, imported(path))


KNOW_NO_MACHINE = tuple(room for room in ROOMS if room not in ("support", "algebra", "verify"))
"""Rooms that ask the value of an architecture; `verify` has tables of its own, on purpose."""

KNOW_ONE = {
    "arch.aarch64": "an architecture, of words that both have: sp, ret",
    "arch.x86_64": "the architecture",
    "check.additions": "compares the tables of x86-64 with each other",
    "check.attack": "attacks what verify says of x86-64",
    "check.sampled": "follows bytes by tables of its own, so that it shares no step with verify",
    "check.validation.records": "NIST's files are named .rsp",
    "cost.count": "classes of the forms of published loops, which are of x86-64",
    "cost.ports": "what llvm-mca reads",
    "lab.model.peers": "forms of published loops, which are of x86-64",
    "output.dispatcher": "asks CPUID",
    "output.hosts.go_asm": "Go's assembler is fed instructions of x86-64",
    "output.hosts.linux": "its macro for a return stands in place of the instruction",
    "output.peachpy": "PeachPy encodes x86-64 alone",
    "run.emulate": "the emulated CPU is an x86-64",
}
"""Parts of them that may know x86-64, and why."""

MACHINE = re.compile(r"\b(?:[xyz]mm\d*|[er]?[sb]p|[er]ip|[er]flags|v?zeroupper|endbr64|jmp|ret)\b")
"""Words of one machine."""


@cache
def machine(path: Path) -> set[str]:
    """What a file says of x86-64 in code: imports, names, strings; text for readers aside."""
    found = {name for name in imports(path) if within(name, "iced_x86") or "arch.x86_64" in name}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    text = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in text:
            found |= set(MACHINE.findall(node.value))
        elif isinstance(node, ast.Call) and ast.unparse(node).endswith("startswith('j')"):
            found.add("startswith('j')")
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            found |= set(MACHINE.findall(name.strip("_").lower())) - {"ret"}
    return found


def test_no_pass_audit_or_printer_knows_a_machine() -> None:
    found = {
        name: machine(path)
        for path in MODULES
        if (name := name_of(path)).partition(".")[0] in KNOW_NO_MACHINE
        and not any(within(name, part) for part in KNOW_ONE)
    }
    assert {name: words for name, words in found.items() if words} == {}


CHECKER = tuple(
    f"verify.{part}"
    for part in (
        "checking", "core", "machine", "meaning", "prove", "rules", "search", "statements",
        "theorems",
    )
)  # fmt: skip
"""Parts of the prover that get their machine as a value, `Target`."""

DECODERS = {"capstone", "iced_x86"}


def test_the_checker_knows_no_machine() -> None:
    found = {}
    for path in MODULES:
        name = name_of(path)
        if any(within(name, part) for part in CHECKER) and name != LOOKS:
            packages = {name.partition(".")[0] for name in imports(path)}
            found[name] = machine(path) | packages & DECODERS
    assert {name: words for name, words in found.items() if words} == {}


def test_those_that_may_know_a_machine_do() -> None:
    """An exception that nothing needs any more is taken out."""
    knowing = {name_of(path) for path in MODULES if machine(path)}
    assert [part for part in KNOW_ONE if not any(within(n, part) for n in knowing)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from ghashgen.arch.x86_64.abi import SYSV",
        "import iced_x86",
        "if op.code.startswith('j'): pass",
        "name = f'xmm{number}'",
        "base = Register.RSP",
        "if op.code in ('jmp', 'ret'): pass",
    ],
)
def test_a_machine_that_is_known_is_noticed(line: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(f'"""About rsp and xmm0."""\n{line}\n', encoding="utf-8")
    assert machine(path)


def processes(path: Path) -> set[str]:
    calls = r"\.(popen|fork|posix_spawn|execv|execve|execvp)\b"
    found = re.findall(calls, path.read_text(encoding="utf-8"))
    return set(imports(path)) & PROCESSES | set(found)


def test_few_parts_start_processes() -> None:
    pools = {"concurrent.futures.ProcessPoolExecutor", "multiprocessing"}
    found = {
        name_of(path): processes(path)
        - (pools if any(within(name_of(path), part) for part in POOLS) else set())
        for path in MODULES
        if not any(within(name_of(path), part) for part in STARTS_PROCESSES)
    }
    assert {name: used for name, used in found.items() if used} == {}


def test_those_that_start_processes_are_noticed() -> None:
    assert processes(PACKAGE / "support" / "toolchain.py") == {"subprocess"}
    pools = processes(PACKAGE / "support" / "parallel.py")
    assert pools == {"concurrent.futures.ProcessPoolExecutor"}


def test_a_file_holds_one_idea() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name_of(path): count for path, count in lines.items() if count > MAX_LINES} == {}


DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def acts(path: Path) -> list[str]:
    """Statements at the top level that are neither definitions nor tables."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        is_script = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        if not (isinstance(node, DEFINITIONS) or is_docstring or is_typing or is_script):
            found.append(ast.unparse(node))
    return found


def test_importing_a_module_does_nothing() -> None:
    found = {name_of(path): acts(path) for path in MODULES if path.name != "__main__.py"}
    assert {name: statements for name, statements in found.items() if statements} == {}
