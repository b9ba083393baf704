"""What kernels of each family claim, one module for each: from a file, or for an emitted kernel.

A family names its module as its facet `claims`, and this exports CLAIMS of the type
`ghashgen.check.claims.core.Claims`.
"""
