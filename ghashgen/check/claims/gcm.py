"""What AES-GCM kernels claim (`ghashgen.verify.statements.gcm`)."""

from ghashgen.algebra.field.bitorder import Order
from ghashgen.check.claims.core import Claims, Emitted, StatedFile, of_file, of_kernel
from ghashgen.check.claims.hash import order_of
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec, parse_cell


class GcmFile(StatedFile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    family: str
    key_bits: int
    order: str
    cells: tuple[str, ...]
    untouched: bool = False
    any_tag: bool = False


def stated(file: GcmFile) -> GcmSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    common = of_file(GcmFunction, file, tuple(map(parse_cell, file.cells)))
    return GcmSpec(
        key_bits=file.key_bits,
        order=order_of(file.order),
        untouched=file.untouched,
        any_tag=file.any_tag,
        **common,
    )


def emitted(built: Emitted) -> GcmSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports, or the functions
            on many messages process some side by side, for which it finds no proof.
    """
    if built.kernel.groups:
        raise GhashgenError(
            f"{built.kernel.name}_seal_many and open_many process messages in all groups, and "
            "these are not proved yet",
            "generate it with --many alike or --many each (docs/gcm-many.md)",
        )
    kernel, common = built.kernel, of_kernel(GcmFunction, built, parse_cell)
    return GcmSpec(
        key_bits=kernel.key,
        order=Order(kernel.order),
        untouched=kernel.keeps_output,
        any_tag=kernel.tags == "any",
        **common,
    )


CLAIMS = Claims("gcm", GcmSpec, GcmFile, stated, emitted)
"""What kernels of this family claim."""
