"""PeachPy as a back end: its register allocator and its encoder in place of this tool's.

The selected program (`compiler.pipeline.Compiled.selected`, avx rows on virtual registers) is
handed over before this tool's own allocation. `tool` finds PeachPy, `program` writes a function as
JSON, `worker` builds it under the Python that has PeachPy, `process` starts that, `encode` is the
client. `instructions` reads what comes back, `homes` finds in it where each virtual register went,
and `emit` makes the file that ships and holds it to PeachPy's instructions.
"""
