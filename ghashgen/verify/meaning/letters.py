"""The letters of the variables of polynomials; a number or a place may follow.

The names of key operands, B1, B2, …, come first in the order of the alphabet, as forms need them.
"""

STATE, ADDEND = "X", "Y"
"""The state on entry; what combine adds to it."""

NONCE, AAD, TEXT, CIPHERTEXT = "V", "D", "T", "C"
"""Blocks of an IV, of AAD, of what is encrypted, and of what is hashed."""

IV, COUNTER, KEPT = "I", "N", "Q"
"""The first 96 bits of the counter block; its last 32 as a number; the keystream of a block that
has begun in an earlier call."""

BESIDE = "J"
"""What stands behind a number in its cell of a table."""

MASK, LENGTHS, RIGHT, GIVEN = "M", "L", "O", "G"
"""E_K(J_0); the block of lengths; a message's tag; the received one."""

ROUND_KEY_LETTER, KEY_LETTER, BOX_LETTER = "K", "U", "S"
"""Round keys K0, K1, …; 16 bytes of a key: U1, U2; values of the S-box."""
