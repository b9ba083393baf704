"""What all families say of memory."""

IN_TABLE = "table"
"""The region of a table's or a context's cells (`ir.program.Mem`). Nothing else overlaps it."""

BYTE_SWAP = int.from_bytes(bytes(range(15, -1, -1)), "little")
"""The order of a byte shuffle: byte j of the result is byte 15 - j."""
