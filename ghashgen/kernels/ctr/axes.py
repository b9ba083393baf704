"""The axes of AES-CTR kernels, all of which AES-GCM kernels have too."""

from ghashgen.kernels.gcm import axes

KEY, ISA, BLOCKS, ROUND_KEYS, WIPE = (
    *(axes.KEY, axes.ISA, axes.BLOCKS),
    *(axes.ROUND_KEYS, axes.WIPE),
)

AXES = (KEY, ISA, BLOCKS, ROUND_KEYS, WIPE)
"""All axes, in the order in which they are named, asked for and refused."""
