"""`vendor --host`: what a host gets, whether its own build runs its test, and what is refused."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, need, need_x86
from helpers.installed import need_programs
from helpers.verbs import called, refused

from ghashgen.check import vendoring
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import target
from ghashgen.output import vendored
from ghashgen.output.folder import write
from ghashgen.output.hosts import libgcrypt
from ghashgen.output.hosts.registry import hosts
from ghashgen.output.vectors import vectors

pytestmark = pytest.mark.usefixtures("own_cache")

NEEDS = ("aesni", "pclmulqdq", "sse2", "ssse3", "sse4_1")
CHOICE = ("--key", "128", "--isa", "sse", "--isa", "avx")
HASH = "ghash_sse_k_clmul1_x1"
COUNTERS = ("--family", "ctr", "--key", "128", "--isa")
TOOLS = {
    "make": (("make", "ar", "nasm"), "make -f ghashgen.mk test"),
    "cmake": (
        ("cmake", "ctest", "ninja", "nasm"),
        "cmake -S . -B out -G Ninja && cmake --build out && ctest --test-dir out --verbose",
    ),
    "meson": (("meson", "ninja", "nasm"), "meson setup out && meson test -C out --verbose"),
}
"""For each tool: the programs that it takes, and the command that builds and tests a folder."""


def options_in(folder: Path) -> tuple[str, ...]:
    record = vendored.read(folder)
    assert record is not None
    return record.options


@pytest.fixture(scope="module")
def for_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_x86()
    folder = tmp_path_factory.mktemp("third_party") / "ghashgen"
    called("vendor", "--host", "c", *CHOICE, "--into", folder)
    return folder


def made_and_run(folder: Path, there: Path, tool: str) -> subprocess.CompletedProcess[str]:
    """Build and test a copy of a folder by a tool's own command."""
    programs, command = TOOLS[tool]
    need_programs(*programs)
    shutil.copytree(folder, there)
    return subprocess.run(
        command, shell=True, cwd=there, check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("tool", TOOLS)
def test_the_test_of_c_is_run(for_c: Path, tmp_path: Path, tool: str) -> None:
    found = made_and_run(for_c, tmp_path / "copy", tool)
    assert found.returncode == 0, found.stdout + found.stderr
    # Two directions, by what the CPU gets and by portable code.
    said = f"{4 * len(vectors(16).vectors)} messages sealed, opened, and refused with a wrong tag"
    assert said in found.stdout
    assert ("gcm128_avx_winograd_clmul1_x8_short: all right" in found.stdout) == (
        not lacking(NEEDS)
    )
    assert "warning" not in (found.stdout + found.stderr).lower()


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        # Other halves of operands, other words of a shuffle.
        ("*.asm", ", 0x00", ", 0x01", "text 0 bytes, apart (gcm128_"),
        (
            "ghashgen_gcm_dispatch.c",
            "return key->kernel->open(",
            "return 0 & key->kernel->open(",
            "takes a wrong",
        ),
        ("ghashgen_test.c", "4e", "4f", "another"),
        ("ghashgen_gcm_portable.c", "0xe1 & odd", "0xe2 & odd", "another tag"),
        ("ghashgen_gcm_portable.c", "(i + 4 * (i % 4)) % 16", "i", "(portable)"),
        ("ghashgen_gcm_portable.c", "status : differs != 0", "status : 0", "takes a wrong tag"),
    ],
)
def test_the_test_of_c_notices_a_fault(
    for_c: Path, tmp_path: Path, file: str, right: str, wrong: str, said: str
) -> None:
    need(NEEDS)
    faulty = tmp_path / "faulty"
    shutil.copytree(for_c, faulty)
    for path in faulty.glob(file):
        text = path.read_text(encoding="utf-8")
        assert right in text
        path.write_text(text.replace(right, wrong), encoding="utf-8")
    found = made_and_run(faulty, tmp_path / "copy", "make")
    assert found.returncode != 0
    assert said in found.stdout


