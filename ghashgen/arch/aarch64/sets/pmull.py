"""Advanced SIMD with FEAT_PMULL: one block in a register, 32 registers, three operands."""

from ghashgen.arch.aarch64 import ARCH
from ghashgen.arch.aarch64.general import LOWER as GENERAL_LOWER
from ghashgen.arch.aarch64.general import ROWS as GENERAL_ROWS
from ghashgen.arch.aarch64.vectors import LOWER, ROWS
from ghashgen.arch.rows import Isa

ISA = Isa(
    name="pmull",
    title="Advanced SIMD, PMULL on 64-bit halves",
    arch=ARCH,
    vector_registers=32,
    lanes=1,
    catalogue_blocks=(1, 4, 8),
    features=("asimd", "pmull"),
    rows={**GENERAL_ROWS, **ROWS},
    lower={**GENERAL_LOWER, **LOWER},
)
