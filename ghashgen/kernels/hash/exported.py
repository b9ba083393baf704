"""The exported functions: what builds them, their prototypes in C, what they compute in words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ghashgen.ir.program import Program
from ghashgen.kernels.hash.functions import init, mul, segments, update
from ghashgen.kernels.hash.kernel import Kernel

FUNCTIONS: Mapping[str, Callable[[Kernel], Program]] = MappingProxyType(
    {"init": init.build, "mul": mul.build, "update": update.build}
)
"""The functions that every kernel exports, in the order they are emitted."""

SEGMENT_FUNCTIONS: Mapping[str, Callable[[Kernel], Program]] = MappingProxyType(
    {"power": segments.build_power, "combine": segments.build_combine}
)
"""What a kernel with `segments` exports after them."""


def functions_of(kernel: Kernel) -> Mapping[str, Callable[[Kernel], Program]]:
    """Return the functions that a kernel exports, in the order they are emitted."""
    return {**FUNCTIONS, **SEGMENT_FUNCTIONS} if kernel.segments else FUNCTIONS


PROTOTYPES: Mapping[str, str] = {
    "init": "void {symbol}(void *table, const uint8_t h[16])",
    "mul": "void {symbol}(const void *table, uint8_t x[16])",
    "update": "void {symbol}(const void *table, uint8_t x[16], const uint8_t *in, size_t len)",
    "power": "void {symbol}(const void *table, uint8_t y[16], uint64_t m)",
    "combine": "void {symbol}(uint8_t x[16], const uint8_t y[16], const uint8_t p[16])",
}
"""C prototypes of the emitted functions; the last two are those of kernels with segments."""


@dataclass(frozen=True)
class Definition:
    """How a file names what its kernel computes."""

    name: str
    source: str
    """The document that defines it, and with it the byte order of every 16-byte argument."""
    section: str
    subkey: str
    product: str
    """What x becomes by one multiplication."""

    @property
    def purposes(self) -> Mapping[str, str]:
        """What each function does, in one line."""
        return {
            "init": f"fill the table from {self.subkey} h",
            "mul": f"x = {self.product.format('x', 'H')}",
            "update": f"x = {self.name} continued over len bytes, the last block zero-padded",
            "power": "y = H^m, for every m from 0",
            "combine": f"x = {self.product.format('x', 'p')} + y: p = H^m of power, "
            f"y the {self.name} of a segment of m blocks from state 0",
        }


DEFINITIONS: Mapping[str, Definition] = {
    "ghash": Definition("GHASH", "SP 800-38D", "section 6.4", "the hash subkey", "{}·{}"),
    "polyval": Definition("POLYVAL", "RFC 8452", "section 3", "the key", "dot({}, {})"),
}
"""By the value of the axis `op`."""
