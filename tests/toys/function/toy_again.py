"""A toy function with a statement that the prover knows: mul under another name."""

from dataclasses import replace

from ghashgen.kernels.hash.functions.mul import FUNCTION as MUL

FUNCTION = replace(MUL, name="toyagain", order=25)
"""The function."""
