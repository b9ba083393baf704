"""PeachPy as a second backend: its register allocator, its encoder, no assembler.

The selected program (`compiler.pipeline.Compiled.selected`, avx rows on virtual registers) is
handed over before this tool's own allocation. `tool` finds PeachPy, `program` writes a function as
JSON, `worker` builds and runs it under the Python that has PeachPy, `backend` is the client,
`compare` sets PeachPy's bytes beside nasm's.
"""

from ghashgen.run.peachpy.backend import PeachFunction, Session, compile_function, run
from ghashgen.run.peachpy.beside_nasm import Encoded, assembled, differences, multiset
from ghashgen.run.peachpy.tool import REMEDY, PeachPyTool, find, require

__all__ = [
    "REMEDY",
    "Encoded",
    "PeachFunction",
    "PeachPyTool",
    "Session",
    "assembled",
    "compile_function",
    "differences",
    "find",
    "multiset",
    "require",
    "run",
]