def test_the_files_of_c(for_c: Path) -> None:
    names = {path.name for path in for_c.iterdir() if path.suffix not in (".asm", ".o")}
    assert names == {
        *("CMakeLists.txt", "meson.build", "ghashgen.mk", "ghashgen.pc", "LICENSE", "VENDORED"),
        *("ghashgen.h", "ghashgen_gcm_dispatch.c", "ghashgen_gcm_dispatch.h"),
        *("ghashgen.json", "ghashgen_gcm_portable.c", "ghashgen_test.c", "ghashgen.md"),
    }
    page = (for_c / "ghashgen.md").read_text(encoding="utf-8").splitlines()
    assert [line[:2] for line in page[2:]] == ["1.", "2.", "3.", "4.", "5."]
    record = (for_c / "VENDORED").read_text(encoding="utf-8")
    assert "cc -std=c11 -O2 -c ghashgen_gcm_dispatch.c" in record
    # The test is no part of the library.
    assert "-c ghashgen_test.c" not in record
    assert options_in(for_c) == (*CHOICE[2:], *CHOICE[:2], "--host", "c")


def test_add_keeps_the_host(for_c: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    shutil.copytree(for_c, folder)
    before = {path.name for path in folder.iterdir()}
    called("vendor", "--into", folder, "--add", "--name", HASH)
    assert {path.name for path in folder.iterdir()} - before == {
        *(f"{HASH}.asm", "ghashgen_dispatch.c", "ghashgen_dispatch.h")
    }
    words = options_in(folder)
    assert words[-4:] == ("--name", HASH, "--host", "c")
    assert "'ghashgen_test.c'" in (folder / "meson.build").read_text(encoding="utf-8")


def test_a_host_is_added_to_a_plain_folder_and_made_again(tmp_path: Path) -> None:
    name = "gcm128_sse_karatsuba_shiftxor_x4"
    called("vendor", "--into", tmp_path, "--name", HASH)
    called("vendor", "--into", tmp_path, "--add", "--name", name, "--host", "c")
    assert options_in(tmp_path) == ("--name", HASH, "--name", name, "--host", "c")
    assert (tmp_path / "ghashgen_test.c").exists()
    assert (tmp_path / "ghashgen_gcm_dispatch.c").exists()
    assert "17 unchanged" in called("vendor", "--into", tmp_path).stdout


def test_add_keeps_the_dispatcher_of_recommended(tmp_path: Path) -> None:
    """Of a family with one kernel: --name alone writes none, and the CPU was never asked."""
    called("vendor", "--into", tmp_path, "--recommended", *COUNTERS, "sse")
    assert (tmp_path / "ghashgen_ctr_dispatch.c").exists()
    said = called("vendor", "--into", tmp_path, "--add", "--name", HASH).stdout
    assert "removed" not in said
    assert (tmp_path / "ghashgen_ctr_dispatch.c").exists()
    assert options_in(tmp_path)[-1] == "--dispatcher"
    # The folder's choice stays when it is made again.
    assert "14 unchanged" in called("vendor", "--into", tmp_path).stdout


def test_other_peoples_files_are_named_and_ours_left_out(tmp_path: Path) -> None:
    mine = tmp_path / "CMakeLists.txt"
    mine.write_text("# mine\n")
    (tmp_path / "meson.build").write_text("# mine\n")
    words = ("--into", tmp_path, "--name", HASH)
    said = refused("vendor", *words)
    assert f"CMakeLists.txt, meson.build in {tmp_path} exist and VENDORED does not list" in said
    assert "leave out ours with --no-build-files" in said
    called("vendor", *words, "--no-build-files")
    assert mine.read_text() == "# mine\n"
    assert not (tmp_path / "ghashgen.mk").exists()
    assert "CMakeLists.txt" not in (tmp_path / "VENDORED").read_text()
    assert "unchanged" in called("vendor", "--into", tmp_path).stdout
    assert mine.read_text() == "# mine\n"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "LICENSE").write_text("mine")
    # Another file of ours cannot be left out.
    said = refused("vendor", "--into", tmp_path / "new", "--name", HASH)
    assert "LICENSE exists" in said
    assert "--no-build-files" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "cc"), "there is no host 'cc'; "),
        (("--host", "c", "--name", HASH), "host c needs kernels of AES-GCM that export open and"),
        (("--host", "c", "--use", "once"), "the dispatcher does not know use once"),
        (
            ("--host", "c", "--use", "pieces", "--key", "192"),
            "no kernel that you chose for key 192",
        ),
        (("--host", "c", "--family", "ctr"), "host c needs kernels of AES-GCM"),
    ],
)
def test_a_wrong_call_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refused("vendor", "--into", tmp_path / "new", *words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [("nosuch", "there is no host 'nosuch'; "), ("plain", "host plain has no trial; ")],
)
def test_only_hosts_with_a_trial_are_named_for_a_trial(name: str, said: str) -> None:
    told = refused("vendor", "--try", name)
    assert said in told
    tried = {name for name, host in hosts().items() if host.trial}
    assert {*told.partition("choose one of ")[2].strip().split(", ")} == tried


