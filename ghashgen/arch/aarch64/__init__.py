"""AArch64 as one value, `ARCH`: registers, convention, formats, features, frame and decoder.

Instruction sets are in `sets/`, syntaxes in `syntax/`. There are no port tables, so nothing is
scheduled for a core and no bound is stated.
"""

from ghashgen.arch.aarch64.abi import ABIS
from ghashgen.arch.aarch64.address import address
from ghashgen.arch.aarch64.features import DETECTED
from ghashgen.arch.aarch64.formats import FORMATS
from ghashgen.arch.aarch64.frame import FRAME
from ghashgen.arch.aarch64.registers import REGISTERS, SP
from ghashgen.arch.core import Arch
from ghashgen.support.lazy import later

ARCH = Arch(
    name="aarch64",
    title="AArch64",
    registers=REGISTERS,
    elf_machine="EM_AARCH64",
    stack_pointer=SP,
    result=0,
    abis=ABIS,
    formats=FORMATS,
    syntax="gas",
    features=DETECTED,
    machines=("aarch64", "arm64"),
    triple="aarch64-linux-gnu",
    emulator=("qemu-aarch64", "-cpu", "max"),
    frame=FRAME,
    load_decoder=later("ghashgen.arch.aarch64.decoder", "AArch64Decoder"),
    entry_align=16,
    address=address,
)
