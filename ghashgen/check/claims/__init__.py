"""What kernels of each family claim, one family a module: from a file, and of a kernel as emitted.

Every module here whose CLAIMS is of the type `ghashgen.check.claims.core.Claims` is found by
`ghashgen.check.claims.registry`.
"""
