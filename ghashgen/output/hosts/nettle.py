"""GNU nettle: its gcm_aes functions by our kernels, in its own build."""

from dataclasses import replace

from ghashgen.output.hosts import openssl, plain
from ghashgen.output.hosts.core import key_bits, make_files
from ghashgen.output.hosts.trial import Edit, Trial

TRIAL = Trial(
    package="nettle",
    marks=("Makefile.in", "configure", "gcm-aes128.c", "testsuite/gcm-test.c"),
    edits=(
        Edit(
            "Makefile.in",
            "$(OPT_NETTLE_SOURCES:.c=.$(OBJEXT)) $(OPT_NETTLE_OBJS)",
            "include $(srcdir)/ghashgen/nettle.mk",
        ),
    ),
    files={"measure.c": "hosts/nettle/measure.c.j2"},
    programs={"make": "make", "m4": "m4", "ar": "binutils"},
    # Debian's patches make aclocal.m4 newer than what autoconf made of it.
    configure="touch aclocal.m4 && touch configure stamp-h.in config.h.in && ./configure "
    "--disable-public-key --disable-documentation --disable-openssl",
    make="make && cc -O2 -I. measure.c libnettle.a -o measure",
    replaces=True,
    tests=("make check", "make ghashgen-check"),
    passed=r"All [1-9]\d* tests passed|\d+ messages agree .*",
    watched='make -C testsuite check TS_ALL="gcm-test"',
    objects="libnettle.a",
    timed="./measure",
    rivals={"nettle": "./measure"},
)

HOST = replace(
    plain.HOST,
    name="nettle",
    title="GNU nettle 3.8: gcm_aes128 and gcm_aes256 by our kernels",
    build=lambda files, targets: ("make -C ..",),
    build_files=make_files("nettle.mk", "hosts/nettle/build.mk.j2"),
    files={
        "gcm-aes-ghashgen.c": "hosts/nettle/glue.c.j2",
        "nettle-test.c": "hosts/nettle/test.c.j2",
        "ghashgen.md": "hosts/nettle/page.md.j2",
    },
    needs=("nettle's sources, and what its build takes: GCC or Clang, GNU make, m4", "NASM"),
    gets="the speed of our kernels behind nettle's own functions; other CPUs keep nettle's code",
    wanted=openssl.HOST.wanted,
    # Its test refuses others in libnettle.a; these it takes for functions of its own.
    prefix="_nettle_",
    # That of struct gcm_key.
    table_align=8,
    trial=TRIAL,
    values=key_bits,
)
