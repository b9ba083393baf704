"""The direction of imports, the places that start processes, the size of files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import ghashgen

PACKAGE = Path(ghashgen.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400

ALLOWED = {
    "field": {"errors", "field"},
    "ops": {"errors", "field", "ops"},
    "schemes": {"errors", "field", "ops", "schemes"},
    "identities": {"errors", "field", "identities", "ops", "parallel", "schemes"},
    "ir": set(),
    "isa": {"ir", "isa"},
    "abi": set(),
    "verify": {"errors", "field", "ops", "verify"},
    "syntax": {"abi", "ir", "isa", "syntax"},
    "errors": set(),
}
"""What a part of the package may import of it; parts not named here may import more."""

FORBIDDEN = {
    "passes": {"render", "target", "syntax", "cli", "commands", "audit", "verify"},
    "functions": {"passes", "render", "target", "syntax", "cli", "commands", "verify"},
    "kernel": {"passes", "functions", "render", "target", "syntax", "verify"},
    "render": {"toolchain", "harness", "emulate", "cli", "commands", "verify"},
}
"""What a part must not import."""

PROCESSES = {"subprocess", "multiprocessing", "concurrent.futures.ProcessPoolExecutor", "pty"}
STARTS_PROCESSES = {"toolchain", "emulate", "harness", "peachpy", "bench", "child"}
"""Parts that start programs of others; child ends them."""
POOLS = {"parallel", "identities", "tune"}
"""Parts that run the package's own functions in worker processes."""


def part(path: Path) -> str:
    """The first name below the package."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


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


def parts_imported(path: Path) -> set[str]:
    found = {name.split(".")[1] for name in imports(path) if name.startswith("ghashgen.")}
    known = {part(module) for module in MODULES}
    return found & known


def breaches(path: Path) -> set[str]:
    name = part(path)
    used = parts_imported(path)
    return (used - ALLOWED[name] if name in ALLOWED else set()) | (
        used & FORBIDDEN.get(name, set())
    )


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_imports_go_in_one_direction() -> None:
    assert {name_of(path): found for path in MODULES if (found := breaches(path))} == {}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("field/gf2.py", "from ghashgen.ops import integers"),
        ("verify/spec.py", "import ghashgen.schemes.fold"),
        ("verify/spec.py", "from ghashgen import isa"),
        ("passes/select.py", "from ghashgen.render import render"),
        ("isa/avx.py", "def f():\n    from ghashgen.passes.select import select"),
    ],
)
def test_a_wrong_import_is_noticed(
    name: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(line, encoding="utf-8")
    monkeypatch.setattr("test_architecture.PACKAGE", tmp_path)
    monkeypatch.setattr("test_architecture.part", lambda module: module.parent.name)
    monkeypatch.setattr(
        "test_architecture.parts_imported",
        lambda module: {n.split(".")[1] for n in imports(module) if n.startswith("ghashgen.")},
    )
    assert breaches(path)


def processes(path: Path) -> set[str]:
    found = set(imports(path)) & PROCESSES
    names = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    return found | (names & {"popen", "fork", "posix_spawn", "execv", "execve", "execvp"})


def test_few_parts_start_processes() -> None:
    pools = {"concurrent.futures.ProcessPoolExecutor", "multiprocessing"}
    found = {
        name_of(path): processes(path) - (pools if part(path) in POOLS else set())
        for path in MODULES
        if part(path) not in STARTS_PROCESSES
    }
    assert {name: used for name, used in found.items() if used} == {}


def test_those_that_start_processes_are_noticed() -> None:
    assert processes(PACKAGE / "toolchain.py") == {"subprocess"}
    pools = processes(PACKAGE / "parallel.py")
    assert pools == {"concurrent.futures.ProcessPoolExecutor"}


def test_a_file_holds_one_idea() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name_of(path): count for path, count in lines.items() if count > MAX_LINES} == {}


DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)


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
