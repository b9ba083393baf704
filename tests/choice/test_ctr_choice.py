"""AES-CTR in choosing: `recommend`, the dispatcher (compiled and run), `tune`, `report`."""

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import lacking, masked
from helpers.dispatching import FLAGS, ZEN5, record
from helpers.reporting import make_folder
from helpers.tuning import COARSE, FINE, Fake, host, known
from helpers.verbs import refused

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.check.validation import ctr
from ghashgen.check.validation.ciphers import blocks_of, stepped
from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.chosen import MODEL, dump, load
from ghashgen.choice.classes import SizeClass
from ghashgen.choice.families.ctr import LONG, MIXED, ONCE, QUESTION, SHORT
from ghashgen.choice.questions import Use
from ghashgen.choice.recommend import Advice, machine, recommend
from ghashgen.cli.verbs.recommend import COMMAND, lines
from ghashgen.kernels import manifest
from ghashgen.kernels.ctr.catalogue import catalogue
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.kernels.selection import Choice
from ghashgen.kernels.target import target
from ghashgen.lab.report import choice as shown
from ghashgen.lab.report.families.ctr import TOPIC
from ghashgen.lab.report.gather import gather
from ghashgen.lab.report.page import Links, page
from ghashgen.lab.report.plots import plots
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.choose import chosen, decide
from ghashgen.lab.tune.goals import goals, modes_of
from ghashgen.lab.tune.rank import rank
from ghashgen.lab.tune.space import space
from ghashgen.lab.tune.sweep import Here, Plan, sweep
from ghashgen.output.artefact import make, sha256
from ghashgen.output.dispatcher import names_of, render_all
from ghashgen.output.generate import generate
from ghashgen.records.records import Record
from ghashgen.support import programs
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import assemble, assemble_text, find_cc, link

ROOT = project_root()
ENTRIES = tuple(e for e in manifest.load(ROOT / "generated").values() if e.family == "ctr")
BY_SET = {"sse": 8, "avx": 8, "avx2": 16, "avx512": 32}
SIZES = (16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 1500, 4096, 16384, 65536)
SMALL, LARGE = "ctr128_avx_x8", "ctr128_avx512_x32"


def pool(key: int = 128) -> list[Candidate]:
    return [c for c in candidates(ENTRIES, "ctr") if c.given == key]


def planted(**peers: float) -> Record:
    """x8 is the faster to some 200 bytes, with its set-up to some 400."""
    rates = {SMALL: (40.0, 1.0), LARGE: (200.0, 0.1), **{n: (b, 0.5) for n, b in peers.items()}}
    cells = {
        (name, "crypt", size): call + byte * size
        for name, (call, byte) in rates.items()
        for size in SIZES
    }
    cells |= {(name, "init", 0): 2 * call for name, (call, _) in rates.items()}
    keys = dict.fromkeys(rates, 128)
    return record(ZEN5, FEATURES, cells, peers=peers, keys=keys)


def advised(use: Use, size: int | None = None, *records: Record) -> tuple[Advice, ...]:
    known = records or (planted(openssl_ctr_128=100.0),)
    return recommend(machine("Zen 5", known), pool(), known, QUESTION, use, size=size)


# What to take.


@pytest.mark.parametrize("key", [128, 192, 256])
@pytest.mark.parametrize("use", QUESTION.uses, ids=lambda use: use.name)
def test_without_records_the_widest_set_is_taken_and_it_is_said_why(key: int, use: Use) -> None:
    for isa, needs in {e.isa: e.cpu_features for e in ENTRIES}.items():
        here = machine(",".join((*needs, "sse2")), ())
        (advice,) = recommend(here, pool(key), (), QUESTION, use)
        assert advice.candidate.name == f"ctr{key}_{isa}_x{BY_SET[isa]}"
        assert advice.why == (
            "nothing was measured: by convention the widest registers, then groups of eight of them"
        )


def test_records_decide_by_length() -> None:
    (short,), (long,) = advised(SHORT, 64), advised(LONG)
    assert (short.candidate.name, long.candidate.name) == (SMALL, LARGE)
    text = "\n".join(lines(short))
    assert "104 core cycles (1.625 per byte) at 64 B, texts back to back, each from a" in text
    assert "the best peer there, openssl_ctr_128, takes 1.27 times as long" in text
    assert "(docs/bench/ctr/amd-26-2-1.json)" in text


def test_a_text_with_a_key_of_its_own_waits_for_the_round_keys() -> None:
    alone = [item.candidate.name for item in advised(ONCE, 256)]
    assert (alone, [item.candidate.name for item in advised(LONG, 512)]) == ([SMALL], [LARGE])


def test_a_length_has_one_use_whatever_the_mode() -> None:
    for size, use in ((16, SHORT), (256, SHORT), (257, LONG), (1 << 20, LONG)):
        assert QUESTION.use_at(size) == QUESTION.use_at(size, "crypt") == use


