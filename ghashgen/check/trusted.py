"""How much of this package a proof rests on: the prover's imports, in lines of code."""

import ast
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

ROOTS = (
    "ghashgen.verify.prove",
    "ghashgen.verify.statements.ctr",
    "ghashgen.verify.statements.gcm",
    "ghashgen.verify.statements.given",
    "ghashgen.verify.statements.hash",
)
"""The module that `ghashgen prove`, `prove-object` and `ghashgen.prove` all call with an object's
bytes and its statement, and the statements, which bring their meanings with them.
"""

ROWS = "verify/x86_64/rows"
"""The effect of each instruction, form by form; each is compared with a CPU."""

SEARCH = "verify/search"
"""Proposes certificates. Nothing rests on it, nor on what it alone imports: the rules decide."""

AES = (
    "algebra/field/aes_round.py", "verify/core/opaque.py", "verify/core/words.py",
    "verify/meaning/aes.py", "verify/meaning/answer.py", "verify/meaning/cipher.py",
    "verify/meaning/counters.py", "verify/meaning/initial.py", "verify/meaning/lengths.py",
    "verify/meaning/questions.py", "verify/meaning/records.py", "verify/meaning/status.py",
    "verify/meaning/stream.py",
    "verify/meaning/tag.py", "verify/meaning/text.py", "verify/statements/aes.py",
    "verify/statements/ctr.py", "verify/statements/gcm.py", "verify/statements/given.py",
    "verify/x86_64/rows/aes.py",
)  # fmt: skip
"""Loaded only for AES-CTR and AES-GCM: no operation of a hash function is in these."""

PARTS = {
    "what AES-CTR and AES-GCM are": AES,
    "what a result should be": ("algebra/field",),
    "forms over GF(2)": ("algebra/ops",),
    "what instructions do": (ROWS,),
    "what every machine has: values, memory, flags": ("verify/core", "verify/machine"),
    "x86-64: ELF, decoding, operands, conventions": ("verify/x86_64",),
    "the rules of certificates": (
        "verify/rules",
        "verify/checking.py",
        "verify/prove.py",
        "verify/theorems.py",
    ),
    "what functions mean": ("verify/meaning", "verify/statements"),
    "the package and its errors": (".",),
}
"""The purpose of each part -> its folders or files; a file belongs to the first part that holds
it.
"""


@dataclass(frozen=True)
class Part:
    """Some files that the prover loads; lines of code exclude docstrings, comments and blank
    lines.
    """

    name: str
    where: tuple[str, ...]
    files: int
    code: int
    lines: int


@cache
def trusted_files() -> tuple[Path, ...]:
    """Return the files of this package that the prover imports, directly or indirectly, sorted.

    Without the search.
    """
    found: set[Path] = set()
    todo = [*ROOTS]
    while todo:
        name = todo.pop()
        # Importing a module runs the packages that contain it.
        names = [".".join(name.split(".")[: k + 1]) for k in range(name.count(".") + 1)]
        for path in filter(None, map(_file, names)):
            if path not in found and not _within(path, (SEARCH,)):
                found.add(path)
                todo += _imports(path)
    return tuple(sorted(found))


def trusted_parts() -> tuple[Part, ...]:
    """Return the parts that a proof rests on, each with its size."""
    rest = list(trusted_files())
    parts = []
    for name, where in PARTS.items():
        own = [path for path in rest if _within(path, where)]
        rest = [path for path in rest if path not in own]
        parts.append(_part(name, where, own))
    return tuple(parts)


def _within(path: Path, where: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(PACKAGE / place) for place in where)


def _part(name: str, where: tuple[str, ...], files: list[Path]) -> Part:
    code = sum(_lines_of_code(path) for path in files)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    return Part(name, where, len(files), code, lines)


@cache
def _lines_of_code(path: Path) -> int:
    """`code_lines` of a file of this package, which does not change while the package runs."""
    return code_lines(path)


def code_lines(path: Path) -> int:
    """Return the number of a file's lines that are neither blank, nor comment, nor docstring."""
    with path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    bare = (
        tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
        tokenize.DEDENT, tokenize.ENDMARKER,
    )  # fmt: skip
    lines = {
        line
        for token in tokens
        if token.type not in bare
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _file(module: str) -> Path | None:
    """Return the file of a module of this package, None if there is none."""
    place = PACKAGE.joinpath(*module.split(".")[1:])
    if module.split(".")[0] != PACKAGE.name:
        return None
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def _imports(path: Path) -> Iterator[str]:
    todo: list[ast.AST] = [ast.parse(path.read_bytes())]
    while todo:
        node = todo.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                todo += node.orelse
                continue
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)
        todo += ast.iter_child_nodes(node)
