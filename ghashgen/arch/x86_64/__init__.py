"""x86-64 as one value, `ARCH`: registers, conventions, formats, features, frame and decoder.

Instruction sets are in `sets/`, syntaxes in `syntax/`, cores and their ports in `uarch/`.
"""

from ghashgen.arch.core import Arch
from ghashgen.arch.x86_64.abi import ABIS
from ghashgen.arch.x86_64.features import CPUID, DETECTED, DETECTION
from ghashgen.arch.x86_64.formats import FORMATS
from ghashgen.arch.x86_64.frame import FRAME
from ghashgen.arch.x86_64.jumps import JUMPS
from ghashgen.arch.x86_64.registers import RAX, REGISTERS, RSP
from ghashgen.arch.x86_64.uarch import labels, uarches
from ghashgen.support.lazy import later

ARCH = Arch(
    name="x86_64",
    title="x86-64",
    registers=REGISTERS,
    elf_machine="EM_X86_64",
    stack_pointer=RSP,
    result=RAX,
    abis=ABIS,
    formats=FORMATS,
    syntax="nasm",
    features=DETECTED,
    detection=DETECTION,
    cpuid=CPUID,
    machines=("x86_64", "AMD64"),
    triple="x86_64-linux-gnu",
    frame=FRAME,
    load_decoder=later("ghashgen.arch.x86_64.decoder", "X86Decoder"),
    entry_align=JUMPS.line,
    proved=True,
    jumps=JUMPS,
    uarches=uarches,
    labels=labels,
)
