"""GHASH and POLYVAL: the axes of a kernel, the catalogue, and what the functions do."""
