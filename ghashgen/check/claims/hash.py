"""What GHASH and POLYVAL kernels claim (`ghashgen.verify.statements.hash`)."""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.check.claims.core import Claims, Emitted, StatedFile, of_file, of_kernel
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec, parse_cell


class HashFile(StatedFile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    order: str
    family: str = "hash"
    cells: tuple[str, ...] | None = None
    entries: tuple[str, ...] | None = None
    op: str = "ghash"


def stated(file: HashFile) -> KernelSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    if (file.cells is None) == (file.entries is None):
        raise GhashgenError(
            "the file needs one of cells and entries", "give either cells or entries"
        )
    if file.cells is not None:
        cells = tuple(map(parse_cell, file.cells))
    else:
        cells = power_major(file.entries or (), file.blocks)
    common = of_file(FunctionSpec, file, cells)
    return KernelSpec(order=order_of(file.order), op=file.op, **common)


def power_major(entries: tuple[str, ...], powers: int) -> tuple[tuple[str, int], ...]:
    """Return the cells of a table that holds all entries of H^1, then all of H^2, and so on."""
    return tuple((kind, power) for power in range(1, powers + 1) for kind in entries)


def order_of(text: str) -> Order:
    """Return the bit order of this name.

    Raises:
        GhashgenError: the name is unknown.
    """
    names = [order.value for order in Order]
    if text not in names:
        raise GhashgenError(
            f"order: {text!r} is not one of {', '.join(names)}", "choose one of them"
        )
    return Order(text)


def emitted(built: Emitted) -> KernelSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel, common = built.kernel, of_kernel(FunctionSpec, built, parse_cell)
    return KernelSpec(order=Order(kernel.order), op=kernel.op, **common)


CLAIMS = Claims("hash", KernelSpec, HashFile, stated, emitted)
"""What kernels of this family claim."""
