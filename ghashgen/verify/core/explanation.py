"""Where a result differs from its definition, for reports.

The prover does not use this: it has already refused.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """The first place where a result differs from the specification.

    `bit` is the bit of the result's register (bit order of the kernel). `extra` and `missing` are
    monomials such as ("B3.17", "C2.5"): bit 17 of B_3 times bit 5 of the register of block 2.
    `product` says in words which block meets a wrong power of H. `at` is the address of the first
    instruction after which the value is wrong, if known.
    """

    bit: int
    extra: tuple[str, ...] | None
    missing: tuple[str, ...] | None
    product: str
    at: int | None

    def lines(self) -> list[str]:
        """Return the explanation in words."""

        def said(monomial: tuple[str, ...] | None) -> str:
            return "none" if monomial is None else " · ".join(monomial) or "1"

        where = "not known" if self.at is None else f"{self.at:#x}"
        return [
            f"first wrong bit: {self.bit}",
            f"monomial that should not be there: {said(self.extra)}",
            f"monomial that is missing: {said(self.missing)}",
            f"products: {self.product or 'as they should be'}",
            f"first instruction that goes wrong: {where}",
        ]