def test_nettle_takes_messages_in_pieces_under_its_own_prefix(tmp_path: Path) -> None:
    into = tmp_path / "nettle" / "ghashgen"
    words = ("--host", "nettle", "--key", "128", "--isa", "avx", "--into", into)
    said = json.loads(called("vendor", *words, "--dry-run", "--json").stdout)
    (name,) = said["to_prove"]
    assert name == "gcm128_avx_winograd_clmul1_x8_streams"
    assert {*said["files"]} == {
        *(f"_nettle_{name}.asm", "_nettle_ghashgen.h", "_nettle_ghashgen.mk", "LICENSE"),
        *("_nettle_ghashgen_gcm_dispatch.c", "_nettle_ghashgen_gcm_dispatch.h"),
        *("gcm-aes-ghashgen.c", "nettle-test.c", "nettle.mk", "ghashgen.md"),
        "_nettle_ghashgen.json",
    }
    assert not into.exists()


def unproved(name: str, folder: Path) -> Path:
    """Write a host's files. Its kernels are in another syntax than those on record, and are not
    proved for a test of the host.
    """
    need_x86()
    host = hosts()[name]
    names = ("gcm128_sse_winograd_clmul1_x8", "gcm128_avx_winograd_clmul1_x8")
    assert host.wanted is not None
    found: Any = look_up(Choice(name=names)).kernels
    kernels = tuple(replace(kernel, **host.wanted.instead) for kernel in found)
    order = vendoring.Order(kernels, (target(syntax=host.syntax),), host, ())
    write(folder, vendoring.prepare(order, folder, False).files, (), "--into")
    return folder


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unproved("go", tmp_path_factory.mktemp("go"))


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", "--- PASS: TestAgreesWithCryptoCipher"),
        ("status != 0", "status < 0", "a forgery is taken"),
        ("&out[0] != &in[0]", "false", "overlap is taken"),
    ],
)
def test_the_package_agrees_with_crypto_cipher(
    module: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    need_programs("go")
    need((*NEEDS, "avx"))
    there = tmp_path / "ghashgen"
    shutil.copytree(module, there)
    path = there / "ghashgen.go"
    path.write_text(path.read_text().replace(right or "\n", wrong or "\n"))
    words = ["go", "test", "-count=1", "-v", "."]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    if "requires go" in found.stderr or "cgo" in found.stderr:
        pytest.skip("this Go is too old or has no cgo: the package is not built")
    assert said in found.stdout, found.stderr
    assert (found.returncode == 0) == (not right)


@pytest.fixture(scope="module")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unproved("rust", tmp_path_factory.mktemp("rust"))


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", "test aes128 ... ok"),
        ("if status == 0 { Ok(()) } else", "if status >= 0 { Ok(()) } else", "is_err()"),
        ("} != 1 {", "} != 2 {", "no kernel serves this CPU"),
        (
            "Ok(()) } else { Err(Error) }",
            "Ok(()) } else { buffer.fill(0); Err(Error) }",
            "after a wrong tag",
        ),
    ],
)
def test_the_crate_agrees_with_aes_gcm(
    crate: Path, tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    # A rustup without a toolchain is found, and does not run.
    if (
        shutil.which("cargo") is None
        or subprocess.run(["cargo", "--version"], check=False).returncode
    ):
        pytest.skip("no cargo that runs: the crate is not built")
    need((*NEEDS, "avx"))
    there = tmp_path / "crate"
    shutil.copytree(crate, there, ignore=shutil.ignore_patterns("target"))
    library = there / "src" / "lib.rs"
    library.write_text(library.read_text().replace(right or " ", wrong or " "))
    # One folder for all cases: the other crates are compiled once.
    words = ["cargo", "test", "--offline", "--target-dir", str(crate / "target")]
    found = subprocess.run(words, cwd=there, check=False, capture_output=True, text=True)
    if "--offline" in found.stderr and found.returncode == 101:
        pytest.skip("cargo has not fetched aead, aes-gcm and cc: the crate is not built")
    output = found.stdout + found.stderr
    assert said in output
    assert (found.returncode == 0) == (not right), output
    assert "warning" not in found.stderr


def test_mbed_tls_keeps_its_own_code_for_other_ciphers(tmp_path: Path) -> None:
    into = tmp_path / "mbedtls" / "ghashgen"
    name = "gcm128_avx_winograd_clmul1_x8_streams"
    called("vendor", "--host", "mbedtls", "--name", name, "--into", into)
    assert {path.name for path in into.iterdir()} == {
        *("mbedtls-gcm.c", "mbedtls.mk", "ghashgen.mk", "ghashgen.md", "LICENSE", "VENDORED"),
        "ghashgen.json",
        *(f"{name}.asm", "ghashgen.h", "ghashgen_gcm_dispatch.c", "ghashgen_gcm_dispatch.h"),
    }
    glue = (into / "mbedtls-gcm.c").read_text(encoding="utf-8")
    functions = re.findall(r"\n(?:int|void) mbedtls_gcm_(\w+)\(", glue)
    assert {*functions} == {*re.findall(r"#define mbedtls_gcm_\w+ own_(\w+)", glue)}
    # Each hands a context over that is not ours.
    assert all(f"own_{each}(ctx" in glue for each in functions)


def test_boringssl_takes_files_in_the_place_of_its_own(tmp_path: Path) -> None:
    said = called(
        "vendor", "--host", "boringssl", "--isa", "avx512", "--into", tmp_path / "x", "--dry-run"
    )
    files = {line.split("\t")[0] for line in said.stdout.splitlines() if line.endswith("\tnew")}
    assert files == {
        *("aes-gcm-avx512-x86_64-linux.S", "ghashgen.h", "ghashgen.json", "ghashgen.md", "LICENSE")
    }
    said_no = refused("vendor", "--host", "boringssl", "--name", HASH, "--into", tmp_path / "x")
    assert "host boringssl needs kernels of AES-GCM in a host's layout" in said_no


def test_libgcrypt_asks_for_what_its_kernels_need(tmp_path: Path) -> None:
    host, into = hosts()["libgcrypt"], tmp_path / "libgcrypt" / "ghashgen"
    assert host.wanted is not None
    order = vendoring.Order(host.wanted.made(), (target(syntax=host.syntax),), host, ())
    prepared = vendoring.prepare(order, into, False)
    names = {"aes": "aesni", "pclmul": "pclmulqdq"}
    for artefact in prepared.artefacts:
        isa = artefact.kernel.instruction_set.name
        asked = {names.get(name, name) for name in libgcrypt.ASKED[isa]}
        assert asked >= {*artefact.audit.features} - {"avx", "avx512f"}
        assert f"gcm-ghashgen-{isa}.lo" in prepared.files["libgcrypt.mk"]
    glue = prepared.files["libgcrypt-gcm.c"]
    # The widest set that a CPU has is taken.
    places = [glue.index(f"init = _gcry_ghashgen_init_{isa};") for isa in ("avx512", "avx2", "avx")]
    assert places == sorted(places)
    said = called(
        "vendor", "--host", "libgcrypt", "--isa", "avx", "--into", into, "--dry-run"
    ).stdout
    assert "gcm-ghashgen-avx.S\tnew" in said
    assert "avx2" not in said


def test_rust_hash_adds_kernels_for_short_input(tmp_path: Path) -> None:
    words = ("vendor", "--host", "rust-hash", "--isa", "sse", "--op", "polyval", "--dry-run")
    kernels = called(*words, "--into", tmp_path / "crate").stdout.split("kernels/")[1:]
    names = [kernel.partition(".S")[0] for kernel in kernels if ".S\t" in kernel]
    assert sorted(names) == ["polyval_sse_k_clmul1_x1_segments", "polyval_sse_winograd_clmul1_x8"]


def test_bearssl_takes_ghash_alone(tmp_path: Path) -> None:
    into = tmp_path / "bearssl" / "ghashgen"
    called("vendor", "--host", "bearssl", "--name", HASH, "--into", into)
    assert {path.name for path in into.iterdir()} == {
        *("bearssl-ghash.c", "bearssl.mk", "ghashgen.mk", "ghashgen.md", "LICENSE", "VENDORED"),
        "ghashgen.json",
        *(f"{HASH}.asm", "ghashgen.h", "ghashgen_dispatch.c", "ghashgen_dispatch.h"),
    }
    said = refused(
        "vendor", "--host", "bearssl", "--name", "gcm128_avx_winograd_clmul1_x8", "--into", into
    )
    assert "host bearssl needs kernels of GHASH" in said
