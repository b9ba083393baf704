"""Which lengths in bytes there are, and of which anything is claimed (SP 800-38D, 5.2.1)."""

EVERY = (1 << 64) - 1
"""The greatest number that a caller can pass."""

GREATEST_LENGTH = (1 << 62) - 1
"""The most bytes to hash of which anything is claimed."""

GREATEST_TEXT = (1 << 36) - 32
"""The most bytes of a text: 2^39 - 256 bits."""

GREATEST_OTHER = (1 << 61) - 1
"""The most bytes of AAD and of an IV: 2^64 - 1 bits."""

TAGS = (4, 8, *range(12, 17))
"""Bytes of a tag (5.2.1.2)."""

ANY_TAG = tuple(range(1, 17))
"""Bytes of a tag, where a statement says that any is compared."""

DONE, DIFFERS, REFUSED, MISPLACED = range(4)
"""What a function returns: all is well; the tag differs; a length is none that there is; it is not
the turn of this function."""