def test_a_text_that_repeats_its_keystream_is_refused() -> None:
    assert advised(LONG, 1 << 36)
    with pytest.raises(GhashgenError, match="the keystream repeats: at most 68719476736 bytes"):
        advised(LONG, (1 << 36) + 1)


def test_the_verb_answers_from_the_checked_in_kernels() -> None:
    words = ["--family", "ctr", "--cpu", "avx,aesni", "--key", "256", "--bytes", "100", "--json"]
    answer = json.loads(CliRunner().invoke(COMMAND, words, catch_exceptions=False).output)
    assert (answer["family"], answer["use"]) == ("ctr", "short")
    (kernel,) = answer["kernels"]
    assert (kernel["key"], kernel["kernel"], kernel["table_bytes"]) == (256, "ctr256_avx_x8", 240)
    assert "can run no kernel: each needs AES-NI and SSE4.1" in refused(
        "recommend", "--family", "ctr", "--cpu", "avx,ssse3"
    )
    # An option that two families have means the first, as without --family elsewhere.
    plain = CliRunner().invoke(COMMAND, ["--cpu", "avx,aesni,pclmulqdq", "--key", "128", "--json"])
    assert json.loads(plain.output)["family"] == "gcm"


# The dispatcher.

KERNELS = tuple(
    CtrKernel(key, isa, 2 * blocks // 8)
    for key in (128, 192, 256)
    for isa, blocks in BY_SET.items()
)
LONGEST = 300

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ghashgen_ctr_dispatch.h"

/* Standard input: key, counter block, text. For every length: the text encrypted, the counter
 * block behind it; decrypted again in place. */
int main(int count, char **words)
{
    static uint8_t given[32 + 16 + 300], out[300];
    size_t bytes = (size_t)atoi(words[count - 1]);
    struct ghashgen_ctr_key key, copy;
    const struct ghashgen_ctr_kernel *kernel = ghashgen_ctr_best(GHASHGEN_CTR_LONG, bytes);
    if (fread(given, 1, bytes + 316, stdin) != bytes + 316)
        return 3;
    puts(kernel ? kernel->name : "-");
    if (ghashgen_ctr_key_init(&key, GHASHGEN_CTR_LONG, given, bytes) != !!kernel)
        return 4;
    if (!kernel)
        return 0;
    copy = key;
    ghashgen_ctr_key_wipe(&key);
    for (size_t i = 0; i < sizeof key; i++)
        if (((unsigned char *)&key)[i])
            return 5;
    for (size_t len = 0; len <= 300; len++) {
        uint8_t counter[16], again[16];
        memcpy(counter, given + bytes, 16);
        memcpy(again, counter, 16);
        ghashgen_ctr_key_crypt(&copy, counter, given + bytes + 16, out, len);
        for (size_t i = 0; i < len; i++)
            printf("%02x", out[i]);
        putchar(' ');
        for (size_t i = 0; i < 16; i++)
            printf("%02x", counter[i]);
        putchar('\n');
        ghashgen_ctr_key_crypt(&copy, again, out, out, len);
        if (memcmp(out, given + bytes + 16, len) || memcmp(again, counter, 16))
            return 6;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctr")
    generate(KERNELS, target(), folder)
    objects = []
    for source in sorted(folder.glob("*/*.asm")):
        objects.append(folder / f"{source.stem}.o")
        assemble(find_nasm(), source, objects[-1])
    assert {path.name for path in folder.glob("*dispatch*")} == set(names_of("ctr"))
    (folder / "driver.c").write_text(DRIVER)
    cc = find_cc()
    for name in ("ghashgen_ctr_dispatch", "driver"):
        objects.append(folder / f"{name}.o")
        programs.compile_c(cc, folder / f"{name}.c", objects[-1], flags=FLAGS, include=(folder,))
    link(cc, objects, folder / "driver")
    return folder / "driver"


@pytest.mark.cpu
@pytest.mark.parametrize("size", [16, 24, 32])
def test_a_key_of_the_dispatcher_encrypts_on_every_cpu(program: Path, size: int) -> None:
    data = random.Random(size).randbytes(size + 12) + b"\xff\xff\xff\xfa"
    data += random.Random(1).randbytes(LONGEST)
    done = subprocess.run(
        [program, str(size)],
        input=data,
        env={FEATURES_OFF: masked()},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    name, *answers = done.stdout.decode().splitlines()
    able = [k for k in KERNELS if 8 * size == k.key and not lacking(needs_of(k))]
    assert name == (able[-1].name if able else "-")
    assert len(answers) == (LONGEST + 1 if able else 0)
    key, counter, text = data[:size], data[size : size + 16], data[size + 16 :]
    for length, line in enumerate(answers):
        part = text[:length]
        after = stepped(counter, blocks_of(part))
        assert line.split(" ") == [ctr.other_text(key, counter, part).hex(), after.hex()]


def needs_of(kernel: CtrKernel) -> tuple[str, ...]:
    return next(e.cpu_features for e in ENTRIES if e.isa == kernel.isa)


def test_the_checked_in_dispatcher_is_of_this_family_alone() -> None:
    files = render_all(ENTRIES)
    assert set(files) == set(names_of("ctr"))
    for name, text in files.items():
        assert (ROOT / "generated" / name).read_text(encoding="utf-8") == text, name
    assert names_of("ctr") == ("ghashgen_ctr_dispatch.h", "ghashgen_ctr_dispatch.c")
    for word in ("AES-GCM", "ghashgen_gcm"):
        assert not any(word in files[name] for name in names_of("ctr"))


# Tuning.

GOAL = goals()["ctr"]
HERE = host("a CPU", tuple(FEATURES))


def test_the_space_keeps_key_and_promises() -> None:
    assert set(space(Choice(), "catalogue", GOAL)) == {k for k in catalogue() if not k.wipe}
    wide = space(Choice(isa=("avx",), key=(192,)), "wide", GOAL)
    points = [k for k in wide if isinstance(k, CtrKernel)]
    assert len(points) == len(wide)
    assert {k.blocks for k in points} == set(range(1, 12))
    assert {k.roundkeys for k in points} == {"registers", "memory"}
    assert {(k.key, k.wipe) for k in points} == {(192, False)}
    assert modes_of(GOAL.uses) == ("crypt",)


def test_the_model_ranks_kernels(tmp_path: Path) -> None:
    pytest.importorskip("bochscpu", reason="the emulator is not installed")
    kernel = CtrKernel(128, "avx", 8)
    made = make(kernel, target(), find_nasm())
    obj = assemble_text(find_nasm(), kernel.name, made.text, "elf64")
    found = known(kernel, made.audit.features, sha256(made.code))
    align = kernel.instruction_set.operand_align
    item = replace(found, unit=replace(found.unit, obj=obj, table_align=align))
    sizes = (600, 4096)
    use = replace(MIXED, classes=(SizeClass(None, sizes),))
    (decision,), unranked = rank([item], "skylake-avx512", (use,))
    assert unranked == {}
    assert (decision.basis, decision.given, decision.winner.kernel.name) == (MODEL, 128, SMALL)
    # Ten rounds a block share one port: a bound that no kernel can beat.
    assert decision.cycles >= 9.99 * (38 * 256) ** 0.5
    made_set = chosen([decision])
    path = tmp_path / "chosen.json"
    path.write_text(dump(made_set), encoding="utf-8")
    assert load(path) == made_set
    assert [pick.kernel.name for one in made_set.sets for pick in one.picks] == [SMALL]


def test_each_use_and_key_size_has_its_own_best(tmp_path: Path) -> None:
    kernels = [CtrKernel(key, "avx", blocks) for key in (128, 256) for blocks in (4, 8)]
    items = tuple(known(kernel, ("aesni", "avx")) for kernel in kernels)
    fake = Fake(HERE, lambda name, size: size / (2 if name.endswith("x8") is (size > 256) else 1))
    plan = Plan(uses=(SHORT, LONG), coarse=COARSE, fine=FINE, finalists=1)
    with open_store(tmp_path / "s.sqlite") as store:
        assert sweep(items, Here(HERE, fake), store, plan).failures == []
        found = decide(items, [HERE], store, (FINE, COARSE), plan.uses)
    assert [(d.use.name, d.given, d.winner.kernel.blocks) for d in found] == [
        ("short", 128, 4), ("short", 256, 4), ("long", 128, 8), ("long", 256, 8)
    ]  # fmt: skip


# The report.


def test_the_page_compares_key_sizes_and_says_what_is_not_measured(tmp_path: Path) -> None:
    names = tuple(f"ctr{key}_avx_x8" for key in (128, 192, 256))
    folder = make_folder(tmp_path, False, names)
    report = gather(replace(folder.sources(None), topic=TOPIC))
    assert [variant.name for variant in report.variants] == list(names)
    assert {variant.axes["key"] for variant in shown.costs(report)} == {128, 192, 256}
    assert all(v.examined and v.examined.bounds["zen4"].per_block > 0 for v in report.variants)
    html = page(report, plots(report), Links(folder.root, folder.kernels, ROOT, (TOPIC,)))
    assert "<h1>AES-CTR kernels: what is proved" in html
    assert "Of each instruction set and key size the AES-CTR kernel with the fewest" in html
    assert "No measurement: run ghashgen bench --record." in html
    assert "scheme" not in html.replace("color-scheme", "")
