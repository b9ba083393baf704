"""Attacks the prover: makes objects that may fool it, and runs every one that it accepts.

This is a maintainers' tool (`ghashgen attack`), not part of a proof. Each file of `parts/` is one
kind of attack, a value of `ghashgen.check.attack.core.Part`; docs/attack.md describes them.
"""
