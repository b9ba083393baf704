"""What a kernel that this package did not emit claims to be, from a TOML file:

    name = "example"
    family = "hash"              # the default; or "gcm"
    abi = "sysv"                 # or "win64"
    order = "reflected"          # or "natural"
    blocks = 4                   # blocks absorbed by one turn of the main loop
    table_bytes = 64
    table_align = 16
    cells = ["B1", "B2", "B3", "B4"]   # or: entries = ["B"], B1 to B`blocks`
    wipe = false
    op = "ghash"                 # or "polyval"
    [functions.update]
    symbol = "example_update"
    parameters = ["table", "state", "input", "length"]
    length_multiple = 1          # 16: whole blocks only
    length_unit = 1              # 16: the length counts blocks

The keys of a family are those of its claims (`ghashgen.check.claims`): "gcm" wants key_bits and
cells, "key0" … among them, and has neither op nor entries. The statement itself checks what it
means; here only its form. The prover does not read files.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from ghashgen.check.claims.registry import claims_of
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError

_UNLIKE, _REMEDY = "is no statement", "see docs/proof.md for an example"


class _Family(Struct, frozen=True):
    """What of a file says which keys it has."""

    family: str = "hash"


_FAMILY = Document(_Family, _UNLIKE, _REMEDY)


def load_spec(path: Path) -> Any:
    """Read a statement from a TOML file, of the type that its family has for it.

    Raises:
        GhashgenError: the file is not TOML, a key is missing, unknown, or has no meaning.
    """
    content = _FAMILY.content_of(path)
    try:
        claims = claims_of(_FAMILY.parse(content, str(path), toml=True).family)
        file = Document(claims.file, _UNLIKE, _REMEDY)
        return claims.stated(file.parse(content, str(path), toml=True))
    except GhashgenError as refusal:
        if refusal.cause.startswith(str(path)):
            raise
        raise GhashgenError(f"{path}: {refusal.cause}", refusal.remedy) from None
