"""Makes exported functions of a host's interface: its symbol and its parameters, by role."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Mem, VReg
from ghashgen.kernels.core import Function
from ghashgen.kernels.given.kernel import GivenKernel


def given(b: Builder, kernel: GivenKernel, name: str) -> dict[str, VReg]:
    """Return a function's parameters by their roles; also the table, where a key has it."""
    roles = (param.role for param in kernel.host.functions[name].params)
    at, host = dict(zip(roles, b.params, strict=True)), kernel.host
    if host.table_at:
        place = Mem(base=at["table"], disp=host.table_at)
        at |= {"schedule": at["table"], "table": b.gpr("gpr_address", place, note="the table")}
    return at


@contextmanager
def in_order(b: Builder, kernel: GivenKernel, name: str, roles: Sequence[str]) -> Iterator[None]:
    """Let the parameters have another order while code of another family is recorded."""
    before, by_role = b.params, given(b, kernel, name)
    b.params = tuple(by_role[role] for role in roles)
    yield
    b.params = before


def function(
    name: str, order: int, purpose: str, build: Callable[[Builder, GivenKernel], None]
) -> Function[GivenKernel]:
    """Return an exported function; the interface of a kernel says its symbol and parameters."""

    def variant(kernel: GivenKernel) -> Mapping[str, Any]:
        taken = kernel.host.functions[name]
        return {"params": taken.params, "symbol": taken.symbols[kernel.isa]}

    return Function(
        name=name,
        order=order,
        params=(),
        purpose=lambda kernel: purpose,
        build=build,
        statement=name,
        exported=lambda kernel: name in kernel.host.functions,
        variant=variant,
    )
