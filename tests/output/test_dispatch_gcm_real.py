"""What the dispatcher of AES-GCM calls does AES-GCM, on every CPU that this one can play."""

import random
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.cpus import AS_FOUND, features, masked
from helpers.dispatching import FLAGS
from helpers.dispatching_gcm import DRIVER, SSE4, USES, Program, build
from helpers.installed import installed
from helpers.windows import CC, WINES

from ghashgen.algebra.field.counter import gctr
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels import manifest
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.target import target
from ghashgen.output.dispatcher import names_of
from ghashgen.output.generate import generate
from ghashgen.support.toolchain import assemble, assemble_text

KERNELS = (
    GcmKernel(128, "sse", "winograd", "clmul1", 2),
    GcmKernel(128, "avx", "winograd", "clmul1", 3),
    GcmKernel(128, "avx2", "winograd", "clmul1", 4),
    GcmKernel(128, "avx512", "winograd", "clmul1", 4),
    GcmKernel(256, "avx", "winograd", "clmul1", 2),
    GcmKernel(192, "sse", "k", "clmul1", 2, messages=False),
    GcmKernel(192, "avx", "k", "clmul1", 2, messages=False, streams=True),
)
SEALING = tuple(i for i, use in enumerate(USES) if "seal" in use.exports)
LONGEST = 300


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Program, tuple[Entry, ...]]:
    folder = tmp_path_factory.mktemp("real")
    generate(KERNELS, target(), folder)
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(folder / f"{source.stem}.o")
        assemble(find_nasm(), source, objects[-1])
    files = {name: (folder / name).read_text() for name in names_of("gcm")}
    return build(files, folder / "linked", objects), tuple(manifest.load(folder).values())


def sealed(key: bytes, iv: bytes, aad: bytes, text: bytes) -> str:
    whole = AESGCM(key).encrypt(iv, text, aad)
    return f"{whole[:-16].hex()} {whole[-16:].hex()}"


