"""Chooses a kernel by CPU, message length and lifetime of the key, and writes the choice as C.

- `rule` says which differences count.
- `candidate` has the kernels to choose from, `figures` their measurements.
- `cores` has the CPUs that are told apart.
- `choice` makes the choices, `render` writes them as C.
"""
