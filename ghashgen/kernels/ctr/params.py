"""Parameters of AES-CTR's functions, with the names used in statements."""

from dataclasses import replace

from ghashgen.kernels.core import CELL_BYTES, LENGTH, Counted, Direction, Fixed, Param, Table

CONTEXT = Param("ctx", "table", Table())
"""The context, read."""

NEW_CONTEXT = replace(CONTEXT, direction=Direction.OUT)
"""The context, filled."""

COUNTER = Param("counter", "counter", Fixed(CELL_BYTES), Direction.INOUT)
"""The counter block of the next block of text."""

INPUT = Param("in", "input", Counted("len"))
"""The text, `len` bytes."""

OUTPUT = Param("out", "output", Counted("len"), Direction.OUT, may_be="in")
"""The other text, `len` bytes."""

INPUT_LENGTH = Param("len", "length", LENGTH, secret=False)
"""Bytes of the text."""
