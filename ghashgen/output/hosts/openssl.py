"""OpenSSL 3: a provider, which OpenSSL's own EVP functions and TLS then use."""

from dataclasses import replace
from types import MappingProxyType

from ghashgen.output.hosts import plain
from ghashgen.output.hosts.core import BUILD_FILES, Wanted, key_bits

_FRAGMENT = "{library}.mk"

HOST = replace(
    plain.HOST,
    name="openssl",
    title="OpenSSL 3: a provider of AES-128-GCM and AES-256-GCM",
    build=lambda files, target: ("make -f provider.mk",),
    build_files=MappingProxyType(
        {_FRAGMENT: BUILD_FILES[_FRAGMENT], "provider.mk": "hosts/openssl/build.mk.j2"}
    ),
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
    values=key_bits,
)
