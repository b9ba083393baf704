"""What AES-CTR kernels claim (`ghashgen.verify.statements.ctr`)."""

from ghashgen.check.claims.core import Claims, Emitted, StatedFile, of_file, of_kernel
from ghashgen.verify.statements.ctr import CtrFunction, CtrSpec, parse_cell


class CtrFile(StatedFile, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a file; see `ghashgen.check.statements`."""

    family: str
    key_bits: int
    cells: tuple[str, ...]


def stated(file: CtrFile) -> CtrSpec:
    """Return the statement of a file.

    Raises:
        GhashgenError: it is invalid.
    """
    cells = tuple(map(parse_cell, file.cells))
    return CtrSpec(key_bits=file.key_bits, **of_file(CtrFunction, file, cells))


def emitted(built: Emitted) -> CtrSpec:
    """Return the statement of a kernel.

    Raises:
        GhashgenError: the prover has no statement for a function that it exports.
    """
    return CtrSpec(key_bits=built.kernel.key, **of_kernel(CtrFunction, built, parse_cell))


CLAIMS = Claims("ctr", CtrSpec, CtrFile, stated, emitted)
"""What kernels of this family claim."""
