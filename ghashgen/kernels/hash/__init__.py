"""GHASH and POLYVAL: a kernel's axes, the catalogue, and the functions."""
