"""Parameters that several functions have, by the names that statements give them."""

from dataclasses import replace

from ghashgen.kernels.core import Counted, Direction, Param
from ghashgen.kernels.hash.parts.params import INPUT, INPUT_LENGTH, ONE_BLOCK, STATE, TABLE

CONTEXT = replace(TABLE, name="ctx")
"""The context, read."""

NEW_CONTEXT = replace(CONTEXT, direction=Direction.OUT)
"""The context, filled."""

COUNTER = Param("counter", "counter", ONE_BLOCK, Direction.INOUT)
"""The counter block of the next block of text."""

OUTPUT = Param("out", "output", Counted("len"), Direction.OUT, may_be="in")
"""The other text, `len` bytes."""

TEXT = (CONTEXT, COUNTER, STATE, INPUT, OUTPUT, INPUT_LENGTH)
"""Of a function that encrypts or decrypts."""
