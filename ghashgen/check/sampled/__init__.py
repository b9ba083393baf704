"""A second proof of `update`, `mul` and `combine`: running them at random points.

Two different polynomials over GF(2) of degree at most d differ at a random point with probability
at least 2^-d (the minimum distance of the Reed-Muller code; the Schwartz-Zippel lemma over GF(2)).
So N points miss a wrong function with probability at most (1 - 2^-d)^N.

`degrees` bounds d from the code's bytes. `points` draws independent powers of H and computes the
right result. N is chosen for each length by d, so that kernels that run natively reach 2^-128.
Nothing here uses `ghashgen.verify`.
"""
