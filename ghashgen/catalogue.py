"""The shipped variants, and the choice of variants by axis."""

from dataclasses import dataclass, replace
from itertools import product

from ghashgen.errors import GhashgenError
from ghashgen.field.bitorder import Order
from ghashgen.isa.registry import isas
from ghashgen.kernel import Kernel, check
from ghashgen.schemes.registry import multiplies, reduces

PAPER = (
    Kernel("avx", "schoolbook", "clmul3", 1, alias="paper_baseline"),
    Kernel("avx", "k", "clmul1", 1, alias="paper_optimized"),
)
"""The two columns of papers/intel-2023, Table 11."""


@dataclass(frozen=True)
class Choice:
    """Values allowed for each axis; an empty tuple allows all that the catalogue has."""

    isa: tuple[str, ...] = ()
    multiply: tuple[str, ...] = ()
    reduce: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    blocks: tuple[int, ...] = ()
    wipe: bool | None = None
    name: tuple[str, ...] = ()
    """Kernel names, instead of axes."""

    @property
    def by_axis(self) -> bool:
        """Whether any axis is restricted."""
        return any((self.isa, self.multiply, self.reduce, self.order, self.blocks)) or (
            self.wipe is not None
        )


def catalogue() -> tuple[Kernel, ...]:
    """Return every checked-in kernel, sorted by ISA, then scheme, then blocks; papers' last."""
    return (*_variants(Choice()), *PAPER)


def choose(choice: Choice) -> tuple[Kernel, ...]:
    """Return the kernels that a choice allows; blocks and wipe may leave the catalogue.

    Raises:
        GhashgenError: a value is unknown, or no combination makes sense (says why).
    """
    if choice.name:
        known = {kernel.name: kernel for kernel in catalogue()}
        unknown = sorted(set(choice.name) - known.keys())
        if unknown:
            raise GhashgenError(
                f"no kernel of the catalogue is called {unknown[0]!r}",
                "see ghashgen list, or choose by axes",
            )
        return tuple(known[name] for name in choice.name)
    if not choice.by_axis:
        return catalogue()
    return _variants(choice)


def _variants(choice: Choice) -> tuple[Kernel, ...]:
    found: list[Kernel] = []
    refusals: list[GhashgenError] = []
    for isa in choice.isa or tuple(isas()):
        blocks = choice.blocks or (isas()[isa].catalogue_blocks if isa in isas() else (1,))
        for multiply, reduce, order, count in product(
            choice.multiply or tuple(multiplies()),
            choice.reduce or tuple(reduces()),
            choice.order or tuple(order.value for order in Order),
            blocks,
        ):
            kernel = Kernel(isa, multiply, reduce, count, order, bool(choice.wipe))
            _known_values(kernel)
            try:
                found.append(check(kernel))
            except GhashgenError as refusal:
                refusals.append(refusal)
    if not found:
        raise refusals[0]
    return tuple(found)


def _known_values(kernel: Kernel) -> None:
    """Refuse a value that no kernel can have, whatever the other axes say."""
    shapes = {scheme.name: scheme.shape for scheme in multiplies().values()}
    fitting = next(
        (r.name for r in reduces().values() if r.shape is shapes.get(kernel.multiply)), "clmul1"
    )
    reduce = fitting if kernel.reduce in reduces() else kernel.reduce
    check(replace(kernel, reduce=reduce, order=_plain(kernel.order)))


def _plain(order: str) -> str:
    return Order.REFLECTED.value if order in list(Order) else order
