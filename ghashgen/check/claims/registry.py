"""The claims of the families that bring them: values CLAIMS."""

from collections.abc import Mapping
from typing import Any

from ghashgen.check.claims.core import Claims
from ghashgen.kernels.families import brought
from ghashgen.support.errors import GhashgenError


def claims() -> Mapping[str, Claims[Any]]:
    """Return the claims of every family that the prover knows, the default one first."""
    return brought("claims")


def claims_of(family: str) -> Claims[Any]:
    """Return the claims of a family.

    Raises:
        GhashgenError: the prover does not know it.
    """
    if family not in claims():
        raise GhashgenError(
            f"the prover does not know family {family!r}", f"it knows {', '.join(sorted(claims()))}"
        )
    return claims()[family]
