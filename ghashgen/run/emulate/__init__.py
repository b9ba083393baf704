"""Runs functions of an object file in an emulated CPU that has every wide instruction.

Few machines have VPCLMULQDQ, VAES and GFNI on 512-bit registers. Bochs emulates them, and the
package bochscpu-python 0.3.1 contains it as a library. `Emulator` runs it in a separate worker
process, because the library crashes when its interpreter shuts down.

    with Emulator() as emulator:
        image = emulator.load(Path("kernel.o"))
        result = emulator.call(image, "ghash_update", ["table", "x", "in", 33],
                               buffers=[Buffer("table", table), Buffer("x", x, writable=True),
                                        Buffer("in", data)])
        assert result.outcome.ok, result.outcome.text

The emulated CPU. The build's default model is Bochs' `tigerlake` (CPUID 0x806c1, "11th Gen
Intel(R) Core(TM) i5-1135G7"): SSE…SSE4.2, AES, PCLMULQDQ, MOVBE, AVX, AVX2, BMI, AVX-512 F, DQ, BW,
VL, IFMA, VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ (`Emulator.features` asks it). It runs in long mode at
privilege level 3 with XCR0 = 0xE7. There is no operating system; system calls end the run. The
tests compare it with models in Python: carry-less multiplication in all widths and encodings,
GF2P8AFFINEQB, VPTERNLOGQ, VPSHUFB, AES rounds, masked loads with fault suppression, VZEROUPPER.
They
also compare it with the host, for instructions that the host has.

Known defect. PSRLQ and PSLLQ by a register whose count is 64 leave the operand unchanged; the
manual says 0, and so do CPUs. No emitted kernel relies on it.

Limits. Emulation says nothing about time. A buffer has at most 510 pages. The unused rest of a
buffer's pages is checked for writes after the call, not for reads (use `trace`). A masked access is
traced element by element, an access across pages in two parts. The budget is checked at taken
branches. `stack` is a lower bound if a call wrote back the garbage that it had found.
"""

from ghashgen.run.emulate.calls import Buffer, Call
from ghashgen.run.emulate.client import FEATURES, Emulator
from ghashgen.run.emulate.convention import EMULATED
from ghashgen.run.emulate.image import Image, load_object, raw_image
from ghashgen.run.emulate.outcome import Outcome
from ghashgen.run.emulate.registers import Registers
from ghashgen.run.emulate.results import Access, CallResult
from ghashgen.run.emulate.series import Series, Turn, TurnResult

__all__ = [
    "EMULATED", "FEATURES", "Access", "Buffer", "Call", "CallResult", "Emulator", "Image",
    "Outcome", "Registers", "Series", "Turn", "TurnResult", "load_object", "raw_image",
]  # fmt: skip
