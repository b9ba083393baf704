"""Records of NIST CAVP's GCM vectors, from the package cryptography-vectors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command, require

KEY_BITS = (128, 192, 256)

USUAL_IV = 12
"""Length in bytes of an IV that needs no GHASH."""

_FIELD = re.compile(r"^(Key|IV|PT|AAD|CT|Tag) =\s*([0-9a-f]*)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """One record of an encryption or a decryption."""

    what: str
    key: bytes
    iv: bytes
    aad: bytes
    ciphertext: bytes
    tag: bytes
    """As long as in the record: 4, 8, or 12 to 16 bytes."""
    plaintext: bytes | None
    """None if decryption fails because the tag is wrong."""


def encryptions(bits: int) -> str:
    """Return the file name of encryptions with `bits`-bit keys."""
    return f"gcmEncryptExtIV{bits}.rsp"


def decryptions(bits: int) -> str:
    """Return the file name of decryptions with `bits`-bit keys."""
    return f"gcmDecrypt{bits}.rsp"


def records(name: str) -> Iterator[Record]:
    """Yield the records of a file.

    Raises:
        GhashgenError: the package is not installed, or has no such file.
    """
    for index, part in enumerate(_read(name).split("Count = ")[1:]):
        given = {field: bytes.fromhex(value) for field, value in _FIELD.findall(part)}
        yield Record(
            what=f"{name} record {index}",
            key=given["Key"],
            iv=given["IV"],
            aad=given["AAD"],
            ciphertext=given["CT"],
            tag=given["Tag"],
            plaintext=None if "FAIL" in part else given["PT"],
        )


def _read(name: str) -> str:
    require("validate")
    try:
        package = resources.files("cryptography_vectors")
        return (package / "ciphers" / "AES" / "GCM" / name).read_text(encoding="ascii")
    except FileNotFoundError:
        raise GhashgenError(
            f"cryptography-vectors here has no {name} of NIST CAVP", f"run: {command('validate')}"
        ) from None