def check_messages(program: Program, use: int, bits: int, **variables: str) -> bool:
    """Seal and open every length; whether the CPU could."""
    data = random.Random(bits).randbytes(bits // 8 + 32 + LONGEST)
    answer = program.run("messages", use, bits // 8, LONGEST, data=data, **variables)
    if answer.returncode == 4:
        return False
    assert answer.returncode == 0, (use, bits, variables, answer.returncode)
    key, rest = data[: bits // 8], data[bits // 8 :]
    lines = answer.stdout.decode().splitlines()
    assert len(lines) == LONGEST + 1
    for length, line in enumerate(lines):
        assert line.rstrip() == sealed(key, rest[:12], rest[12:32], rest[32 : 32 + length]), length
    return True


@pytest.mark.cpu
def test_messages_are_sealed_and_opened_on_every_cpu(
    real: tuple[Program, tuple[Entry, ...]],
) -> None:
    """As this CPU, and as lesser ones by the mask: the kernel fits what is left."""
    program, entries = real
    off = {FEATURES_OFF: masked()}
    have = features()
    assert set(program.ask("features", **off)[0].split()) == have
    needs = {item.name: set(item.cpu_features) for item in entries}
    for bits in (128, 256):
        (name,) = program.ask("best", 0, bits // 8, **off)
        able = {n for n in needs if f"gcm{bits}_" in n and needs[n] <= have}
        assert (name in able) if able else name == "-"
        assert check_messages(program, 0, bits, **off) is bool(able)


@pytest.mark.cpu(AS_FOUND)
def test_every_row_that_this_cpu_can_play(real: tuple[Program, tuple[Entry, ...]]) -> None:
    program, entries = real
    bits, have = program.bits(), features()
    played = 0
    for item in entries:
        if "seal" in item.symbols and set(item.cpu_features) <= have:
            plant = f"0:{sum(bits[name] for name in item.cpu_features):x}"
            key = int(item.axes["key"])
            assert program.ask("best", 0, key // 8, PLANT=plant) == [item.name]
            played += check_messages(program, SEALING[played % len(SEALING)], key, PLANT=plant)
    assert played == sum("seal" in i.symbols and set(i.cpu_features) <= have for i in entries)


@pytest.mark.cpu(AS_FOUND)
def test_parts_go_on_from_counter_and_state(real: tuple[Program, tuple[Entry, ...]]) -> None:
    program, entries = real
    (own,) = (item for item in entries if item.isa == "sse" and item.axes["key"] == 192)
    if not set(own.cpu_features) <= features():
        pytest.skip(f"this CPU has not {', '.join(sorted(set(own.cpu_features) - features()))}")
    data = random.Random(1).randbytes(24 + 32 + 100)
    key, counter, x, text = data[:24], data[24:40], data[40:56], data[56:]
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    def cipher(block: bytes) -> bytes:
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)

    (line,) = program.ask("parts", 0, 24, len(text), data=data)
    out = gctr(cipher, counter, text)
    after = counter[:12] + (int.from_bytes(counter[12:]) + 7).to_bytes(5)[1:]
    state = ghash_padded(cipher(bytes(16)), x, out)
    assert line.split() == [out.hex(), after.hex(), state.hex()]


@pytest.mark.cpu(AS_FOUND)
def test_a_message_comes_in_pieces(real: tuple[Program, tuple[Entry, ...]]) -> None:
    """Sealed and opened through a key for pieces; the last line of the driver is the tag's."""
    program, entries = real
    (own,) = (item for item in entries if "start" in item.symbols)
    if not set(own.cpu_features) <= features():
        pytest.skip(f"this CPU has not {', '.join(sorted(set(own.cpu_features) - features()))}")
    data = random.Random(2).randbytes(24 + 32 + LONGEST)
    key, iv, aad, text = data[:24], data[24:36], data[36:56], data[56:]
    for piece in (1, 7, 16, 33, 299, 300):
        (line,) = program.ask("pieces", piece, 24, LONGEST, data=data)
        assert line.rstrip() == sealed(key, iv, aad, text), piece


@pytest.mark.cpu(AS_FOUND)
def test_it_is_compiled_for_windows_and_run_where_wine_is(tmp_path: Path) -> None:
    cc = installed(CC)
    folder = tmp_path / "windows"
    generate((KERNELS[0], KERNELS[5]), target("win64"), folder)
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(folder / f"{source.stem}.obj")
        text = source.read_text(encoding="utf-8")
        objects[-1].write_bytes(assemble_text(find_nasm(), source.stem, text, "win64"))
    flags = [*FLAGS, "-O2", "-Wshadow", "-Wconversion", f"-I{folder}"]
    source = folder / "ghashgen_gcm_dispatch.c"
    subprocess.run([cc, *flags, "-c", source, "-o", folder / "alone.obj"], check=True, timeout=120)
    exe = folder / "driver.exe"
    plain = [flag for flag in flags if flag not in ("-Wconversion", "-Wshadow")]
    subprocess.run(
        [cc, *plain, "-D__USE_MINGW_ANSI_STDIO=1", DRIVER, *objects, "-o", exe],
        check=True,
        timeout=120,
    )
    wine = installed(*WINES)
    windows = Program(exe, wine)
    # On Windows standard input is text unless the program says otherwise: no 0x1A, no CR LF.
    data = bytes(random.Random(3).randrange(32, 127) for _ in range(16 + 32 + 200))
    home = {"HOME": str(tmp_path)}
    answer = windows.run("messages", 0, 16, 200, data=data, **home)
    if not {*SSE4, "aesni"} <= features():
        assert answer.returncode == 4
        return
    assert answer.returncode == 0, answer
    for length, line in enumerate(answer.stdout.decode().splitlines()):
        assert line.rstrip() == sealed(data[:16], data[16:28], data[28:48], data[48 : 48 + length])
