"""What kernels of each family claim, one module for each: from a file, or for an emitted kernel.

`ghashgen.check.claims.registry` finds every module here whose CLAIMS is of the type
`ghashgen.check.claims.core.Claims`.
"""
