"""BoringSSL: two files replace two of its assembly files, with its symbols, in its own build."""

from dataclasses import replace

from ghashgen.kernels.given.interface import interfaces
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Trial

TRIAL = Trial(
    marks=("crypto/fipsmodule/aes/gcm.cc.inc", "gen/bcm/aes-gcm-avx512-x86_64-linux.S"),
    files={
        "library.cc": "hosts/boringssl/library.cc.j2",
        "trial.mk": "hosts/boringssl/trial.mk.j2",
        "vectors.c": "hosts/aead/vectors.c.j2",
        "measure.c": "hosts/aead/measure.c.j2",
    },
    programs={"make": "make", "g++": "g++"},
    make="if test -d ghashgen; then cp ghashgen/*.S gen/bcm/; fi && make -f trial.mk",
    version="sed -n 's/^#define BORINGSSL_API_VERSION/BoringSSL API/p' include/openssl/base.h",
    replaces=True,
    tests=("./vectors crypto/cipher/test/aes_???_gcm_tests.txt", "./gcm_test"),
    passed=r"\d+ (vectors|messages) .* agree|\[  PASSED  \] \d+ tests?\.",
    watched="./gcm_test",
    objects="out/gen/bcm/aes-gcm-*.S.o",
    timed="./measure",
    rivals={"BoringSSL": "./measure"},
    counts_in="counts.c",
)

HOST = replace(
    plain.HOST,
    name="boringssl",
    title="BoringSSL: AES-GCM and GHASH for CPUs with VAES, on x86-64 Linux",
    place=plain.assembly_as("aes-gcm-{folder}-x86_64-linux.S"),
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
            GivenKernel("boringssl", "avx2", "middle", "clmul1", 16),
            GivenKernel("boringssl", "avx512", "middle", "clmul1", 16),
        ),
    ),
    trial=TRIAL,
)
