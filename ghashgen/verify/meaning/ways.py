"""Every way in which a function may be called, and what it means then.

Each way needs a certificate. A function that reads and writes a text is called with two buffers or
with one; every other function is called in one way.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ghashgen.verify.core.refutation import unsupported
from ghashgen.verify.gcm.spec import GcmSpec
from ghashgen.verify.hash.spec import KernelSpec
from ghashgen.verify.meaning import gcm, hash
from ghashgen.verify.meaning.ending import ending_of
from ghashgen.verify.meaning.function import Function
from ghashgen.verify.meaning.keys import init_of
from ghashgen.verify.meaning.message import message_of
from ghashgen.verify.meaning.pieces import aad_of, more_of
from ghashgen.verify.meaning.start import start_of

TEXTS: Mapping[str, Callable[..., Function]] = {
    "encrypt": gcm.meaning_of,
    "decrypt": gcm.meaning_of,
    "seal": message_of,
    "open": message_of,
    "encrypt_more": more_of,
    "decrypt_more": more_of,
}
"""The operations of AES-GCM that read and write a text: what makes their meaning from statement,
function and `in_place`."""

OTHERS: Mapping[str, Callable[..., Function]] = {
    "init": init_of,
    "update": gcm.hash_of,
    "power": gcm.hash_of,
    "combine": gcm.hash_of,
    "start": start_of,
    "aad": aad_of,
    "finish": ending_of,
    "verify": ending_of,
}
"""Its other operations: what makes their meaning from statement and function."""


IN_PLACE = " in place"
"""What ends the name of a certificate where input and output are one buffer."""


def ways_of(spec: Any, function: Any) -> dict[str, Callable[[], Function]]:
    """Return what a function means in each way, by the names of their certificates.

    The name is the function's symbol, and "SYMBOL in place" where input and output are one buffer.
    A statement may be about the second alone.

    Raises:
        Refutation: the rules do not cover the function.
    """
    symbol, operation = function.symbol, function.operation
    if isinstance(spec, KernelSpec):
        return {symbol: lambda: hash.meaning_of(spec, function)}
    if isinstance(spec, GcmSpec) and operation in OTHERS:
        return {symbol: lambda: OTHERS[operation](spec, function)}
    if not isinstance(spec, GcmSpec) or operation not in TEXTS:
        raise unsupported(f"no rules of the checker cover {operation}")
    if (function.length_multiple, function.length_unit) != (1, 1):
        raise unsupported(f"the checker knows {operation} of any number of bytes only")
    make = TEXTS[operation]
    in_place = {f"{symbol}{IN_PLACE}": lambda: make(spec, function, True)}
    return in_place if function.in_place else {symbol: lambda: make(spec, function), **in_place}
