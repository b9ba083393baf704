"""The axes of AES-CTR kernels: those of every AES mode, and no more."""

from ghashgen.kernels.aes.axes import BLOCKS, ISA, KEY, ROUND_KEYS, WIPE

AXES = (KEY, ISA, BLOCKS, ROUND_KEYS, WIPE)
"""All axes, in the order in which they are named, asked for and refused."""
