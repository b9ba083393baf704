"""Checks of kernels: test vectors, proofs, random points, attacks."""
