"""Runs AES-GCM kernels and compares with pyca/cryptography, NIST CAVP and the specification.

`oracle` says what is right, `texts`, `messages` and `cavp` make trials of it, `trials` makes their
calls, `validator` brings them together.
"""
