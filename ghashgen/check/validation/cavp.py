"""NIST CAVP's GCM vectors, from the package cryptography-vectors.

Only GHASH is the kernel's: H and E_K(J0) are part of each case. Records with 96-bit IVs are used,
whose J0 needs no GHASH. A truncated tag leaves as many bytes of the state to compare. The largest
text there has 51 bytes: no CAVP vector enters a wide loop, see `cases`.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from ghashgen.check.validation.cases import ZERO, Case, length_block, xor
from ghashgen.check.validation.pyca import encrypt_block
from ghashgen.run.harness import Vector
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command, require

FILES = tuple(f"gcmEncryptExtIV{bits}.rsp" for bits in (128, 192, 256))
_FIELD = re.compile(r"^(Key|IV|PT|AAD|CT|Tag) =\s*([0-9a-f]*)\s*$", re.MULTILINE)
_USUAL_IV = 12


def _read(name: str) -> str:
    require("validate")
    try:
        package = resources.files("cryptography_vectors")
        return (package / "ciphers" / "AES" / "GCM" / name).read_text(encoding="ascii")
    except FileNotFoundError:
        raise GhashgenError(
            f"cryptography-vectors here has no {name} of NIST CAVP", f"run: {command('validate')}"
        ) from None


def _records(text: str) -> Iterator[dict[str, bytes]]:
    for part in text.split("Count = ")[1:]:
        yield {name: bytes.fromhex(value) for name, value in _FIELD.findall(part)}


@cache
def cases() -> tuple[Case, ...]:
    """Return every encryption record with a 96-bit IV; answers are as long as its tag."""
    out = []
    for name in FILES:
        for index, record in enumerate(_records(_read(name))):
            if len(record["IV"]) != _USUAL_IV:
                continue
            key, aad, text = record["Key"], record["AAD"], record["CT"]
            mask = encrypt_block(key, record["IV"] + b"\x00\x00\x00\x01")
            chunks = (*(part for part in (aad, text) if part), length_block(aad, text))
            vector = Vector(encrypt_block(key, ZERO), ZERO, chunks)
            expected = xor(record["Tag"], mask[: len(record["Tag"])])
            out.append(Case(vector, f"{name} record {index}", expected=expected))
    return tuple(out)
