"""The cipher over a whole text: a loop over groups, then the rest."""

from typing import Any

from ghashgen.kernels.aes.rest import cipher_rest
from ghashgen.kernels.aes.text import Text

GROUP = "group"
"""The label of the loop over whole groups."""


def crypt(text: Text[Any]) -> None:
    """Record out = in + keystream. Advances the text."""
    b = text.b
    b.branch("below", text.length, text.group_bytes, "rest")
    with b.loop(GROUP):
        text.add_keystream(text.kernel.registers)
        text.advance(text.group_bytes, "next group")
        b.branch("not_below", text.length, text.group_bytes, GROUP)
    b.label("rest")
    cipher_rest(text)
