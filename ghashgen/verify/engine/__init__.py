"""Drives a proof for any family of kernels: runs, cuts, inductions, the second line."""
