"""Multiply and reduction schemes, one in each file, and what combines them.

`multiply/` and `reduce/` hold one scheme in each file, which exports `SCHEME`; `registry` finds new
files by itself. `core` has the types, `fold` and `twist` the two linear maps that schemes share,
`aggregate` the n-way Horner group, `segments` the split among threads. Everything here is a
function over the `Ops` protocol.
"""
