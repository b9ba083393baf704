"""Its one syntax, and who assembles it."""

from dataclasses import replace

from ghashgen.arch.gnu import gnu, gnu_or_clang
from ghashgen.arch.x86_64.syntax.gas_att import SYNTAX as ATT

SYNTAX = replace(
    ATT,
    name="toy",
    title="the toy's",
    suffix="toy",
    note=("", ""),
    assembler=gnu_or_clang(
        "toy64", "GHASHGEN_AS_TOY", "binutils-toy", gnu("as of the toy", "", {"elf64": ("--64",)})
    ),
)
"""The syntax."""
