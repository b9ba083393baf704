"""Generates, proves, validates and audits GHASH and AES-GCM kernels."""

__version__ = "0.1.0"
