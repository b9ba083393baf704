"""Multiply schemes, one a file: each exports SCHEME, a `schemes.core.Multiply`."""
