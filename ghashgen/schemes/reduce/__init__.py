"""Reductions, one a file: each exports SCHEME, a `schemes.core.Reduce`."""
