"""Runs AES-GCM kernels and compares with pyca/cryptography, NIST CAVP and the specification.

`oracle` computes right answers; `texts`, `messages` and `cavp` make trials from it; `trials` makes
their calls; `validator` combines them.
"""
