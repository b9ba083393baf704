"""`vendor --host linux`: the assembly as `gcc -c` makes it, and both files on Linux's key."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, need, need_x86
from helpers.installed import need_programs
from helpers.verbs import called

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.bitorder import block_from_element, element_from_block
from ghashgen.algebra.field.gf128 import X_INVERSE, mul
from ghashgen.arch.elf import GLOBAL, read_elf
from ghashgen.arch.objects import read_object
from ghashgen.check import vendoring
from ghashgen.check.validation import pyca
from ghashgen.kernels.target import target
from ghashgen.output.folder import write
from ghashgen.output.hosts.linux import ASSEMBLY, GLUE, TRIAL
from ghashgen.output.hosts.registry import hosts

NEEDS = ("avx512bw", "avx512dq", "avx512vl", "vaes", "vpclmulqdq")
KEY_AT, TABLE_AT, KEY_BYTES = 480, 512, 832


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """Return the folder, which is not proved for this test, and the code of its kernel."""
    need_x86()
    need_programs("cc")
    host, folder = hosts()["linux"], tmp_path_factory.mktemp("linux")
    assert host.wanted is not None
    order = vendoring.Order(host.wanted.made(), (target(syntax=host.syntax),), host, ())
    prepared = vendoring.prepare(order, folder, False)
    write(folder, prepared.files, (), "--into")
    return folder, prepared.artefacts[0].code


def test_the_assembly_in_linuxs_style_is_the_same_code(made: tuple[Path, bytes]) -> None:
    folder, code = made
    text = (folder / ASSEMBLY).read_text(encoding="utf-8")
    subprocess.run(["cc", "-c", ASSEMBLY, "-o", "kernel.o"], cwd=folder, check=True)
    found = read_object((folder / "kernel.o").read_bytes())
    assert found.code == code
    assert len(found.functions) == 5
    for name in found.functions:
        begin = f"SYM_START({name}, SYM_L_GLOBAL, SYM_A_NONE)"
        assert text.count(begin) == text.count(f"SYM_FUNC_END({name})") == 1
    # Where a trial puts its counters.
    entries = re.findall(f"(?m)^{TRIAL.entry.format('|'.join(found.functions))}$", text)
    assert {*entries} == {*found.functions}
    assert "    ret" not in text
    assert text.count("    RET") == 6


def built(folder: Path) -> ctypes.CDLL:
    words = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", ASSEMBLY, GLUE]
    subprocess.run([*words, "-o", "both.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "both.so"))


@pytest.mark.parametrize(("version", "name"), [("6,12,0", "avx10_512"), ("6,19,0", "avx512")])
def test_the_c_file_has_the_names_of_the_kernel(
    made: tuple[Path, bytes], tmp_path: Path, version: str, name: str
) -> None:
    """What it takes of the kernel's headers is here by the C library's."""
    (tmp_path / "linux").mkdir()
    numbers = "#define KERNEL_VERSION(a, b, c) ((a) * 65536 + (b) * 256 + (c))\n"
    for header, text in (
        ("string", "#include <string.h>\n"),
        ("types", "#include <stdbool.h>\n#include <stdint.h>\n#include <stddef.h>\n"),
        ("version", f"{numbers}#define LINUX_VERSION_CODE KERNEL_VERSION({version})\n"),
    ):
        (tmp_path / "linux" / f"{header}.h").write_text(text, encoding="utf-8")
    out = tmp_path / "glue.o"
    words = ["cc", "-D__KERNEL__", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    subprocess.run([*words, "-c", made[0] / GLUE, "-o", out], check=True)
    symbols = read_elf(out.read_bytes()).symbols
    defined = {each.name for each in symbols if each.binding == GLOBAL and each.section}
    updates = {f"aes_gcm_{way}_update_vaes_{name}" for way in ("enc", "dec")}
    assert updates < defined
    ways = "precompute", "enc_update", "dec_update"
    shorter = {f"aes_gcm_{way}_vaes_avx10_256" for way in ways}
    assert defined & shorter == (shorter if name == "avx10_512" else set())
    assert len(defined) == (9 if name == "avx10_512" else 6)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("size", [16, 24, 32])
def test_both_files_on_linuxs_key_are_aes_gcm(made: tuple[Path, bytes], size: int) -> None:
    need(NEEDS)
    both, key, iv = built(made[0]), bytes(range(7, 7 + size)), b"twelve bytes"
    schedule = b"".join(aes.key_expansion(key)).ljust(KEY_AT, b"\xa5")
    own = ctypes.create_string_buffer(schedule + size.to_bytes(4, "little"), KEY_BYTES)
    both.aes_gcm_precompute_vaes_avx512(own)
    # What Linux's portable set-up writes: H^16/x to H/x, each with its bytes reversed.
    h = element_from_block(pyca.encrypt_block(key, bytes(16)))
    power, table = mul(h, X_INVERSE), b""
    for _ in range(16):
        table, power = block_from_element(power)[::-1] + table, mul(power, h)
    assert own.raw[TABLE_AT:] == table.ljust(KEY_BYTES - TABLE_AT, b"\0")

    counter = (iv + (2).to_bytes(4, "big"))[::-1]
    for length in (*range(70), 255, 256, 257, 511, 1000):
        text, aad = bytes(range(256)) * 4, bytes(range(length % 37))
        text, acc = text[:length], ctypes.create_string_buffer(16)
        out, back = (ctypes.create_string_buffer(length + 1) for _ in range(2))
        both.aes_gcm_aad_update_vaes_avx512(own, acc, aad, len(aad))
        hashed = ctypes.create_string_buffer(acc.raw, 16)
        both.aes_gcm_enc_update_vaes_avx512(own, counter, acc, text, out, length)
        lengths = ctypes.c_uint64(len(aad)), ctypes.c_uint64(length)
        both.aes_gcm_enc_final_vaes_avx512(own, counter, acc, *lengths)
        assert out.raw[:length] + acc.raw == pyca.gcm(key, iv, text, aad)
        both.aes_gcm_dec_update_vaes_avx512(own, counter, hashed, out, back, length)
        assert back.raw[:length] == text
        right = both.aes_gcm_dec_final_vaes_avx512
        right.restype = ctypes.c_bool
        assert right(own, counter, hashed, *lengths, acc.raw, 16)
        assert not right(own, counter, hashed, *lengths, acc.raw[:15] + b"?", 16)
        assert right(own, counter, hashed, *lengths, acc.raw[:15] + b"?", 12)


def test_two_files_are_for_linux(tmp_path: Path) -> None:
    said = called("vendor", "--host", "linux", "--into", tmp_path / "ghashgen", "--dry-run").stdout
    files = {line.split("\t")[0] for line in said.splitlines() if line.endswith("\tnew")}
    assert files == {*(ASSEMBLY, GLUE), *("ghashgen.h", "ghashgen.json", "ghashgen.md", "LICENSE")}
