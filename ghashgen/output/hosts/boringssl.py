"""BoringSSL: two files replace two of its assembly files, with its symbols, in its own build."""

from dataclasses import replace
from pathlib import PurePosixPath

from ghashgen.kernels.given.interface import interfaces
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted


def _place(file: str) -> str:
    path = PurePosixPath(file)
    return f"aes-gcm-{path.parts[0]}-x86_64-linux.S" if path.suffix == ".S" else path.name


HOST = replace(
    plain.HOST,
    name="boringssl",
    title="BoringSSL: AES-GCM and GHASH for CPUs with VAES, on x86-64 Linux",
    place=_place,
    build=lambda files, target: (
        *(f"cp {file} ../gen/bcm/" for file in files if file.endswith(".S")),
        "cmake --build ../build",
    ),
    build_files={},
    files={"{library}.md": "hosts/boringssl/page.md.j2"},
    needs=("BoringSSL's sources, and what its build takes: GCC or Clang, CMake",),
    gets="our code behind its own symbols; key schedules and other CPUs keep its code",
    syntax="gas",
    wanted=Wanted(
        GivenKernel.family,
        "",
        {},
        frozenset(interfaces()["boringssl"].functions),
        made=lambda: (
            GivenKernel("boringssl", "avx2", "schoolbook", "clmul2", 16),
            GivenKernel("boringssl", "avx512", "schoolbook", "clmul2", 12),
        ),
    ),
)
