"""`vendor --host openssl` and `openssl-asm`: the provider runs, and the glue gets whole blocks."""

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, need, need_x86
from helpers.installed import need_programs
from helpers.verbs import called

from ghashgen.kernels.target import target
from ghashgen.output.hosting import render_host
from ghashgen.output.hosts import libgcrypt, openssl_asm
from ghashgen.output.hosts.registry import hosts
from ghashgen.support.errors import GhashgenError

pytestmark = pytest.mark.usefixtures("own_cache")

NEEDS = ("aesni", "avx", "pclmulqdq", "sse2", "ssse3", "sse4_1")


@pytest.fixture(scope="module")
def for_openssl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_x86()
    folder = tmp_path_factory.mktemp("openssl") / "ghashgen"
    called("vendor", "--host", "openssl", "--key", "128", "--isa", "avx", "--into", folder)
    return folder


def made_provider(folder: Path, there: Path) -> Path:
    """Build the provider and its test in a copy of a folder, warnings being errors."""
    need_programs("make", "ar", "nasm")
    shutil.copytree(folder, there)
    strict = "CFLAGS=-Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror"
    words = ["make", "-f", "provider.mk", strict, "ghashgen_provider_test"]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    if "openssl/" in found.stderr and "No such file" in found.stderr:
        pytest.skip("OpenSSL has no headers here: the provider is not built")
    assert found.returncode == 0, found.stderr
    return there


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_the_provider_agrees_with_openssl(for_openssl: Path, tmp_path: Path) -> None:
    there = made_provider(for_openssl, tmp_path / "copy")
    words = ["./ghashgen_provider_test", "."]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    said = "messages agree with OpenSSL's own code" in found.stdout
    assert (found.returncode, said) == ((77, False) if lacking(NEEDS) else (0, True)), found.stdout


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("c->state, c->tag, c->tag_len) == 0", "c->state, c->tag, c->tag_len) >= 0", "a wrong tag"),
        ("(uint8_t)(len - more)", "(uint8_t)len", "opening a record fails"),
        ("*copy = *c;", "memcpy(copy->key, c->key, sizeof c->key);", "sealing refuses"),
    ],
)
def test_the_test_of_the_provider_notices_a_fault(
    for_openssl: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    need(NEEDS)
    faulty = tmp_path / "faulty"
    shutil.copytree(for_openssl, faulty)
    path = faulty / "ghashgen_provider.c"
    text = path.read_text(encoding="utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    there = made_provider(faulty, tmp_path / "copy")
    words = ["./ghashgen_provider_test", "."]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    assert (found.returncode, said in found.stdout) == (1, True), found.stdout


def test_openssl_asks_for_what_its_own_code_asks_for() -> None:
    host = hosts()["openssl-asm"]
    assert host.wanted is not None
    made = host.wanted.made()
    values = host.values(made)
    # Words of OPENSSL_ia32cap_P; for AVX-512, 2 and 3 are those of OpenSSL's own code.
    first = 1 << 1 | 1 << 25
    assert values == {
        "sets": {
            "avx512": {1: first, 2: 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31, 3: 1 << 9 | 1 << 10},
            "avx2": {1: first, 2: 1 << 5, 3: 1 << 9 | 1 << 10},
            "avx": {1: first | 1 << 28},
        }
    }
    assert {*openssl_asm.BITS} == {*itertools.chain(*libgcrypt.ASKED.values())}
    with pytest.raises(GhashgenError, match=r"every CPU with AVX .* take --isa avx too"):
        host.values(made[1:])


MODES_H = """\
typedef struct {
    union { uint64_t u[2]; uint8_t c[16]; } Yi, EKi, EK0, len, Xi, H;
    uint8_t Htable[256];
    unsigned mres, ares;
} GCM128_CONTEXT;
"""
"""OpenSSL's context, as far as the glue reads it."""


def driven(tmp_path: Path, driver: str, right: str, wrong: str) -> tuple[int, bool]:
    """Run a driver on the glue with a fault; return its status, and whether it says wrong."""
    need_programs("cc")
    host = hosts()["openssl-asm"]
    assert host.wanted is not None
    glue = render_host(host, (), (target(syntax="gas"),), host.wanted.made(), threads=False)[
        "openssl-gcm.c"
    ]
    assert right in glue
    headers = {
        "openssl/opensslv.h": "#define OPENSSL_VERSION_PREREQ(major, minor) 1\n",
        "crypto/modes.h": MODES_H,
        "openssl-gcm.c": glue.replace(right or "\n", wrong or "\n"),
    }
    for name, text in headers.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    words = ["cc", "-std=gnu11", "-O1", "-mavx", "-maes", "-DOPENSSL", f"-I{tmp_path}"]
    strict = ["-Wall", "-Wextra", "-Werror"]
    path = str(Path(__file__).with_name(driver))
    subprocess.run([*words, *strict, path, "-o", str(tmp_path / "driver")], check=True)
    found = subprocess.run([tmp_path / "driver"], check=False, capture_output=True, text=True)
    return found.returncode, "wrong" in found.stdout


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("x + 32, x)", "x + 16, x)"),
        ("(whole / 16)", "(whole / 16 + 1)"),
        ("return whole;", "return len;"),
        ("& seven_c) == seven_c", "& seven_c) != 0"),
        ("& needed) == needed", "& needed) != 0"),
    ],
)
def test_openssl_gets_whole_blocks(tmp_path: Path, right: str, wrong: str) -> None:
    need(NEEDS)
    assert driven(tmp_path, "openssl_asm_driver.c", right, wrong) == (
        (1, True) if right else (0, False)
    )


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("rounds--; k++", "--rounds; k++"),
        ("*used = n % 16;", "*used = n;"),
        ("ctx->EKi.u[0] = 0;", ""),
        ("ctx->EKi.u[0] = ctx->len.u[1];", ""),
        ("if (!ctx->len.u[1])\n        reverse(x);", ""),
        ("if (!ctx->len.u[1])\n        reverse(ctx->Xi.c);", ""),
        ("if (len && ctx", "if (ctx"),
        ("used ? 32 : 16", "used ? 16 : 32"),
        ("ctx->len.u[0] << 3", "ctx->len.u[0]"),
        ("aad, len);\n    reverse(ctx->Xi.c);", "aad, len);"),
    ],
)
def test_openssl_gets_messages_in_pieces(tmp_path: Path, right: str, wrong: str) -> None:
    need(NEEDS)
    assert driven(tmp_path, "context_driver.c", right, wrong) == (
        (1, True) if right else (0, False)
    )
