"""Mbed TLS: its mbedtls_gcm_ functions by our kernels, in its own build."""

from dataclasses import replace

from ghashgen.output.hosts import openssl, plain
from ghashgen.output.hosts.core import key_bits, make_files
from ghashgen.output.hosts.trial import Edit, Trial

_SUITES = (
    "cd tests && for suite in suites/test_suite_gcm.*.data; do "
    "name=$(basename $suite .data) && make $name && ./$name || exit 1; done"
)

TRIAL = Trial(
    package="mbedtls",
    marks=("library/gcm.c", "library/Makefile", "tests/suites/test_suite_gcm.function"),
    edits=(
        Edit(
            "library/Makefile",
            "OBJS_CRYPTO+=$(THIRDPARTY_CRYPTO_OBJECTS)",
            "include ../ghashgen/mbedtls.mk",
        ),
    ),
    files={"measure.c": "hosts/mbedtls/measure.c.j2"},
    programs={"make": "make", "python3": "python3", "ar": "binutils"},
    make="make lib && cc -O2 -Iinclude measure.c library/libmbedcrypto.a -o measure",
    replaces=True,
    tests=(_SUITES,),
    passed=r"PASSED \(.*",
    watched=_SUITES,
    objects="library/libmbedcrypto.a",
    timed="./measure",
    rivals={"Mbed TLS": "./measure"},
)

HOST = replace(
    plain.HOST,
    name="mbedtls",
    title="Mbed TLS 2.28: mbedtls_gcm_ functions for AES by our kernels",
    build=lambda files, targets: ("make -C .. lib",),
    build_files=make_files("mbedtls.mk", "hosts/mbedtls/build.mk.j2"),
    files={"mbedtls-gcm.c": "hosts/mbedtls/glue.c.j2", "{library}.md": "hosts/mbedtls/page.md.j2"},
    needs=("Mbed TLS's sources, and what its build takes: GCC or Clang, GNU make", "NASM"),
    gets="our kernels behind Mbed TLS's functions; other ciphers and CPUs keep its own code",
    wanted=openssl.HOST.wanted,
    trial=TRIAL,
    values=key_bits,
)
