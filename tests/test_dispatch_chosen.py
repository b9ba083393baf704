"""The dispatcher of a chosen set: right whatever kernel it takes, and it takes the right one."""

from __future__ import annotations

import platform
import random
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from cpus import AS_FOUND, features, masked
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from dispatching import undefined
from elftools.elf.elffile import ELFFile

from ghashgen import manifest
from ghashgen.artefact import sha256
from ghashgen.chosen import MEASURED, MODEL, Chosen, Pick, Set, dump, load
from ghashgen.commands.generate import COMMAND
from ghashgen.commands.options import default_out
from ghashgen.errors import GhashgenError
from ghashgen.harness import FEATURES_OFF
from ghashgen.kernel import Kernel
from ghashgen.toolchain import assemble, compile_c, find_cc, find_nasm, link

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
DRIVER = Path(__file__).with_name("chosen_driver.c")
NO_SET = 4
"""The driver's exit status where the CPU can run none of the sets."""


def picks(isa: str, *rows: tuple[int | None, int, int]) -> tuple[Pick, ...]:
    return tuple(
        Pick(up_to, Kernel(isa, "winograd", "clmul1", blocks), "0" * 64, fill_at)
        for up_to, blocks, fill_at in rows
    )


CHOSEN = Chosen(
    (
        Set("avx512", MODEL, "icelake-server", picks("avx512", (256, 4, 0), (None, 16, 0))),
        Set(
            "avx",
            MEASURED,
            "a CPU",
            picks("avx", (16, 1, 0), (64, 1, 0), (1024, 8, 1000), (4096, 1, 0), (None, 16, 9000)),
        ),
        Set("sse", MEASURED, "a CPU", picks("sse", (64, 2, 0), (None, 8, 300))),
    )
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chosen set as the command emits it."""
    place = tmp_path_factory.mktemp("chosen")
    (place / "chosen.json").write_text(dump(CHOSEN))
    arguments = ["--chosen", str(place / "chosen.json"), "--out", str(place / "out"), "--json"]
    result = CliRunner().invoke(COMMAND, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return place / "out"


@pytest.fixture(scope="module")
def program(folder: Path) -> Path:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the kernels are x86-64 code and this machine is not")
    cc, nasm = find_cc(), find_nasm()
    place = folder.parent / "objects"
    place.mkdir()
    objects = []
    for source in (DRIVER, folder / "ghashgen_chosen.c", folder / "ghashgen_dispatch.c"):
        compile_c(cc, source, place / f"{source.stem}.o", flags=FLAGS, include=(folder,))
        objects.append(place / f"{source.stem}.o")
    for source in sorted(folder.glob("*/*.asm")):
        assemble(nasm, source, place / f"{source.stem}.o")
        objects.append(place / f"{source.stem}.o")
    link(cc, objects, place / "driver")
    return place / "driver"


Message = tuple[bytes, ...]
"""The parts of one message, each given to one update."""


def ask(
    program: Path, h: bytes, messages: Sequence[Message], *how: str, off: str = ""
) -> tuple[str, list[list[str]]]:
    data = h + b"".join(
        struct.pack(f"<I{len(parts)}I", len(parts), *map(len, parts)) + b"".join(parts)
        for parts in messages
    )
    answer = subprocess.run(
        [program, *how],
        input=data,
        env={FEATURES_OFF: masked(off)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    if answer.returncode == NO_SET:
        return "", []
    assert answer.returncode == 0
    isa, *lines = answer.stdout.decode().splitlines()
    return isa, [line.split() for line in lines]


def missing(folder: Path, isa: str, off: str = "") -> set[str]:
    """What this CPU, less these features, lacks of what the set of an ISA needs."""
    entries = manifest.load(folder)
    assert entries
    own = [entry["cpu_features"] for entry in entries.values() if entry["axes"]["isa"] == isa]
    return set().union(*own) - (features() - set(off.split(",")))


def preferred(folder: Path, off: str) -> str:
    """The first set for this CPU, less these features; "" if there is none."""
    return next((s.isa for s in CHOSEN.sets if not missing(folder, s.isa, off)), "")


def need_avx(folder: Path) -> None:
    if lacks := missing(folder, "avx"):
        pytest.skip(f"this CPU has no {', '.join(sorted(lacks))}")


WIDE = "vpclmulqdq,avx512f"


OFF = {"avx512": "", "avx": WIDE, "sse": f"{WIDE},avx"}
"""Features to take away, so that the set of this ISA is the preferred one."""


def gmac(key: bytes, data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return (H, the block of lengths, GHASH of both) by pyca: the tag without E(J0)."""
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    nonce = bytes(12)
    pad = encrypt.update(nonce + b"\0\0\0\1")
    tag = AESGCM(key).encrypt(nonce, b"", data)
    lengths = struct.pack(">QQ", 8 * len(data), 0)
    return (
        encrypt.update(bytes(16)),
        lengths,
        bytes(a ^ b for a, b in zip(tag, pad, strict=True)),
    )


def split(data: bytes, rng: random.Random) -> Message:
    """Cut at multiples of 16 bytes, into up to five parts."""
    cuts = sorted(rng.randrange(0, len(data) // 16 + 1) * 16 for _ in range(rng.randrange(5)))
    edges = [0, *cuts, len(data)]
    return tuple(data[a:b] for a, b in pairwise(edges))


@pytest.mark.cpu
@pytest.mark.parametrize("isa", OFF)
@pytest.mark.parametrize("how", ["", "prepare", "shared"])
def test_right_against_pyca(program: Path, folder: Path, isa: str, how: str) -> None:
    """By the set of this ISA where the CPU has one for it, else by the next or by none."""
    rng = random.Random(f"{isa} {how}")
    key = rng.randbytes(16)
    lengths = [*range(70), 255, 256, 257, 1008, 1024, 1025, 4095, 4096, 4097, 16384, 70001]
    lengths += [rng.randrange(20_000) for _ in range(20)]
    rng.shuffle(lengths)
    messages, wanted = [], []
    for length in lengths:
        data = rng.randbytes(length)
        h, ending, result = gmac(key, data)
        messages.append((*split(data, rng), ending))
        wanted.append(result.hex())
    found, answers = ask(program, h, messages, *([how] if how else []), off=OFF[isa])
    assert found == preferred(folder, OFF[isa])
    assert [answer[-1] for answer in answers] == (wanted if found else [])


def blocks(names: Sequence[str]) -> list[int]:
    return [int(name.rpartition("_x")[2]) for name in names]


@pytest.mark.cpu(AS_FOUND)
def test_tables_are_filled_when_they_pay(program: Path, folder: Path) -> None:
    need_avx(folder)
    off, h = WIDE, bytes(range(16))

    def kernels(*lengths: int, how: str = "") -> list[int]:
        messages = [(bytes(length),) for length in lengths]
        found, answers = ask(program, h, messages, *([how] if how else []), off=off)
        assert found == "avx"
        return blocks([answer[0] for answer in answers])

    # 1000 bytes of messages of 65 to 1024 pay for the table of x8.
    assert kernels(0, 16, 64, 999, 16, 1, 1024, 16) == [1, 1, 1, 1, 1, 1, 8, 1]
    assert kernels(500, 499, 500) == [1, 1, 8]
    # One long message pays at once; until then the next shorter class with a table serves.
    assert kernels(9000, 5000) == [16, 16]
    assert kernels(8999, 1000, 8999) == [1, 8, 16]
    # A class that names the kernel of the shortest one has its table from the start.
    assert kernels(4096, 4097) == [1, 1]
    assert kernels(17, 65, 1025, 4097, how="prepare") == [1, 8, 1, 16]
    assert kernels(17, 1024, 1025, 100_000, how="shared") == [1, 1, 1, 1]


@pytest.mark.cpu(AS_FOUND)
def test_nothing_fits_a_cpu_without_features(program: Path) -> None:
    assert subprocess.run([program, "none"], check=False).returncode == 0


@pytest.mark.cpu(AS_FOUND)
def test_a_planted_fault_is_noticed(program: Path, folder: Path) -> None:
    """A slot that is taken for filled when it is not gives a wrong result."""
    need_avx(folder)
    text = (folder / "ghashgen_chosen.c").read_text()
    right = "while (!ctx->filled[class_->slot])"
    assert text.count(right) == 1
    place = folder.parent / "planted"
    place.mkdir(exist_ok=True)
    (place / "ghashgen_chosen.c").write_text(text.replace(right, "while (0)"))
    obj = place / "ghashgen_chosen.o"
    compile_c(find_cc(), place / "ghashgen_chosen.c", obj, flags=FLAGS, include=(folder,))
    others = [o for o in program.parent.glob("*.o") if o.name != obj.name]
    link(find_cc(), [obj, *others], place / "driver")
    data = bytes(range(256)) * 2
    h, ending, result = gmac(bytes(16), data)
    messages = [(data, ending)]
    assert ask(program, h, messages, off=WIDE)[1][0][-1] == result.hex()
    assert ask(place / "driver", h, messages, off=WIDE)[1][0][-1] != result.hex()


def test_no_state_and_no_warning_elsewhere(program: Path, folder: Path, tmp_path: Path) -> None:
    with (program.parent / "ghashgen_chosen.o").open("rb") as stream:
        sizes = {section.name: section["sh_size"] for section in ELFFile(stream).iter_sections()}
    assert {name: sizes.get(name, 0) for name in (".data", ".bss")} == {".data": 0, ".bss": 0}
    source = folder / "ghashgen_chosen.c"
    strict = (*FLAGS, "-O2", "-Wshadow", "-Wconversion")
    compile_c(find_cc(), source, tmp_path / "x.o", flags=strict, include=(folder,))
    for name, lines in {
        "windows": "#define _WIN32 1\n",
        "elsewhere": "#undef __x86_64__\n",
    }.items():
        # After the system's headers, which need to know where they are.
        text = f'#include <stdint.h>\n#include <string.h>\n{lines}#include "ghashgen_chosen.c"\n'
        (tmp_path / f"{name}.c").write_text(text)
        obj = tmp_path / f"{name}.o"
        compile_c(find_cc(), tmp_path / f"{name}.c", obj, flags=FLAGS, include=(folder,))
        symbols = undefined(obj)
        assert "ghashgen_cpu_features" in symbols
        assert not [symbol for symbol in symbols if symbol.startswith("ghash_")]
    alone = tmp_path / "alone.c"
    alone.write_text('#include "ghashgen_chosen.h"\nstruct ghashgen_chosen a;\n')
    for language in (("-x", "c"), ("-x", "c++", "-std=c++11")):
        compile_c(
            find_cc(),
            alone,
            tmp_path / "alone.o",
            flags=("-Wall", "-Wextra", "-Werror", *language),
            include=(folder,),
        )


def test_only_the_chosen_kernels_and_the_same_bytes_again(folder: Path, tmp_path: Path) -> None:
    named = {f"{k.isa}/{k.name}.asm" for k in CHOSEN.kernels}
    assert {str(p.relative_to(folder)) for p in folder.glob("*/*.asm")} == named
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    CliRunner().invoke(COMMAND, ["--chosen", str(path), "--out", str(tmp_path / "again")])
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        again = tmp_path / "again" / file.relative_to(folder)
        assert again.read_bytes() == file.read_bytes()
    # Another set replaces the first; none takes its dispatcher away.
    path.write_text(dump(replace(CHOSEN, sets=CHOSEN.sets[2:])))
    run = [str(path), "--out", str(tmp_path / "again")]
    assert CliRunner().invoke(COMMAND, ["--chosen", *run]).exit_code == 0
    assert {p.parent.name for p in (tmp_path / "again").glob("*/*.asm")} == {"sse"}
    plain = ["--isa", "sse", "--multiply", "k", "--reduce", "clmul1", "--blocks", "2", "--out"]
    assert CliRunner().invoke(COMMAND, [*plain, run[-1]], catch_exceptions=False).exit_code == 0
    assert not (tmp_path / "again" / "ghashgen_chosen.c").exists()


def test_code_that_changed_since_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(replace(CHOSEN, sets=CHOSEN.sets[2:])))
    arguments = ["--chosen", str(path), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(COMMAND, arguments, catch_exceptions=False)
    assert "its code is not what was chosen" in result.output


def test_the_file_gives_back_what_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    assert load(path) == CHOSEN
    assert sha256(dump(load(path)).encode()) == sha256(path.read_bytes())


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ('"schema": 1', '"schema": 9', "schema 9, this version reads 1"),
        ('"basis": "model"', '"basis": "guess"', "basis 'guess'"),
        ('"up_to": 256', '"up_to": null', "do not rise to an open end"),
        ('"up_to": null', '"up_to": 9', "do not rise to an open end"),
        ('"up_to": 256', '"up_to": "256"', "must be lengths in bytes|not supported"),
        ('"fill_at": 1000', '"fill_at": -1', "must be lengths in bytes"),
        ('"multiply": "winograd"', '"multiply": "k"', "the axes of .* make"),
        ('"multiply": "winograd"', '"multiply": "none"', "unknown multiply 'none'"),
        ('"blocks": 16', '"colour": 16', "colour"),
        ('"isa": "avx512",\n   "basis"', '"isa": "avx",\n   "basis"', "is of isa avx512, not avx"),
        ("{", "", "is no chosen set"),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, right: str, wrong: str, why: str) -> None:
    path = tmp_path / "chosen.json"
    text = dump(CHOSEN)
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(GhashgenError, match=why):
        load(path)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--out", "-"],
        ["--out", str(default_out())],
        ["--out", "x", "--check"],
        ["--isa", "avx"],
    ],
)
def test_refusals_of_the_command(tmp_path: Path, arguments: list[str]) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    out = [] if "--out" in arguments or not arguments else ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(COMMAND, ["--chosen", str(path), *arguments, *out])
    assert isinstance(result.exception, GhashgenError)
    assert not (tmp_path / "out").exists()


def test_another_convention_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    arguments = ["--chosen", str(path), "--out", str(tmp_path / "out"), "--abi", "win64"]
    result = CliRunner().invoke(COMMAND, arguments)
    assert "not GHASH of the System V convention" in str(result.exception)
    assert not (tmp_path / "out").exists()
