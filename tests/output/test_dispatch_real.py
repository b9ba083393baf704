"""What the dispatcher computes is GHASH and POLYVAL, whatever it takes; threads may race to it."""

import random
import subprocess
from functools import cache
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, lacking
from helpers.dispatching import (
    FLAGS,
    Program,
    build,
    build_real,
    build_stubbed,
    entry,
    of_shipped,
    record,
    shipped,
    symbols_of,
)

from ghashgen.algebra.field.bitorder import xor_blocks
from ghashgen.algebra.field.ghash import ghash_padded, multiply_blocks, pad16
from ghashgen.algebra.field.polyval import dot
from ghashgen.choice.classes import CLASSES
from ghashgen.kernels.hash.definition import OPS
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import find_cc, link

LONGEST = 4200
"""Every class but the last ends below; the last begins there."""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return build_real(tmp_path_factory.mktemp("real") / "all")


def polyval_padded(h: bytes, state: bytes, data: bytes) -> bytes:
    """POLYVAL continued, the last block zero-padded."""
    padded = pad16(data)
    for at in range(0, len(padded), 16):
        state = dot(xor_blocks(state, padded[at : at + 16]), h)
    return state


@cache
def message() -> bytes:
    return random.Random(3).randbytes(16 + LONGEST)


@cache
def expected(op: str) -> tuple[str, ...]:
    """The hash of every length by the field's specification, from that of the whole blocks."""
    h, data = message()[:16], message()[16:]
    one = {"ghash": ghash_padded, "polyval": polyval_padded}[op]
    states, out = [bytes(16)], []
    for at in range(0, len(data), 16):
        states.append(one(h, states[-1], data[at : at + 16]))
    for length in range(len(data) + 1):
        whole, rest = divmod(length, 16)
        state = states[whole]
        tail = data[16 * whole : length]
        out.append((one(h, state, tail) if rest else state).hex())
    return tuple(out)


def plants(program: Program) -> dict[str, str]:
    """Every row of the table that this CPU can be made to take, as values of PLANT."""
    here, found = program.mask(program.features()), {}
    for choice in program.choices():
        for host in range(32):
            if choice.hosts >> host & 1 and not choice.needs & ~here:
                found[f"{host:x}:{choice.needs:x}"] = choice.op
    return found


@pytest.mark.cpu
def test_every_length_on_every_cpu_that_this_one_can_play(real: Program) -> None:
    """Lazily filled keys, full ones, shared ones, split messages, tables of one message."""
    assert max(item.up_to or 0 for item in CLASSES) < LONGEST
    found = plants(real)
    assert bool(found) != bool(lacking(("pclmulqdq", "sse2")))
    for plant in found:
        for op in OPS:
            answer = real.run("lengths", op, data=message(), PLANT=plant)
            if answer.returncode == 4:
                assert op not in {c.op for c in real.choices() if fits(c.hosts, c.needs, plant)}
                continue
            assert answer.returncode == 0, (plant, op, answer.returncode)
            assert tuple(answer.stdout.decode().split()) == expected(op), (plant, op)


def fits(hosts: int, needs: int, plant: str) -> bool:
    host, _, features = plant.partition(":")
    return bool(hosts >> int(host, 16) & 1) and not needs & ~int(features, 16)


@pytest.mark.cpu
@pytest.mark.parametrize("op", OPS)
def test_multiplication_and_segments(real: Program, op: str) -> None:
    rng = random.Random(op)
    h, x, data = rng.randbytes(16), rng.randbytes(16), rng.randbytes(16 * 100 * 5)
    here = real.mask(real.features())
    answer = real.run("segments", op, data=h + x + data)
    if answer.returncode == 4:
        uses = {c.use for c in real.choices() if c.op == op and not c.needs & ~here}
        assert not {"lasting", "segments"} <= uses
        assert lacking(("pclmulqdq", "sse2", "ssse3"))
        return
    product, state = answer.stdout.decode().split()
    if op == "ghash":
        assert bytes.fromhex(product) == multiply_blocks(x, h)
        assert bytes.fromhex(state) == ghash_padded(h, x, data)
    else:
        assert bytes.fromhex(product) == dot(x, h)
        assert bytes.fromhex(state) == polyval_padded(h, x, data)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("while (!key->filled[class_->slot])", "while (0)"),
        ("kernel->init(table, h);\n    kernel->update", "(void)h;\n    kernel->update"),
    ],
)
def test_a_planted_fault_is_noticed(real: Program, tmp_path: Path, right: str, wrong: str) -> None:
    """A table taken for filled, one that was not made."""
    objects = sorted((real.path.parent.parent / "objects").glob("*.o"))
    files = {
        path.name: path.read_text() for path in real.path.parent.glob("ghashgen_dispatch.[ch]")
    }
    text = files["ghashgen_dispatch.c"]
    assert text.count(right) == 1
    files["ghashgen_dispatch.c"] = text.replace(right, wrong)
    planted = build(files, tmp_path / "planted", objects=objects)
    wanted = []
    for plant in plants(real):
        answers = [p.run("lengths", "ghash", data=message(), PLANT=plant) for p in (real, planted)]
        wanted += [answers[0].stdout != answers[1].stdout]
    if not wanted:
        pytest.skip("this CPU can run no kernel")
    here = real.mask(real.features())
    able = [c for c in real.choices() if c.use == "lasting" and not c.needs & ~here]
    if "filled" in right and all(len(set(c.kernels)) == 1 for c in able):
        pytest.skip("no key of this CPU has two tables")
    assert any(wanted)


