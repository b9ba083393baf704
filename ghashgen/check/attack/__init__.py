"""Attacks the prover: makes what may fool it, and runs whatever it accepts.

A tool of the maintainers (`ghashgen attack`), no part of a proof. Every file of `parts/` is one way
of attacking, as a value of `ghashgen.check.attack.core.Part`; docs/attack.md says what each tries.
"""
