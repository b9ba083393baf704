"""What kernels in a host's layout claim (`ghashgen.verify.statements.given`)."""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.check.claims.core import Claims, Emitted, StatedFile, of_file, of_kernel
from ghashgen.check.claims.hash import order_of
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.verify.statements.given import GivenFunction, GivenSpec
from ghashgen.verify.statements.hash import parse_cell


class GivenFile(StatedFile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    family: str
    key_bits: int
    order: str
    cells: tuple[str, ...]
    rounds_at: int
    rounds_less: int


def stated(file: GivenFile) -> GivenSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    return GivenSpec(
        key_bits=file.key_bits,
        order=order_of(file.order),
        rounds_at=file.rounds_at,
        rounds_less=file.rounds_less,
        **of_file(GivenFunction, file, tuple(map(parse_cell, file.cells))),
    )


def emitted(built: Emitted) -> GivenSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel = built.kernel
    return GivenSpec(
        key_bits=max(ROUNDS),
        order=Order(kernel.hash.order),
        rounds_at=kernel.host.rounds_at,
        rounds_less=kernel.host.rounds_less,
        **of_kernel(GivenFunction, built, parse_cell),
    )


CLAIMS = Claims("given", GivenSpec, GivenFile, stated, emitted)
"""What kernels of this family claim."""
