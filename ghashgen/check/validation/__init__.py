"""Runs kernels on real input and compares with pyca/cryptography and NIST CAVP.

`cases` and `cavp` make the vectors, `runners` run them (natively, emulated, or through PeachPy),
and `validate` combines both.
"""
