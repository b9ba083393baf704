"""The public Python interface, exported by `ghashgen.__all__`: choose kernels, emit them, prove
objects.

docs/api.md has examples. Every refusal is a GhashgenError whose text is one line: cause and remedy.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from ghashgen.check import proofs
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import DEFAULT, in_order
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, catalogue
from ghashgen.kernels.selection import choose as choose_any
from ghashgen.kernels.target import OWN, arch_of, target
from ghashgen.output import generate
from ghashgen.output.artefact import make
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import require_file
from ghashgen.support.toolchain import find_assembler
from ghashgen.verify.advice import advised
from ghashgen.verify.difference import explain
from ghashgen.verify.prove import prove_object
from ghashgen.verify.report import report
from ghashgen.verify.theorems import Proof as Verdict
from ghashgen.verify.theorems import Theorem

__all__ = [
    "GhashgenError", "Kernel", "Point", "Proof", "Theorem", "assembly", "choose", "emit", "prove",
]  # fmt: skip

Value = str | int | bool
"""The value of an axis: a name, a number of blocks, or a flag."""


@overload
def choose(
    *names: str, family: Literal["hash"] = "hash", **axes: Value | Collection[Value]
) -> tuple[Kernel, ...]: ...


@overload
def choose(
    *names: str, family: str | Collection[str], **axes: Value | Collection[Value]
) -> tuple[Point, ...]: ...


def choose(
    *names: str, family: str | Collection[str] = DEFAULT, **axes: Value | Collection[Value]
) -> tuple[Any, ...]:
    """Return kernels by name, or by the values of their axes; without either, the catalogue.

    These are GHASH and POLYVAL kernels, unless `family` names others: ``"gcm"`` is AES-GCM. The
    axes are the filters of ``ghashgen list --help``. Each takes one value or several:
    ``isa="avx2"``, ``blocks=(8, 16)``, ``wipe=True``. ``blocks`` is the number of 16-byte blocks in
    a group, which one pass of the loop absorbs: 1 to 48.

    If no kernel of the catalogue has these values or this name, kernels are made on demand. Axes
    that are not given have their defaults, with every multiply and reduce that fits.

    Raises:
        GhashgenError: a name, axis, value or family is unknown, names and axes are given at once, a
            named kernel is of another family, or no kernel can have these values.
    """
    if names and axes:
        raise GhashgenError("choose kernels by name or by axes, not both", "leave out one of them")
    wanted = (family,) if isinstance(family, str) else tuple(family)
    for kernel in catalogue() if names else ():
        if kernel.name in names and kernel.family not in wanted:
            raise GhashgenError(
                f"{kernel.name} is of family {kernel.family}", f"add family={kernel.family!r}"
            )
    own = [known for known in in_order() if known.name in wanted]
    known_axes = {axis.name for each in own for axis in each.axes}
    if own and (unknown := sorted(axes.keys() - known_axes)):
        raise GhashgenError(
            f"unknown axis {unknown[0]!r}", f"axes are {', '.join(sorted(known_axes))}"
        )
    values: dict[str, Any] = {
        axis: (value,) if isinstance(value, str | int) else tuple(value)
        for axis, value in axes.items()
    }
    return choose_any(Choice(name=names, family=wanted, **values))


def emit(
    kernels: Sequence[Point],
    folder: str | Path,
    *,
    abi: str = "",
    fmt: str = "",
    prefix: str = "",
    syntax: str = "",
    backend: str = OWN,
    force: bool = False,
    threads: bool = False,
) -> tuple[Path, ...]:
    """Write kernels to a folder, with header, dispatcher and MANIFEST.json: all files or none.

    Return the paths of the files, sorted. The same kernels give the same bytes. Kernels that the
    folder's manifest lists already stay, also in header and dispatcher. All kernels must be for one
    architecture, which sets the defaults. They are made in parallel processes.

    - `abi`: ``"sysv"``, ``"win64"`` or ``"aapcs64"``.
    - `fmt`: ``"elf64"``, ``"win64"`` or ``"macho64"``; by default the convention's.
    - `prefix` goes before every symbol, macro and file name.
    - `syntax`: ``"nasm"``, ``"gas"`` (GNU as and Clang, Intel operand order),
      ``"gas-att"`` or ``"bytes"``.
    - `backend`: ``"own"``, or ``"peachpy"`` for kernels of isa avx.
    - `force` overwrites files that were edited by hand.
    - `threads` adds the thread pool (docs/threads.md); some kernel must have segments.

    Raises:
        GhashgenError: the folder cannot be written, or holds a file that was edited by hand or
            kernels with another prefix; the syntax's assembler is missing; a name is unknown;
            `threads` is set and no kernel has segments; the back end is missing or cannot make a
            kernel. Nothing is written then.
    """
    out = Path(folder)
    where = target(abi, fmt, prefix, syntax, arch=arch_of(kernels), backend=backend)
    made = generate.generate(kernels, where, out, force=force, threads=threads)
    return tuple(out / name for name in sorted(made.files))


def assembly(
    kernel: Point,
    *,
    abi: str = "",
    fmt: str = "",
    prefix: str = "",
    syntax: str = "",
    backend: str = OWN,
) -> str:
    """Return the text that `emit` writes for a kernel.

    Raises:
        GhashgenError: the syntax's assembler is missing (it is needed to place jumps), a name is
            unknown, or the back end is missing or cannot make the kernel.
    """
    where = target(abi, fmt, prefix, syntax, arch=arch_of((kernel,)), backend=backend)
    return make(kernel, where, find_assembler(where.syntax.assembler)).text


class Proof(Verdict):
    """What `prove` returns."""

    def report(self) -> str:
        """Return the result in words, one line for each function and theorem."""
        return report(self)


def prove(obj: bytes | str | Path, kernel: Point, *, abi: str = "sysv", prefix: str = "") -> Proof:
    """Prove from its bytes that an ELF object (bytes or path) is this kernel, for every input.

    ``proved`` of the result says whether all theorems hold (SOUNDNESS.md, section 4). ``report()``
    says it in words, with the first theorem that fails. `abi` and `prefix` must be those that the
    kernel was emitted with. A proof takes seconds for GHASH, and 10 seconds to some minutes for
    AES-GCM.

    Raises:
        GhashgenError: the object cannot be read, is not ELF for x86-64, or lacks a symbol, or the
            prover does not know the kernel's family.
    """
    source = obj if isinstance(obj, bytes) else Path(obj)
    if isinstance(source, Path):
        require_file(source, "assemble it: nasm -f elf64")
    spec = proofs.statement(kernel, target(abi, "elf64", prefix).symbol(kernel.name), abi)
    try:
        proof = prove_object(source, spec)
    except GhashgenError as refusal:
        raise advised(refusal) from None
    explain(proof.refutation)
    return Proof(**vars(proof))
