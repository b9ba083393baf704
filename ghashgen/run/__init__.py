"""Runs objects: natively in the C harness, in an emulated CPU, or by PeachPy."""
