"""What each operation of AES-GCM means."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.meaning import gcm
from ghashgen.verify.meaning.ending import ending_of
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.keys import init_of
from ghashgen.verify.meaning.message import message_of
from ghashgen.verify.meaning.pieces import aad_of, more_of
from ghashgen.verify.meaning.start import start_of

if TYPE_CHECKING:
    from ghashgen.verify.statements.gcm import GcmFunction, GcmSpec

TEXTS: Mapping[str, Callable[..., Function]] = {
    "encrypt": gcm.meaning_of,
    "decrypt": gcm.meaning_of,
    "seal": message_of,
    "open": message_of,
    "encrypt_more": more_of,
    "decrypt_more": more_of,
}
"""The operations that read and write a text: what makes their meaning from statement and function.
"""

OTHERS: Mapping[str, Callable[..., Function]] = {
    "init": init_of,
    "init_any": init_of,
    "update": gcm.hash_of,
    "power": gcm.hash_of,
    "combine": gcm.hash_of,
    "start": start_of,
    "aad": aad_of,
    "finish": ending_of,
    "verify": ending_of,
}
"""Its other operations: what makes their meaning from statement and function."""


def meaning_of(spec: "GcmSpec", function: "GcmFunction") -> Function:
    """Return what a function means, whether its input and output are two buffers or one.

    Raises:
        Refutation: the rules do not cover the function.
    """
    operation = function.operation
    if operation in OTHERS:
        return OTHERS[operation](spec, function)
    if operation not in TEXTS:
        raise unsupported(f"no rules of the checker cover {operation}")
    if (function.length_multiple, function.length_unit) != (1, 1):
        raise unsupported(f"the checker knows {operation} of any number of bytes only")
    return TEXTS[operation](spec, function)
