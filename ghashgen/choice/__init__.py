"""Which kernel to take: by CPU, by message length, by how long a key lives; and the C that does it.

`rule` says what a difference is, `candidate` what is chosen from, `figures` what was measured,
`cores` which CPUs are told apart, `choice` makes the choices, `render` writes them as C.
"""
