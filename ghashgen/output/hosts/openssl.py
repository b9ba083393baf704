"""OpenSSL 3 and 4: a provider, which OpenSSL's own EVP functions and TLS then use."""

from dataclasses import replace

from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import Wanted, key_bits, make_files
from ghashgen.output.hosts.trial import Trial

CONFIGURE = "./Configure linux-x86_64 no-legacy $(test -f test/evp_test.c || echo no-tests)"
"""Some copies of the sources come without the tests, and without what old ciphers take."""

TRIAL = Trial(
    package="openssl",
    marks=("Configure", "crypto/evp/evp_enc.c"),
    files={
        "measure.c": "hosts/openssl/measure.c.j2",
        "ghashgen-tests.sh": "hosts/openssl/tests.sh.j2",
    },
    version='. ./VERSION.dat && echo "OpenSSL $MAJOR.$MINOR.$PATCH"',
    programs={"make": "make", "perl": "perl", "ar": "binutils"},
    configure=f"{CONFIGURE} && make build_generated",
    make="make -j2 libcrypto.so && { test ! -f test/evp_test.c || make test/evp_test; } && "
    "make -C ghashgen -f provider.mk OPENSSL_CFLAGS=-I../include OPENSSL_LIBS=../libcrypto.so "
    "ghashgen-provider ghashgen_provider_test && "
    "cc -O2 -Iinclude measure.c libcrypto.so -o measure",
    tests=("sh ghashgen-tests.sh",),
    passed=r".*Completed \d+ tests with 0 errors.*|\d+ messages agree .*",
    watched="sh ghashgen-tests.sh",
    objects="ghashgen/libghashgen.a",
    timed="LD_LIBRARY_PATH=. ./measure ghashgen",
    rivals={"OpenSSL": "LD_LIBRARY_PATH=. ./measure default"},
)

HOST = replace(
    plain.HOST,
    name="openssl",
    title="OpenSSL 3 and 4: a provider of AES-128-GCM and AES-256-GCM",
    build=lambda files, targets: ("make -f provider.mk",),
    build_files=make_files("provider.mk", "hosts/openssl/build.mk.j2"),
    files={
        "{library}_provider.c": "hosts/openssl/provider.c.j2",
        "{library}_provider_test.c": "hosts/openssl/test.c.j2",
        "{library}.cnf": "hosts/openssl/conf.cnf.j2",
        "{library}.md": "hosts/openssl/page.md.j2",
    },
    needs=("OpenSSL 3 with its headers", "GCC or Clang, C11, and GNU make", "NASM"),
    gets="our kernels behind EVP, in pieces and in TLS records; other CPUs keep OpenSSL's code",
    wanted=Wanted(
        "gcm",
        "pieces",
        {"key": (128, 256)},
        frozenset(
            {"seal", "open", "start", "aad", "encrypt_more", "decrypt_more", "finish", "verify"}
        ),
    ),
    trial=TRIAL,
    values=key_bits,
)
