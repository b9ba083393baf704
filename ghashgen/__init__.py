"""Generates, proves, validates and audits GHASH and AES-GCM kernels."""

