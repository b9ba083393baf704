"""Chooses a kernel by CPU, use and message length, for every page, command and dispatcher.

- `rule` has the one rule, `classes` the classes of lengths, `questions` the uses.
- `candidate` has the kernels to choose from, `figures` their measurements.
- `cores` has the CPUs that are told apart.
- `choice` is the query: the picks of a CPU. `recommend` adds speed and reason to them.
"""
