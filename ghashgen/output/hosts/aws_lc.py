"""AWS-LC: one file replaces its assembly for AVX-512, and one of C calls it, in its own build."""

from dataclasses import replace

from ghashgen.kernels.given.interfaces.aws_lc import INTERFACE
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import boringssl, plain
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Edit

ASSEMBLY = "aesni-gcm-avx512.S"
_PLACE = "generated-src/linux-x86_64/crypto/fipsmodule"

TRIAL = replace(
    boringssl.TRIAL,
    marks=("crypto/fipsmodule/modes/gcm.c", f"{_PLACE}/{ASSEMBLY}"),
    edits=(
        Edit(
            "crypto/fipsmodule/modes/gcm.c",
            '#include "../../internal.h"',
            '#include "../../../ghashgen/aws-lc-gcm.h"',
        ),
    ),
    files={
        **boringssl.TRIAL.files,
        "library.c": "hosts/aws_lc/library.c.j2",
        "support.cc": "hosts/aws_lc/support.cc.j2",
        "trial.mk": "hosts/aws_lc/trial.mk.j2",
    },
    make=f"if test -d ghashgen; then cp ghashgen/{ASSEMBLY} {_PLACE}/; fi && make -f trial.mk",
    version="sed -n 's/.*NUMBER_STRING \"/AWS-LC /p' include/openssl/base.h | tr -d '\"'",
    tests=("./vectors crypto/cipher_extra/test/aes_???_gcm_tests.txt", "./gcm_test"),
    objects=f"out/{_PLACE}/{ASSEMBLY}.o",
    rivals={"AWS-LC": "./measure"},
)


HOST = replace(
    boringssl.HOST,
    name="aws-lc",
    title="AWS-LC: AES-GCM and GHASH for CPUs with AVX-512, on x86-64 Linux",
    place=plain.assembly_as(ASSEMBLY),
    build=lambda files, target: (f"cp {ASSEMBLY} ../{_PLACE}/", "cmake --build ../build"),
    files={"aws-lc-gcm.h": "hosts/aws_lc/glue.h.j2", "{library}.md": "hosts/aws_lc/page.md.j2"},
    needs=("AWS-LC's sources, and what its build takes: GCC or Clang, CMake",),
    gets="our code in place of 700 KB of its own; key schedules and other CPUs keep its code",
    wanted=Wanted(
        GivenKernel.family,
        "",
        {},
        frozenset(INTERFACE.functions),
        made=lambda: (GivenKernel("aws-lc", "avx512", "middle", "clmul1", 16),),
    ),
    trial=TRIAL,
)
