"""Proves each claim of the algebra for all inputs: named theorems, not samples.

- bridges: between SP 800-38D, RFC 8452 and GF(2)[x]/P; Winograd's identity.
- constants: Q, Q', x^-1, and the linear maps twist, fold and K.
- tables: the algorithms that papers/intel-2023 prints.
- horner: groups, lanes, segments and powers, over `polynomials`.
- products: every multiply scheme, reduction and group of blocks in the registry, over
  `algebra.ops.forms`.
- prover: lists and proves them.

`spec` turns the definitions of `ghashgen.algebra.field` into exact forms; `core` has the types.
A fault can be planted in every theorem's constant, so that a test sees the theorem fail.
"""

from ghashgen.algebra.identities.core import Evidence, IdentityFailure, Proof, Theorem
from ghashgen.algebra.identities.prover import prove, prove_all, selected, theorems

__all__ = [
    "Evidence", "IdentityFailure", "Proof", "Theorem", "prove", "prove_all", "selected",
    "theorems",
]  # fmt: skip
