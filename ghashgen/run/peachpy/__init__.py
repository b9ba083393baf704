"""Kernels as PeachPy encodes them (`output.peachpy`), without an assembler.

`backend` lets its worker call them; `beside_nasm` compares their bytes with nasm's.
"""

from ghashgen.run.peachpy.backend import Session, compile_function, run
from ghashgen.run.peachpy.beside_nasm import assembled, differences, multiset

__all__ = ["Session", "assembled", "compile_function", "differences", "multiset", "run"]
