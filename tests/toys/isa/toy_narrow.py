"""A toy set: AVX under another name, with half the registers and sizes of its own."""

from dataclasses import replace

from ghashgen.arch.x86_64.sets.avx import ISA as AVX

ISA = replace(
    AVX,
    name="toy-narrow",
    title="AVX with eight registers, a toy",
    vector_registers=8,
    catalogue_blocks=(3,),
)
