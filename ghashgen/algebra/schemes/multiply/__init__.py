"""Multiply schemes, one a file: each exports SCHEME, a `algebra.schemes.core.Multiply`."""
