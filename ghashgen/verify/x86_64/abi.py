"""Calling conventions: where arguments arrive, and what must survive.

System V: "System V ABI, AMD64 Architecture Processor Supplement", 3.2.1, 3.2.2, 3.2.3.
Windows: "x64 calling convention", Microsoft, register volatility and home space.
The direction flag stays clear because no row writes it; x87 and MMX state stay untouched for the
same reason.
"""

from iced_x86 import Code

from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.target import Abi
from ghashgen.verify.x86_64.decoding import decode
from ghashgen.verify.x86_64.machine import RAX

SYSV = Abi("sysv", (7, 6, 2, 1, 8, 9), (3, 5, 12, 13, 14, 15), (), 0, 128, 0)
WIN64 = Abi("win64", (1, 2, 8, 9), (3, 5, 6, 7, 12, 13, 14, 15), tuple(range(6, 16)), 32, 0, 4096)

RESULT = RAX
"""The register of a returned number, in both. Bits above its type mean nothing (System V 3.2.3,
"Returning of Values"; Windows, "Return values").
"""

ABIS = {abi.name: abi for abi in (SYSV, WIN64)}


def check_entry(image: Image, symbol: str) -> None:
    """Check that a function begins with ENDBR64 if the object's notes say so (SDM vol. 1, 17.3).

    Raises:
        Refutation: it does not.
    """
    at = image.symbol(symbol)
    if "IBT" in image.features and decode(image, at).code != Code.ENDBR64:
        raise Refutation(
            Category.ABI, "the object's note says IBT, and the function does not begin with "
            "ENDBR64", at=at,
        )  # fmt: skip
