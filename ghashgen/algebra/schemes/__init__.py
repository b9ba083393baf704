"""Multiply and reduction schemes, one a file, and what combines them.

`multiply/` and `reduce/` hold one scheme a file, each exporting `SCHEME`; a new file there is a new
scheme, found by `registry`. `core` has their types, `fold` and `twist` the two linear maps that
they share, `aggregate` the n-way Horner group, `segments` the contiguous split for threads.
Everything here is a function over the `Ops` protocol.
"""
