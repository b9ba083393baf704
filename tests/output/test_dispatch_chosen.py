"""A chosen set is one more source of the dispatcher's order; and its file is read with care."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND
from helpers.dispatching import Program, build, undefined
from helpers.verbs import called, refused

from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.choice.chosen import MEASURED, MODEL, Chosen, Pick, Set, dump, load
from ghashgen.cli.verbs.generate import COMMAND
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.output.artefact import sha256
from ghashgen.output.dispatcher import names_of
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble


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


def emit(chosen: Chosen, folder: Path, *options: str) -> str:
    """Run the command, and return what it prints."""
    path = folder.parent / f"{folder.name}.json"
    path.write_text(dump(chosen))
    arguments = ["--chosen", str(path), "--out", str(folder), *options]
    result = called("generate", *arguments)
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("chosen") / "out"
    emit(CHOSEN, place)
    return place


@pytest.fixture(scope="module")
def program(folder: Path) -> Program:
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(folder.parent / f"{source.stem}.o")
        assemble(find_nasm(), source, objects[-1])
    files = {name: (folder / name).read_text() for name in names_of()}
    return build(files, folder.parent / "linked", objects=objects)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("isa", ["avx512", "avx", "sse"])
def test_every_length_is_right_whatever_is_chosen(program: Program, isa: str) -> None:
    data = random.Random(isa).randbytes(16 + 1200)
    choice = next(c for c in program.choices() if f"ghash_{isa}_" in c.kernels[0])
    if choice.needs & ~program.mask(program.features()):
        pytest.skip(f"this CPU cannot run the set of {isa}")
    answer = program.run("lengths", "ghash", data=data, PLANT=f"0:{choice.needs:x}")
    assert answer.returncode == 0
    h, body = data[:16], data[16:]
    states = answer.stdout.decode().split()
    assert len(states) == len(body) + 1
    for length in (*range(70), 255, 256, 257, 1023, 1024, 1025, 1200):
        assert states[length] == ghash_padded(h, bytes(16), body[:length]).hex(), length


@pytest.mark.cpu(AS_FOUND)
def test_the_order_is_that_of_the_file(program: Program) -> None:
    avx, everything = program.mask(("avx", "pclmulqdq")), (1 << len(program.bits())) - 1
    if avx & ~program.mask(program.features()):
        pytest.skip("this CPU cannot run the set of avx, whose tables are filled here")

    def kernels(*lengths: int) -> list[int]:
        data = " ".join(map(str, lengths))
        found = program.ask("fills", "ghash", data=data, PLANT=f"1:{avx:x}")
        return [int(name.rpartition("_x")[2]) for name in found]

    assert kernels(0, 16, 64, 999, 16, 1, 1024, 16) == [1, 1, 1, 1, 1, 1, 8, 1]
    assert kernels(9000, 5000) == [16, 16]
    assert kernels(8999, 1000, 8999) == [1, 8, 16]
    # A class that names the kernel of the shortest one has its table from the start.
    assert kernels(4096, 4097) == [1, 1]
    # Every kind of CPU takes the first set that it can run.
    for host in range(3):
        for length, blocks in ((16, 4), (257, 16)):
            best = program.ask("best", "ghash", str(length), PLANT=f"{host}:{everything:x}")[0]
            assert best == f"ghash_avx512_winograd_clmul1_x{blocks}"


def test_the_set_says_where_it_comes_from(folder: Path) -> None:
    text = (folder / "ghashgen_dispatch.c").read_text()
    assert text.count("/* chosen: model on icelake-server */") == 2
    assert text.count("/* chosen: measured on a CPU */") == 7
    hostile = replace(CHOSEN.sets[2], on="a CPU */ #error \\")
    emit(replace(CHOSEN, sets=(hostile,)), folder.parent / "hostile")
    assert "*/ #error" not in (folder.parent / "hostile/ghashgen_dispatch.c").read_text()


def test_windows_and_a_prefix(tmp_path: Path) -> None:
    emit(CHOSEN, tmp_path / "out", "--abi", "win64", "--prefix", "my_")
    text = (tmp_path / "out/my_ghashgen_dispatch.c").read_text()
    assert "#ifdef CALLS_WIN64" in text
    assert "#ifdef CALLS_SYSV" not in text
    assert "my_ghash_sse_winograd_clmul1_x8_update" in text


def test_only_the_chosen_kernels_and_the_same_bytes_again(folder: Path, tmp_path: Path) -> None:
    named = {f"{k.isa}/{k.name}.asm" for k in CHOSEN.kernels}
    assert {str(p.relative_to(folder)) for p in folder.glob("*/*.asm")} == named
    emit(CHOSEN, tmp_path / "again")
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        assert (tmp_path / "again" / file.relative_to(folder)).read_bytes() == file.read_bytes()
    # Another set replaces the first.
    emit(replace(CHOSEN, sets=CHOSEN.sets[2:]), tmp_path / "again")
    assert {p.parent.name for p in (tmp_path / "again").glob("*/*.asm")} == {"sse"}
    assert "ghash_avx" not in (tmp_path / "again/ghashgen_dispatch.c").read_text()


def test_code_that_changed_since_is_named(tmp_path: Path) -> None:
    text = emit(replace(CHOSEN, sets=CHOSEN.sets[2:]), tmp_path / "out")
    assert "its code has changed since it was chosen" in text


def test_what_an_earlier_version_emitted_is_removed(tmp_path: Path) -> None:
    """Two dispatchers were emitted once; a folder of theirs is brought up to date."""
    out = tmp_path / "out"
    emit(replace(CHOSEN, sets=CHOSEN.sets[2:]), out)
    manifest = (out / "MANIFEST.json").read_text()
    (out / "ghashgen_chosen.c").write_text("old")
    listed = f'"companions": {{\n  "ghashgen_chosen.c": "{sha256(b"old")}",'
    (out / "MANIFEST.json").write_text(manifest.replace('"companions": {', listed))
    emit(replace(CHOSEN, sets=CHOSEN.sets[2:]), out)
    assert not (out / "ghashgen_chosen.c").exists()
    assert (out / "MANIFEST.json").read_text() == manifest


def test_nothing_but_the_kernels_of_its_own_is_called(program: Program) -> None:
    called = {s for s in undefined(program.object) if s.startswith("ghash_")}
    assert {s.removesuffix("_update") for s in called if s.endswith("_update")} == {
        k.name for k in CHOSEN.kernels
    }


def test_the_file_gives_back_what_it_was_given(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    assert load(path) == CHOSEN
    assert sha256(dump(load(path)).encode()) == sha256(path.read_bytes())


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ('"schema": 1', '"schema": 9', "schema 9, this version reads 1"),
        (
            '"basis": "model"',
            '"basis": "guess"',
            r"sets\[0\].basis: 'guess' is not one of measured",
        ),
        ('"up_to": 256', '"up_to": null', "do not rise to an open end"),
        ('"up_to": null', '"up_to": 9', "do not rise to an open end"),
        ('"up_to": 256', '"up_to": "256"', r"classes\[0\].up_to: expected int or null, got str"),
        ('"fill_at": 1000', '"fill_at": -1', r"fill_at: expected int >= 0"),
        ('"multiply": "winograd"', '"multiply": "k"', "the axes of .* make"),
        ('"multiply": "winograd"', '"multiply": "none"', "unknown multiply 'none'"),
        ('"blocks": 16', '"colour": 16', "axes: unknown key 'colour'"),
        ('"isa": "avx512",\n   "basis"', '"isa": "avx",\n   "basis"', "is of isa avx512, not avx"),
        ('"blocks": 16', '"blocks": "16"', r"classes\[\d\].axes.blocks: expected int, got str"),
        ('"kernel":', '"kernels":', "unknown key 'kernels'|lacks 'kernel'"),
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
    [[], ["--out", "-"], ["--out", "generated"], ["--out", "x", "--check"], ["--isa", "avx"]],
)
def test_refusals_of_the_command(tmp_path: Path, arguments: list[str]) -> None:
    path = tmp_path / "chosen.json"
    path.write_text(dump(CHOSEN))
    out = [] if "--out" in arguments or not arguments else ["--out", str(tmp_path / "out")]
    result = CliRunner().invoke(COMMAND, ["--chosen", str(path), *arguments, *out])
    assert isinstance(result.exception, GhashgenError)
    assert not (tmp_path / "out").exists()


def test_polyval_has_sets_of_its_own(tmp_path: Path) -> None:
    ghash = CHOSEN.sets[2]
    kernel = Kernel("sse", "winograd", "clmul1", 8, op="polyval")
    polyval = Set("sse", MEASURED, "a CPU", (Pick(None, kernel, "0" * 64),))
    emit(Chosen((ghash, polyval)), tmp_path / "out")
    text = (tmp_path / "out/ghashgen_dispatch.c").read_text()
    assert text.count("/* chosen: measured on a CPU */") == 3
    mixed = replace(ghash, picks=(*ghash.picks[:1], *polyval.picks))
    path = tmp_path / "mixed.json"
    path.write_text(dump(Chosen((mixed,))))
    assert "has kernels of ghash and polyval" in refused(
        "generate", "--chosen", str(path), "--out", str(tmp_path / "mixed")
    )
    assert not (tmp_path / "mixed").exists()
