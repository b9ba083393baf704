"""OpenSSL 3 and 4: objects that take the place of its own AES-GCM in a built libcrypto.a."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.kernels.given.interfaces.openssl import INTERFACE
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import libgcrypt, openssl
from ghashgen.output.hosts.core import Wanted
from ghashgen.support.errors import GhashgenError

BITS = {
    "pclmul": (1, 1),
    "aes": (1, 25),
    "avx": (1, 28),
    "avx2": (2, 5),
    "avx512f": (2, 16),
    "avx512dq": (2, 17),
    "avx512bw": (2, 30),
    "avx512vl": (2, 31),
    "vaes": (3, 9),
    "vpclmulqdq": (3, 10),
}
"""Where OPENSSL_ia32cap_P tells a CPU feature: word and bit."""

TRIAL = replace(
    openssl.TRIAL,
    files={
        "measure.c": "hosts/openssl_asm/measure.c.j2",
        "pieces.c": "hosts/openssl_asm/pieces.c.j2",
        "ghashgen-tests.sh": "hosts/openssl_asm/tests.sh.j2",
    },
    programs={**openssl.TRIAL.programs, "objcopy": "binutils"},
    configure=f"{openssl.CONFIGURE} no-shared no-cmp no-cms no-ct no-ec no-engine no-ts "
    "&& make build_generated",
    make="make -j2 libcrypto.a && { test -f own.a || cp libcrypto.a own.a; } && "
    "make -C ghashgen -f openssl.mk && "
    "{ test ! -f test/evp_test.c || make test/evp_test; } && "
    "cc -O2 -Iinclude measure.c own.a -ldl -lpthread -o measure-own && "
    "for each in measure pieces; do "
    "cc -O2 -Iinclude $each.c libcrypto.a -ldl -lpthread -o $each || exit 1; done",
    passed=r".*Completed \d+ tests with 0 errors.*|\d+ messages in pieces .* agree",
    objects="libcrypto.a",
    timed="./measure",
    rivals={"OpenSSL": "./measure-own"},
    counts_in="openssl-gcm.c",
)


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    own = {kernel.instruction_set.name for kernel in kernels}
    if "avx" not in own:
        raise GhashgenError(
            "every CPU with AVX calls the functions that host openssl-asm replaces",
            "take --isa avx too",
        )
    sets: dict[str, dict[int, int]] = {}
    for isa, features in reversed(libgcrypt.ASKED.items()):
        bits = [BITS[name] for name in features]
        masks = {word: sum(1 << bit for at, bit in bits if at == word) for word, _ in bits}
        sets |= {isa: masks} if isa in own else {}
    return {"sets": sets}


HOST = replace(
    libgcrypt.HOST,
    name="openssl-asm",
    title="OpenSSL 3 and 4: our code in a libcrypto.a, in place of its own AES-GCM",
    build=lambda files, targets: ("make -f openssl.mk",),
    build_files={"openssl.mk": "hosts/openssl_asm/build.mk.j2"},
    files={
        "openssl-gcm.c": "hosts/openssl_asm/glue.c.j2",
        "{library}.md": "hosts/openssl_asm/page.md.j2",
    },
    needs=("OpenSSL's sources and a libcrypto.a built of them", "GCC or Clang, GNU make, objcopy"),
    gets="our code behind EVP and TLS without a provider; key schedules keep its code",
    wanted=Wanted(
        GivenKernel.family,
        "",
        {},
        frozenset(INTERFACE.functions),
        made=lambda: (
            GivenKernel("openssl", "avx", "k", "clmul1", 8),
            GivenKernel("openssl", "avx2", "middle", "clmul1", 16),
            GivenKernel("openssl", "avx512", "middle", "clmul1", 16),
        ),
    ),
    trial=TRIAL,
    values=_values,
)