# --- Tables that are filled when messages have paid

PAYING = tuple(
    entry("avx", ("avx", "pclmulqdq"), blocks=blocks, table=table)
    for blocks, table in ((1, 32), (8, 256), (16, 768))
)
NAMES = [item.name for item in PAYING]


def paying() -> dict[tuple[str, str, int], float]:
    """x1 is best up to 64 bytes, x8 to 1024, x16 beyond; tables cost 10, 100 and 400 cycles."""
    sizes = [size for item in CLASSES for size in item.sizes]
    best = {name: (64, 1024, 1 << 60)[place] for place, name in enumerate(NAMES)}
    cells: dict[tuple[str, str, int], float] = {}
    for place, name in enumerate(NAMES):
        cells[name, "init", 0] = (10.0, 100.0, 400.0)[place]
        for size in sizes:
            fits = size <= best[name] and all(size > best[n] for n in NAMES[:place])
            cells[name, "throughput", size] = size * (0.5 if fits else 0.75 + place / 10)
    return cells


def test_tables_are_filled_when_they_pay(tmp_path: Path) -> None:
    records = [record("X (cpu family 6, model 85, stepping 7)", ("avx", "pclmulqdq"), paying())]
    program = build_stubbed(PAYING, tmp_path / "paying", records=records)
    plant = f"0:{program.mask(('avx', 'pclmulqdq')):x}"

    def kernels(*lengths: int) -> list[int]:
        data = " ".join(map(str, lengths))
        names = program.ask("fills", "ghash", data=data, PLANT=plant)
        return [int(name.rpartition("_x")[2]) for name in names]

    # x8 saves 0.25 cycles per byte beside x1, so 400 bytes pay for 100 cycles; x16 1600 for 400.
    assert kernels(0, 16, 64, 399, 16, 1, 1024, 16) == [1, 1, 1, 1, 1, 1, 8, 1]
    assert kernels(200, 199, 256) == [1, 1, 8]
    # One long message pays at once; until then the next shorter class with a table serves.
    assert kernels(1599, 1025) == [1, 16]
    assert kernels(9000, 5000) == [16, 16]
    assert kernels(300, 1500, 300) == [1, 1, 8]


# --- First use from many threads

RACE = """
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "ghashgen_dispatch.h"

enum { THREADS = 8 };
static pthread_barrier_t start;
static const struct ghashgen_kernel *seen[THREADS][3];
static uint64_t features[THREADS];

static void *ask(void *argument)
{
    size_t i = (size_t)argument;
    pthread_barrier_wait(&start);
    seen[i][0] = ghashgen_best(GHASHGEN_GHASH, 4096);
    seen[i][1] = ghashgen_best_once(GHASHGEN_GHASH, 16);
    seen[i][2] = ghashgen_best_segments(GHASHGEN_GHASH);
    features[i] = ghashgen_cpu_features();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, ask, (void *)i))
            return 2;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 1; i < THREADS; i++)
        if (memcmp(seen[i], seen[0], sizeof seen[0]) != 0 || features[i] != features[0])
            return 3;
    puts(seen[0][0] ? seen[0][0]->name : "-");
    return 0;
}
"""


def race(folder: Path, edit: tuple[str, str] = ("", "")) -> subprocess.CompletedProcess[str]:
    """Let threads ask at the same time, under ThreadSanitizer."""
    folder.mkdir()
    for name, text in of_shipped().items():
        (folder / name).write_text(text.replace(*edit) if edit[0] else text)
    symbols = symbols_of(shipped())
    stubs = "".join(f"void {symbol}(void);\nvoid {symbol}(void) {{}}\n" for symbol in symbols)
    (folder / "stubs.c").write_text(stubs)
    (folder / "race.c").write_text(RACE)
    cc, flags = find_cc(), [*FLAGS, "-O1", "-g", "-fsanitize=thread", "-D_GNU_SOURCE"]
    objects = []
    try:
        for source in ("race.c", "stubs.c", "ghashgen_dispatch.c"):
            objects.append(folder / f"{source}.o")
            programs.compile_c(cc, folder / source, objects[-1], flags=flags, include=(folder,))
        link(cc, objects, folder / "race", flags=["-fsanitize=thread", "-pthread"])
        answer = subprocess.run(
            [folder / "race"], capture_output=True, text=True, check=False, timeout=60
        )
    except GhashgenError as refused:
        pytest.skip(f"no ThreadSanitizer here: {refused}")
    if "FATAL" in answer.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {answer.stderr.strip().splitlines()[0]}")
    return answer


@pytest.mark.cpu(AS_FOUND)
def test_threads_may_ask_first_at_the_same_time(tmp_path: Path) -> None:
    answers = [race(tmp_path / f"race{turn}") for turn in range(2)]
    assert [(a.returncode, a.stderr) for a in answers] == [(0, ""), (0, "")]


@pytest.mark.cpu(AS_FOUND)
def test_a_race_would_be_noticed(tmp_path: Path) -> None:
    plain = """
        #undef atomic_load_explicit
        #undef atomic_store_explicit
        #define atomic_load_explicit(place, order) (*(place))
        #define atomic_store_explicit(place, value, order) (*(place) = (value))
        #define _Atomic(type) type
        #define CLASSES"""
    answer = race(tmp_path / "race", ("#define CLASSES", plain))
    assert "data race" in answer.stderr
