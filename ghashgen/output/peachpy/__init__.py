"""PeachPy as a back end: its register allocator and encoder replace this tool's.

PeachPy receives the selected program (`compiler.pipeline.Compiled.selected`: avx rows on virtual
registers) before this tool's allocation.

- `tool` finds PeachPy.
- `program` writes a function as JSON.
- `worker` builds it, under the Python that has PeachPy; `encode` starts that.
- `instructions` reads the resulting bytes, and `homes` finds each virtual register in them.
- `emit` makes the file that ships and compares it with PeachPy's instructions.
"""
