"""libgcrypt: its AES-GCM by our kernels in its own layout and its own build."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.kernels.given.interfaces.libgcrypt import INTERFACE
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Edit, Trial

ASKED = {
    "avx": ("aes", "avx", "pclmul"),
    "avx2": ("aes", "avx2", "pclmul", "vaes", "vpclmulqdq"),
    "avx512": (
        *("avx512bw", "avx512dq", "avx512f", "avx512vl", "pclmul", "vaes", "vpclmulqdq"),
        "aes",
    ),
}
"""The CPU features that a kernel of each set needs, by their names in GCC and Clang."""

_TESTS = "make -C tests basic && tests/basic --cipher-modes --verbose"

TRIAL = Trial(
    package="libgcrypt20",
    marks=("cipher/cipher-gcm.c", "cipher/Makefile.in", "tests/basic.c"),
    edits=(
        Edit("cipher/Makefile.in", "all: all-am", "include $(srcdir)/../ghashgen/libgcrypt.mk"),
    ),
    files={"measure.c": "hosts/libgcrypt/measure.c.j2"},
    programs={"make": "make", "ar": "binutils", "gpgrt-config": "libgpg-error-dev"},
    # Debian's patches make the inputs of autoconf newer than what it made of them.
    configure="touch aclocal.m4 && touch configure config.h.in && "
    "find . -name Makefile.in -exec touch {} + && ./configure --disable-doc --disable-shared "
    "--enable-static --enable-ciphers=aes,chacha20",
    make="make -C compat && make -C mpi && make -C cipher && make -C random && make -C src && "
    "cc -O2 -Isrc measure.c src/.libs/libgcrypt.a -lgpg-error -o measure",
    replaces=True,
    tests=(_TESTS,),
    passed=r".*Errors: 0",
    watched=_TESTS,
    objects="src/.libs/libgcrypt.a",
    timed="./measure",
    rivals={"libgcrypt": "./measure"},
    counts_in="libgcrypt-gcm.c",
)


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    own = {kernel.instruction_set.name for kernel in kernels}
    return {"sets": {name: each for name, each in reversed(ASKED.items()) if name in own}}


HOST = replace(
    plain.HOST,
    name="libgcrypt",
    title="libgcrypt 1.10: AES-GCM by our kernels",
    place=plain.assembly_as("gcm-ghashgen-{folder}.S"),
    build=lambda files, targets: ("make -C ..",),
    build_files={"libgcrypt.mk": "hosts/libgcrypt/build.mk.j2"},
    files={
        "libgcrypt-gcm.c": "hosts/libgcrypt/glue.c.j2",
        "{library}.md": "hosts/libgcrypt/page.md.j2",
    },
    needs=("libgcrypt's sources, and what its build takes: GCC or Clang, GNU make",),
    gets="our code behind its own functions; key schedules and other CPUs keep its code",
    syntax="gas",
    wanted=Wanted(
        GivenKernel.family,
        "",
        {},
        frozenset(INTERFACE.functions),
        made=lambda: (
            GivenKernel("libgcrypt", "avx", "winograd", "clmul1", 8),
            GivenKernel("libgcrypt", "avx2", "k", "clmul1", 16),
            GivenKernel("libgcrypt", "avx512", "middle", "clmul1", 16),
        ),
    ),
    trial=TRIAL,
    values=_values,
)
