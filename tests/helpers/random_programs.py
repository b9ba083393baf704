"""Random straight-line programs over the abstract vector operations, for the compiler's passes."""

from hypothesis import strategies as st

from ghashgen.ir.builder import Builder, Value
from ghashgen.ir.program import CODES, Mem, Program, RegClass, VReg
from helpers.row_machine import ABSTRACT

OUTPUTS = 3
CONSTANTS = {
    ("c0", 0): 0x0F0E0D0C0B0A09080706050403020100,
    ("c1", 0): 0xC2000000000000010000000000000087,
    ("input", 0): 0x9E3779B97F4A7C15F39CC0605CEDC834,
    ("input", 16): (1 << 127) | 0x1234567,
}
"""Memory at the start; the symbols are aligned, the input is not."""

MEMORY = (
    Mem(symbol="c0", align=16),
    Mem(symbol="c1", align=16),
    Mem(base=VReg(RegClass.GPR, 1), disp=0),
    Mem(base=VReg(RegClass.GPR, 1), disp=16),
)

_CODES = tuple(
    code
    for code in ABSTRACT
    if not code.startswith("gpr_") and code not in ("from_gpr", "load", "load_aligned", "store")
)
_IMMEDIATES = {"clmul": (0x00, 0x01, 0x10, 0x11), "bytes": (0, 1, 8, 15), "bits": (1, 7, 63)}


def _immediate(code: str) -> tuple[int, ...]:
    return _IMMEDIATES.get(code) or _IMMEDIATES["bytes" if code.endswith("bytes") else "bits"]


@st.composite
def programs(draw: st.DrawFn, length: int = 14) -> Program:
    """A program that ends by storing its last values; registers may be written again."""
    b = Builder("random", ("input", "output"))
    values: list[VReg] = [b.zero()]
    memory = st.sampled_from(MEMORY)
    for _ in range(draw(st.integers(1, length))):
        code = draw(st.sampled_from(_CODES))

        def source() -> Value:
            return draw(st.one_of(st.sampled_from(values), memory))

        operands: list[Value | int] = []
        for role in CODES[code].roles[1:]:
            operands.append(source() if role == "r" else draw(st.sampled_from(_immediate(code))))
        again = draw(st.integers(0, 3)) == 0
        out = draw(st.sampled_from(values)) if again else VReg(RegClass.VEC, 100 + len(values))
        b.emit(code, out, *operands)
        if not again:
            values.append(out)
    for i, value in enumerate(values[-OUTPUTS:]):
        b.store(Mem(base=b.params[1], disp=16 * i, symbol=f"out{i}"), value)
    return b.program()
