"""Reductions, one a file: each exports SCHEME, a `algebra.schemes.core.Reduce`."""
