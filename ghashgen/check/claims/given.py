"""What kernels in a host's layout claim (`ghashgen.verify.statements.given`)."""

from ghashgen.algebra.field.bitorder import BLOCK_BYTES, Order
from ghashgen.check.claims.core import Claims, Emitted, StatedFile, of_file, of_kernel
from ghashgen.check.claims.hash import order_of
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.verify.meaning.algebra import ROUND_KEY
from ghashgen.verify.statements.aes import round_key
from ghashgen.verify.statements.gcm import parse_cell
from ghashgen.verify.statements.given import GivenFunction, GivenSpec, OfAKey


class GivenFile(StatedFile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    family: str
    key_bits: int
    order: str
    cells: tuple[str, ...]
    rounds_at: int
    rounds_less: int
    rounds_times: int = 1
    reverses: bool = False


def stated(file: GivenFile) -> GivenSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    cells = tuple(map(parse_cell, file.cells))
    kind = OfAKey if any(cell and cell[0] == ROUND_KEY for cell in cells) else GivenFunction
    return GivenSpec(
        key_bits=file.key_bits,
        order=order_of(file.order),
        rounds_at=file.rounds_at,
        rounds_less=file.rounds_less,
        rounds_times=file.rounds_times,
        reverses=file.reverses,
        **of_file(kind, file, cells),
    )


def emitted(built: Emitted) -> GivenSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    kernel, host = built.kernel, built.kernel.host
    own = of_kernel(OfAKey if host.table_at else GivenFunction, built, parse_cell)
    if host.table_at:
        keys = [round_key(f"{ROUND_KEY}{k}") for k in range(max(ROUNDS.values()) + 1)]
        between = [None] * (host.table_at // BLOCK_BYTES - len(keys))
        own["cells"] = (*keys, *between, *own["cells"])
        own["table_bytes"] += host.table_at
    return GivenSpec(
        key_bits=max(ROUNDS),
        order=Order(kernel.hash.order),
        rounds_at=host.rounds_at,
        rounds_less=host.rounds_less,
        rounds_times=host.rounds_times,
        reverses=host.reverses,
        **own,
    )


CLAIMS = Claims("given", GivenSpec, GivenFile, stated, emitted)
"""What kernels of this family claim."""
