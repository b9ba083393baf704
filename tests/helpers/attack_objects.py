"""What the tests of objects made to fool the prover share: assembling and asking for a verdict."""

import re
import subprocess
from pathlib import Path

from ghashgen.algebra.field.bitorder import Order
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.advice import advised
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec
from helpers.installed import need_programs

FOLDER = Path(__file__).parents[1] / "asm_attack" / "objects"

FUNCTION = Category.FUNCTION

ELF = None
"""The object is refused when it is read, before any function of it."""


def statement(abi: str = "sysv") -> KernelSpec:
    mul = FunctionSpec("mul", "attack_mul", ("state", "table"))
    return KernelSpec("attack", abi, Order.REFLECTED, 1, (("B", 1),), 16, (mul,))


def source(name: str) -> Path:
    return next(p for p in (FOLDER / f"{name}.asm", FOLDER / f"{name}.s") if p.exists())


def assemble(path: Path, folder: Path, fault: bool) -> Path:
    out = folder / f"{path.stem}{'-wrong' * fault}.o"
    if path.suffix == ".asm":
        define = ["-dFAULT"] if fault else []
        command = [*find_nasm().command, "-f", "elf64", f"-I{FOLDER}/", *define]
    else:
        need_programs("as")
        define = ["--defsym", "FAULT=1"] if fault else []
        command = ["as", "--64", f"-I{FOLDER}", *define]
    subprocess.run([*command, str(path), "-o", str(out)], check=True, capture_output=True)
    return out


def verdict(data: bytes, abi: str = "sysv") -> tuple[Category | None, str]:
    """Return the category and the words of a refusal; `FUNCTION` and "" for a right object."""
    try:
        refutation = prove_object(data, statement(abi)).refutation
    except GhashgenError as error:
        return ELF, str(advised(error))
    return (FUNCTION, "") if refutation is None else (refutation.category, str(refutation))


def refused(data: bytes, category: Category | None, words: str, abi: str = "sysv") -> None:
    found, said = verdict(data, abi)
    assert said, "it is proved"
    assert re.search(words, said), said
    assert found is category, said
