"""A second proof of `update`, `mul` and `combine`, by running them at random points.

Two different polynomials over GF(2) of degree d at most differ at a random point with probability
2^-d at least (the minimum distance of Reed and Muller's code; Schwartz and Zippel's lemma over
GF(2)). So N points leave a wrong function unseen with probability (1 - 2^-d)^N at most. `degrees`
bounds d of the code from its bytes, `points` draws independent powers of H and says what the right
result is, and N is chosen for each length by d, so that 2^-128 is reached where kernels run
natively. Nothing of `ghashgen.verify` is in it.
"""
