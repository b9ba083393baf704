"""The dispatcher of AES-GCM takes, on every CPU, a kernel that fits, and it does AES-GCM."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from cpus import AS_FOUND, features, masked
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from dispatching import (
    AVX,
    AVX2,
    AVX512,
    CASCADE_LAKE,
    FLAGS,
    PIECES,
    SSE,
    ZEN5,
    entry,
    gcm_entry,
    record,
    symbols_of,
)

from ghashgen.algebra.field.gcm import gctr
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.choice.candidate import candidates
from ghashgen.choice.choice import Chooser
from ghashgen.choice.families.gcm import QUESTION
from ghashgen.kernels import manifest
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.manifest import Entry
from ghashgen.kernels.target import target
from ghashgen.output.dispatcher import ABSENT, names_of, render_all, render_dispatch
from ghashgen.output.generate import generate
from ghashgen.records.core import IMIX_BYTES, PIECES_BYTES
from ghashgen.records.core import PIECES as MODES_OF_PIECES
from ghashgen.records.records import Record
from ghashgen.support.toolchain import assemble, assemble_text, compile_c, find_cc, link

DRIVER = Path(__file__).with_name("dispatch_gcm_driver.c")
USES = QUESTION.dispatched
KEYS = (128, 192, 256)
SSE4 = (*SSE, "sse4_1")
SETS: Mapping[str, tuple[str, ...]] = {
    "sse": SSE4,
    "avx": AVX,
    "avx2": (*AVX2, "vaes"),
    "avx512": (*AVX512, "bmi2", "vaes"),
}
SYNTHETIC = (
    *(gcm_entry(isa, needs, key) for isa, needs in SETS.items() for key in (128, 256)),
    gcm_entry("avx512", SETS["avx512"], blocks=32),
    gcm_entry("avx", AVX, wipe=True),
    *(gcm_entry(isa, SETS[isa], 192, messages=False) for isa in ("sse", "avx")),
    *(gcm_entry(isa, SETS[isa], 128, streams=True) for isa in ("avx", "avx512")),
)
MATTER = tuple(sorted({"aesni", *itertools.chain(*SETS.values())}))
SIZES = (16, 32, 64, 128, 256, 512, 1024, 1500, 4096, 16384, 65536, 1 << 20)
ALL = tuple(sorted({*FEATURES}))


def planted(cpu: str) -> Record:
    """Kernels of x32 are the fastest with long messages, of avx with packets."""
    cells = {}
    for item in SYNTHETIC:
        call = {"avx": 20.0}.get(item.isa, 100.0)
        byte = 0.1 if item.axes["blocks"] == 32 else 0.2
        for size in SIZES:
            for mode in ("seal", "open", "text"):
                cells[item.name, mode, size] = call + byte * size
        if item.axes["streams"]:
            cells |= {(item.name, mode, PIECES_BYTES): call for mode in MODES_OF_PIECES}
        cells[item.name, "imix", IMIX_BYTES] = 12 * call + byte * IMIX_BYTES
    return record(cpu, ALL, cells, keys={item.name: int(item.axes["key"]) for item in SYNTHETIC})


RECORDS = (planted(ZEN5), planted(CASCADE_LAKE))


@dataclass(frozen=True)
class Program:
    """The driver linked with the dispatcher."""

    path: Path
    wine: str = ""

    def run(
        self, *question: object, data: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if "GHASHGEN_" not in name}
        return subprocess.run(
            [*([self.wine] if self.wine else []), self.path, *map(str, question)],
            input=data,
            env={**kept, **variables},
            capture_output=True,
            check=False,
            timeout=300,
        )

    def ask(self, *question: object, data: bytes = b"", **variables: str) -> list[str]:
        answer = self.run(*question, data=data, **variables)
        assert answer.returncode == 0, (question, answer)
        return answer.stdout.decode().splitlines()

    def bits(self) -> dict[str, int]:
        return {name: int(bit, 16) for name, bit in (line.split() for line in self.ask("bits"))}

    def found(self, cpus: Sequence[tuple[int, frozenset[str]]]) -> list[dict[tuple[int, str], str]]:
        """The kernel of each CPU by size of key and use, "" for none."""
        bits = self.bits()
        lines = [f"{host:x} {sum(bits[f] for f in have):x}" for host, have in cpus]
        keys = [(key, use.name) for key in KEYS for use in USES]
        return [
            dict(zip(keys, (n.strip("-") for n in line.split()), strict=True))
            for line in self.ask("found", data="\n".join(lines).encode())
        ]


def build(
    files: Mapping[str, str],
    folder: Path,
    objects: Sequence[Path] = (),
    stubs: Iterable[str] = (),
    flags: Sequence[str] = (),
) -> Program:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    lines = [f"void {symbol}(void);\nvoid {symbol}(void) {{}}\n" for symbol in stubs]
    (folder / "stubs.c").write_text("".join(lines) or "typedef int nothing;\n")
    cc = find_cc()
    compile_c(cc, folder / "ghashgen_gcm_dispatch.c", folder / "alone.o", flags=[*FLAGS, *flags])
    compile_c(cc, DRIVER, folder / "driver.o", flags=[*FLAGS, *flags], include=(folder,))
    compile_c(cc, folder / "stubs.c", folder / "stubs.o", flags=FLAGS)
    link(cc, [folder / "driver.o", folder / "stubs.o", *objects], folder / "driver")
    return Program(folder / "driver")


def stubbed(
    entries: Sequence[Entry], folder: Path, records: Sequence[Record] = (), **changes: str
) -> Program:
    files = render_dispatch(entries, records=records, family="gcm")
    for right, wrong in changes.items():
        assert files["ghashgen_gcm_dispatch.c"].count(right) == 1
        files["ghashgen_gcm_dispatch.c"] = files["ghashgen_gcm_dispatch.c"].replace(right, wrong)
    return build(files, folder, stubs=symbols_of(entries))


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return stubbed(SYNTHETIC, tmp_path_factory.mktemp("gcm") / "synthetic", RECORDS)


def cpus(count: int, hosts: int = 5) -> list[tuple[int, frozenset[str]]]:
    rng = random.Random(7)
    rest = tuple(set(FEATURES) - set(MATTER))
    whole = [
        frozenset(FEATURES),
        frozenset[str](),
        *(frozenset((*n, "aesni")) for n in SETS.values()),
    ]
    some = [
        frozenset((*rng.sample(MATTER, rng.randrange(len(MATTER) + 1)), *rng.choice([(), rest])))
        for _ in range(count)
    ]
    return [(host, have) for have in (*whole, *some) for host in range(hosts)]


def violations(program: Program, hosts: int = 5) -> list[str]:
    """What is wrong with the answers, by what the entries state alone."""
    needs = {item.name: frozenset(item.cpu_features) for item in SYNTHETIC}
    sizes = {item.name: item.axes["key"] for item in SYNTHETIC}
    seals = {item.name for item in SYNTHETIC if "seal" in item.symbols}
    pieces = {item.name for item in SYNTHETIC if set(PIECES) <= item.symbols.keys()}
    out, asked = [], cpus(300, hosts)
    for (host, have), answer in zip(asked, program.found(asked), strict=True):
        for (key, use), name in answer.items():
            able = {n for n in needs if needs[n] <= have and sizes[n] == key}
            able &= {"parts": set(needs), "pieces": pieces}.get(use, seals)
            if bool(name) != bool(able) or (name and name not in able):
                out.append(f"{host} {sorted(have)}: {key} {use}: {name or 'none'}")
    return out


def test_every_choice_fits_the_cpu_the_key_and_the_use(synthetic: Program, tmp_path: Path) -> None:
    assert violations(synthetic) == []
    assert violations(stubbed(SYNTHETIC, tmp_path / "unmeasured"), 3) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(choices[i].needs & ~features) == 0", "((void)features, 1)"),
        ("choices[i].key_bits == key_bits", "((void)key_bits, 1)"),
        ("choices[i].use == use", "((void)use, 1)"),
    ],
)
def test_a_planted_mistake_is_noticed(tmp_path: Path, right: str, wrong: str) -> None:
    assert violations(stubbed(SYNTHETIC, tmp_path / "planted", RECORDS, **{right: wrong}))


def test_c_chooses_as_python_does(synthetic: Program) -> None:
    pool, asked = candidates(SYNTHETIC, "gcm"), cpus(60)
    answers = synthetic.found(asked)
    for key in KEYS:
        chooser = Chooser([c for c in pool if c.given == key], RECORDS)
        assert len(chooser.hosts) == 5
        for (number, have), answer in zip(asked, answers, strict=True):
            for use in USES:
                picks = chooser.picks(chooser.hosts[number], have, use)
                assert answer[key, use.name] == (picks[0].candidate.name if picks else "")


def test_uses_take_their_own_kernels(synthetic: Program) -> None:
    zen5, *_ = synthetic.found([(1, frozenset(FEATURES))])
    assert "_avx_" in zen5[128, "packets"]
    assert "_avx512_winograd_clmul1_x32" in zen5[128, "bulk"]
    assert zen5[128, "pieces"] == "gcm128_avx_winograd_clmul1_x8_streams"
    assert zen5[256, "pieces"] == ""
    assert not any("wipe" in name for name in zen5.values())


def test_no_other_size_of_key_is_taken(synthetic: Program) -> None:
    everything = f"0:{sum(synthetic.bits().values()):x}"
    for size in (0, 15, 17, 31, 33, 64, 1 << 29, (1 << 61) + 16, (1 << 64) - 1):
        assert synthetic.ask("best", 0, size, PLANT=everything) == ["-"]
    assert synthetic.ask("best", 0, 16, PLANT=everything) != ["-"]


def test_what_a_kernel_lacks_is_said(synthetic: Program) -> None:
    """The stubs do nothing, so that only a guarded call has a status."""
    everything = f"0:{sum(synthetic.bits().values()):x}"
    assert synthetic.ask("absent", len(USES) - 1, 24, PLANT=everything) == [f"{ABSENT} {ABSENT}"]
    assert synthetic.run("absent", 0, 24, PLANT=everything).returncode == 4


def test_elsewhere_there_is_no_kernel(tmp_path: Path) -> None:
    files = render_dispatch(SYNTHETIC, family="gcm")
    program = build(files, tmp_path / "elsewhere", flags=("-DELSEWHERE",))
    assert program.ask("best", 0, 16) == ["-"]


def test_both_dispatchers_are_one_program(tmp_path: Path) -> None:
    hashes = [entry("avx", AVX), entry("sse", SSE)]
    files = render_all([*hashes, *SYNTHETIC], "my_ghashgen")
    assert set(files) == {
        "my_ghashgen_dispatch.c",
        "my_ghashgen_dispatch.h",
        "my_ghashgen_gcm_dispatch.c",
        "my_ghashgen_gcm_dispatch.h",
    }
    assert names_of("gcm") == ("ghashgen_gcm_dispatch.h", "ghashgen_gcm_dispatch.c")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    both = '#include "my_ghashgen_dispatch.h"\n#include "my_ghashgen_gcm_dispatch.h"\n'
    lines = [f"void {symbol}(void) {{}}\n" for symbol in symbols_of([*hashes, *SYNTHETIC])]
    (tmp_path / "both.c").write_text(both + "int main(void) { return 0; }\n")
    (tmp_path / "stubs.c").write_text("".join(lines))
    sources = [*(name for name in files if name.endswith(".c")), "both.c", "stubs.c"]
    cc = find_cc()
    subprocess.run(
        [*cc.command, "-std=c11", *sources, "-o", "both"], cwd=tmp_path, check=True, timeout=120
    )
    cxx = shutil.which("c++")
    if cxx:
        subprocess.run(
            [cxx, "-xc++", "-std=c++11", "-Wall", "-Werror", "-c", "both.c"],
            cwd=tmp_path,
            check=True,
            timeout=120,
        )


def test_no_kernel_of_the_family_makes_no_files(tmp_path: Path) -> None:
    assert set(render_all([entry("avx", AVX)])) == set(names_of("hash"))
    assert set(render_all(SYNTHETIC)) == set(names_of("gcm"))
    assert render_dispatch([entry("avx", AVX)], family="gcm") == {}


# --- What is called


KERNELS = (
    GcmKernel(128, "sse", "winograd", "clmul1", 8),
    GcmKernel(128, "avx", "winograd", "clmul1", 6),
    GcmKernel(128, "avx2", "winograd", "clmul1", 12),
    GcmKernel(128, "avx512", "winograd", "clmul1", 16),
    GcmKernel(256, "avx", "winograd", "clmul1", 8),
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
    cc = shutil.which("x86_64-w64-mingw32-gcc")
    if cc is None:
        pytest.skip("no x86_64-w64-mingw32-gcc: apt-get install gcc-mingw-w64-x86-64")
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
    wine = next(
        (w for name in ("wine64", "wine", "/usr/lib/wine/wine64") if (w := shutil.which(name))), ""
    )
    if not wine:
        pytest.skip("compiled and not run: apt-get install wine64")
    windows = Program(exe, wine)
    # On Windows standard input is text unless the program says otherwise: no 0x1A, no CR LF.
    data = bytes(random.Random(3).randrange(32, 127) for _ in range(16 + 32 + 200))
    home = {"HOME": str(tmp_path), "WINEPREFIX": str(tmp_path / "prefix"), "WINEDEBUG": "-all"}
    answer = windows.run("messages", 0, 16, 200, data=data, **home)
    if not {*SSE4, "aesni"} <= features():
        assert answer.returncode == 4
        return
    assert answer.returncode == 0, answer
    for length, line in enumerate(answer.stdout.decode().splitlines()):
        assert line.rstrip() == sealed(data[:16], data[16:28], data[28:48], data[48 : 48 + length])
