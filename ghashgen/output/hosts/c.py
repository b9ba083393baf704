"""A program or library in C that wants AES-GCM: seal and open, with a test and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ghashgen.kernels.core import Keyed, Point
from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Trial
from ghashgen.output.vectors import MOST, vectors

_FAMILY = "gcm"


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    own = (kernel for kernel in kernels if kernel.family == _FAMILY)
    sizes = {kernel.key_bytes for kernel in own if isinstance(kernel, Keyed)}
    return {"keys": [vectors(size) for size in sorted(sizes)], "most": MOST}


def wanted(**instead: Any) -> Wanted:
    """Return the kernels of hosts that seal and open whole messages, with other axes."""
    keys = {"key": (128, 192, 256)}
    return Wanted(_FAMILY, "mixed", keys, frozenset({"seal", "open"}), instead)


_MAKE = "make -C ghashgen -f ghashgen.mk"

TRIAL = Trial(
    files={"measure.c": "hosts/c/measure.c.j2", "evp.c": "hosts/openssl_asm/measure.c.j2"},
    programs={
        "cc": "gcc",
        "nasm": "nasm",
        "ar": "binutils",
        "make": "make",
        "cmake": "cmake",
        "meson": "meson",
        "ninja": "ninja-build",
        "openssl": "libssl-dev openssl",
    },
    configure="cmake -S ghashgen -B cmake -G Ninja && meson setup meson ghashgen",
    make=f"cmake --build cmake && ninja -C meson && {_MAKE} && "
    "cc -O2 -Ighashgen measure.c ghashgen/libghashgen.a -o measure && "
    "cc -O2 evp.c -lcrypto -o evp",
    version="cc --version | head -1 && openssl version",
    tests=("ctest --test-dir cmake --verbose", "meson test -C meson --verbose", f"{_MAKE} test"),
    passed=r".*\d+ messages sealed, opened, and refused with a wrong tag",
    watched=f"{_MAKE} test",
    objects="ghashgen/libghashgen.a",
    timed="./measure",
    rivals={"OpenSSL": "./evp"},
)

HOST = replace(
    plain.HOST,
    name="c",
    title="C: AES-GCM for any CPU, with a test",
    files={"{library}_test.c": "hosts/c/test.c.j2", "{library}.md": "hosts/c/page.md.j2"},
    test="{library}_test.c",
    portable=True,
    needs=(
        "GCC or Clang, C11",
        "NASM, or --syntax gas",
        "one of CMake 3.16, Meson 0.64 and GNU make",
    ),
    gets="AES-GCM by ghashgen_gcm_dispatch.h: set up a key, seal, open, wipe",
    wanted=wanted(),
    trial=TRIAL,
    values=_values,
)
