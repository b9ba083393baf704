"""A third architecture: x86-64's instructions under a name, names and tools of its own."""

from dataclasses import replace
from types import MappingProxyType

from ghashgen.arch.x86_64 import ARCH as X86
from ghashgen.arch.x86_64.abi import SYSV
from ghashgen.arch.x86_64.features import DETECTED
from ghashgen.arch.x86_64.formats import ELF

_FEATURES = ("avx", "pclmulqdq", "avx512f")

ARCH = replace(
    X86,
    name="toy_arch",
    title="Toy",
    abis=MappingProxyType({"sysv": replace(SYSV, title="the toy's convention")}),
    formats=MappingProxyType({"elf64": ELF}),
    syntax="toy",
    features=MappingProxyType({name: DETECTED[name] for name in _FEATURES}),
    detection="",
    machines=("toy64",),
    triple="toy64-linux-gnu",
    emulator=("qemu-toy64",),
    uarches=dict,
    proved=False,
)
"""The architecture."""
