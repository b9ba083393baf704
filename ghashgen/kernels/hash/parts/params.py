"""Parameters that several functions share, with the names used in statements."""

from dataclasses import replace

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.kernels.core import LENGTH, Counted, Direction, Fixed, Param, Table
from ghashgen.kernels.memory import IN_TABLE

ONE_BLOCK = Fixed(BLOCK_BYTES)

TABLE = Param(IN_TABLE, "table", Table())
"""The table, read."""

NEW_TABLE = replace(TABLE, direction=Direction.OUT)
"""The table, filled."""

STATE = Param("x", "state", ONE_BLOCK, Direction.INOUT)
"""The state."""

INPUT = Param("in", "input", Counted("len"))
"""The message, `len` bytes."""

INPUT_LENGTH = Param("len", "length", LENGTH, secret=False)
"""Bytes of the message."""
