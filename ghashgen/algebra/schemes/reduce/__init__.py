"""Reductions, one in each file. Each exports SCHEME, an `algebra.schemes.core.Reduce`."""
