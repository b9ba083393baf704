"""The back ends by name; see `kernels.target.BACKENDS`."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import OWN, PEACHPY, Target
from ghashgen.output.backend import Prepared


def _own(kernel: Point, target: Target) -> Prepared:
    return Prepared(partial(compile_kernel, kernel, target.abi, target.table_align_of(kernel)))


def _peachpy(kernel: Point, target: Target) -> Prepared:
    from ghashgen.output.peachpy import emit  # mostly not needed

    return emit.prepare(kernel, target)


PREPARE: Mapping[str, Callable[[Point, Target], Prepared]] = MappingProxyType(
    {OWN: _own, PEACHPY: _peachpy}
)
"""By back end name: the function that prepares a kernel for `output.artefact.finish`."""
