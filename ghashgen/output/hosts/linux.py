"""Linux: one file replaces its assembly for AVX-512, and one of C calls it, in its own build."""

import re
from dataclasses import replace

from ghashgen.kernels.given.interfaces.linux import INTERFACE, TABLE_AT
from ghashgen.kernels.given.kernel import GivenKernel
from ghashgen.output.hosts import boringssl, plain
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Edit, Trial
from ghashgen.support.templates import environment

ASSEMBLY, GLUE = "aes-gcm-vaes-avx512.S", "aes-gcm-ghashgen.c"

_BEGIN = re.compile(r"^\.globl (\w+)\n(?:\.hidden \1\n)?\.type \1, @function\n(.*\n)\1:$", re.M)
_END = re.compile(r"^\.size (\w+), \. - \1$", re.M)
_RETURN = re.compile(r"^    ret\b", re.M)


def styled(text: str) -> str:
    """Write a kernel's functions and returns by the macros of Linux, which the file has too.

    Not by SYM_FUNC_START: that adds an ENDBR64 where the kernel is built for IBT, and ours has one.
    """
    text = _BEGIN.sub(r"\2SYM_START(\1, SYM_L_GLOBAL, SYM_A_NONE)", text)
    text = _RETURN.sub("    RET", _END.sub(r"SYM_FUNC_END(\1)", text))
    banner, _, rest = text.partition("\n\n")
    macros = environment().get_template("hosts/linux/macros.S.j2").render()
    return f"{banner}\n\n{macros}{rest.lstrip()}"


_IN = "arch/x86/crypto"
_BEFORE = "aes-gcm-avx10-x86_64"
"""The file that ours replaces, as Linux before 6.19 calls it."""

TRIAL = Trial(
    package="linux-6.12",
    marks=(f"{_IN}/{_BEFORE}.S", "crypto/testmgr.h", "scripts/kconfig/merge_config.sh"),
    folder=f"{_IN}/ghashgen",
    edits=(
        Edit(
            f"{_IN}/Makefile",
            f"+= {_BEFORE}.o",
            "aesni-intel-$(CONFIG_64BIT) += "
            "$(patsubst $(src)/%.c,%.o,$(wildcard $(src)/ghashgen/*.c))",
        ),
    ),
    files={each: f"hosts/linux/{each}.j2" for each in ("trial.config", "measure.c", "boot.py")},
    programs={each: each for each in ("make", "gcc", "flex", "bison", "bc", "python3")},
    # The vectors are in a header that only the kernel can include.
    configure="sed -n '/ aes_gcm_tv_template\\[\\] = {/,/^};/p' crypto/testmgr.h > vectors.h && "
    "make tinyconfig && scripts/kconfig/merge_config.sh -m .config trial.config && "
    "make olddefconfig && ! grep -vxF -f .config trial.config",
    make=f"if test -d {_IN}/ghashgen; then cp {_IN}/ghashgen/{ASSEMBLY} {_IN}/{_BEFORE}.S; fi && "
    f"make -j2 {_IN}/ && gcc -O2 -static -no-pie measure.c {_IN}/aesni-intel_asm.o "
    f"{_IN}/{_BEFORE}.o $(find {_IN}/ghashgen -name '*ghashgen.o' -o -name counts.c) -o measure",
    version="echo Linux $(make -s kernelversion), its objects linked to a program",
    replaces=True,
    tests=("./measure", "python3 boot.py", "python3 boot.py wrong"),
    passed=r"\d+ vectors of the kernel's self-tests agree|(no kernel was )?booted.*",
    watched="python3 boot.py",
    objects=f"{_IN}/{_BEFORE}.o",
    timed="./measure",
    rivals={"Linux": "./measure"},
    counts_in="counts.c",
    entry=r"SYM_START\(({}), .*",
)

HOST = replace(
    boringssl.HOST,
    name="linux",
    title="Linux: AES-GCM for CPUs with AVX-512, in arch/x86/crypto",
    place=plain.assembly_as(ASSEMBLY),
    build=lambda files, target: (f"cp {ASSEMBLY} ..", "make -C ../../../.. arch/x86/crypto/"),
    files={GLUE: "hosts/linux/glue.c.j2", "{library}.md": "hosts/linux/page.md.j2"},
    needs=("Linux's sources, and what its build takes",),
    gets="our code behind its own functions; key schedules and other CPUs keep its code",
    syntax="gas-att",
    styled=styled,
    wanted=Wanted(
        GivenKernel.family,
        "",
        {},
        frozenset(INTERFACE.functions),
        made=lambda: (GivenKernel("linux", "avx512", "middle", "clmul1", 16),),
    ),
    values=lambda kernels: {"table_at": TABLE_AT},
    trial=TRIAL,
)
