"""BearSSL: its br_ghash_pclmul by our kernels, in its own build; AES stays BearSSL's."""

from dataclasses import replace

from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted, make_files
from ghashgen.output.hosts.trial import Edit, Trial

TRIAL = Trial(
    package="bearssl",
    marks=("mk/Rules.mk", "src/hash/ghash_pclmul.c", "test/test_crypto.c"),
    edits=(Edit("mk/Rules.mk", " $(OBJDIR)$Pxmem$O", "include ghashgen/bearssl.mk"),),
    files={"measure.c": "hosts/bearssl/measure.c.j2"},
    programs={"make": "make", "ar": "binutils"},
    make="make lib build/testcrypto && cc -O2 -Iinc measure.c build/libbearssl.a -o measure",
    replaces=True,
    tests=("build/testcrypto GHASH_pclmul", "build/testcrypto GCM"),
    passed=r"Test \w+: [. ]*done\.",
    watched="build/testcrypto GHASH_pclmul",
    objects="build/libbearssl.a",
    timed="./measure",
    rivals={"BearSSL": "./measure"},
    counts_in="{library}_dispatch.c",
)

HOST = replace(
    plain.HOST,
    name="bearssl",
    title="BearSSL 0.6: br_ghash_pclmul by our kernels",
    build=lambda files, targets: ("make -C .. lib",),
    build_files=make_files("bearssl.mk", "hosts/bearssl/build.mk.j2"),
    files={
        "bearssl-ghash.c": "hosts/bearssl/glue.c.j2",
        "{library}.md": "hosts/bearssl/page.md.j2",
    },
    needs=("BearSSL's sources, and what its build takes: GCC or Clang, GNU make", "NASM"),
    gets="our kernels behind BearSSL's GHASH; AES and other CPUs keep its own code",
    wanted=Wanted("hash", "once", {"op": ("ghash",)}, frozenset({"init", "update"})),
    trial=TRIAL,
)
