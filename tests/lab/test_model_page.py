"""docs/model.md holds what `ghashgen model` computes, and calls every figure a model."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ghashgen.arch.registry import uarch, uarches
from ghashgen.arch.x86_64 import ARCH
from ghashgen.cli.verbs import model as command
from ghashgen.cost.bound import histogram_bound
from ghashgen.cost.histogram import histogram
from ghashgen.kernels.families import families
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.lab.model.comparison import Comparison
from ghashgen.lab.model.page import (
    GAP,
    MARKERS,
    PAGE,
    by_topic,
    cells,
    markdown,
    matched,
    notes,
    ports_name,
    wanted_cells,
)
from ghashgen.lab.model.peers import peers
from ghashgen.lab.model.rows import (
    LABEL,
    LONG,
    Check,
    Loop,
    binds,
    checks,
    compare,
    match,
    topic,
    wanted,
)
from ghashgen.lab.pages import block_of, replaced
from ghashgen.lab.standing import Standing
from ghashgen.records.core import Cell, Machine, Results, Run, Subject
from ghashgen.records.goals import parse
from ghashgen.records.records import Record
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root


def loop(name: str, forms: dict[str, int], blocks: int = 1, source: str = "avx2") -> Loop:
    body = replace(histogram(ARCH.decoder, []), forms=forms)
    own = source.startswith("avx")
    return Loop(name, topic("hash"), source, own, blocks, ("VPCLMULQDQ", "AVX"), body)


def test_of_ours_the_lowest_bound_of_each_isa_and_size_is_taken_and_every_peer() -> None:
    product = "vpclmulqdq y,y,y,i8"
    rows = compare(
        [
            loop("slow", {product: 3}),
            loop("fast", {product: 2}),
            loop("long", {product: 2, "vpxor y,y,y": 1}),
            loop("other_size", {product: 8}, 2),
            loop("peer_a", {product: 9}, 1, "Toy 1"),
            loop("peer_b", {product: 1}, 1, "Toy 2"),
        ]
    )
    shown = [row.loop.name for row in rows["sapphirerapids"]]
    assert shown == ["peer_b", "fast", "other_size", "peer_a"]
    assert rows["skylake-avx512"] == ()


def test_a_peer_stands_beside_the_lowest_of_ours_that_is_no_longer() -> None:
    product = "vpclmulqdq y,y,y,i8"
    peer = loop("peer", {product: 9}, 2, "Toy 1")
    own = [loop("one", {product: 6}), loop("two", {product: 6}, 2), loop("four", {product: 4}, 4)]
    (found,) = match([peer, *own])["sapphirerapids"]
    assert matched(found) == ("peer", "2", "0.281", "two", "2", "0.188", "1.50")
    assert match([peer, own[2]])["sapphirerapids"] == ()
    wide = replace(own[0], features=("AVX", "AVX512F", "VPCLMULQDQ"))
    assert match([peer, wide])["sapphirerapids"] == ()
    # What another kernel of its size and ISA outdoes is still matched where that one is too wide.
    better = replace(wide, name="better", body=loop("l", {product: 1}).body)
    (found,) = match([peer, better, own[0]])["sapphirerapids"]
    assert found.ours.loop.name == "one"


def test_what_binds_is_named() -> None:
    xor, load, idiom = "vpxor x,x,x", "vmovdqu x,m128", "vpxor x,0"
    said = [
        binds(histogram_bound(loop("l", forms).body, uarch("skylake-avx512")), uarch("cascadelake"))
        for forms in ({"vpclmulqdq x,x,x,i8": 2}, {load: 4}, {idiom: 8}, {xor: 9})
    ]
    assert said == ["p5", "loads (p2 p3)", "front end", "p0 p1 p5"]


def test_a_bound_without_data_is_marked_and_the_form_named() -> None:
    (row,) = compare([loop("gap", {"vpclmulqdq y,y,y,i8": 1, "popcnt r64,r64": 1})])[
        "sapphirerapids"
    ]
    assert any(cell.endswith(GAP) for cell in cells(row))
    assert notes([row])[0].endswith("popcnt r64,r64")
    assert ports_name(("FP0", "FP1", "pA")) == "FP01/pA"


def test_bounds_stand_beside_measurements_only_where_a_table_fits() -> None:
    (peer,) = (peer for peer in peers() if peer.bench == "openssl_avx")
    cells = tuple(
        Cell(name, size, "throughput", (Run(0.375 * size, 1, 1, 1, 0),))
        for name in ("openssl_avx", "gone")
        for size in (64, LONG)
    )
    subjects = {"openssl_avx": Subject("openssl_avx", "peer"), "gone": Subject("gone", "kernel")}
    machine = Machine("CPU (cpu family 6, model 85, stepping 7)", (), 3.0, "")
    known = Record("x", 1, "", Results(machine, subjects, cells, {}))

    def standing(one: Record) -> Standing:
        return Standing(one, lambda size, mode, key: "gone")

    ((title, found),) = checks([], peers(), [standing(known)]).items()
    (one,) = found
    assert (title, one.name, one.size, one.measured) == ("Cascade Lake", peer.name, LONG, 0.375)
    other = replace(machine, cpu="CPU (cpu family 6, model 1, stepping 0)")
    elsewhere = replace(known, results=replace(known.results, machine=other))
    assert checks([], peers(), [standing(elsewhere)]) == {}


def test_lengths_of_one_kernel_share_a_row() -> None:
    found = (Check("k", 4096, 0.2, 0.25), Check("k", 65536, 0.2, 0.22), Check("l", 4096, 0.5, 1.0))
    text = markdown(Comparison({}, {}, {"Zen 4": found}, {}, {}), ())
    assert "| Zen 4 | k | 4096–65536 | 0.200 | 0.220–0.250 | 1.10–1.25 |" in text
    assert "| Zen 4 | l | 4096 | 0.500 | 1.000 | 2.00 |" in text


@pytest.fixture(scope="module")
def shown() -> tuple[str, Comparison]:
    """The page's block, and what the kernels that it names give now."""
    block = block_of((project_root() / PAGE).read_text(encoding="utf-8"), MARKERS, PAGE)
    known = _named(Kernel) | _named(GcmKernel)
    names = set(re.findall(r"\| (ghash_\w+|gcm\w+) \|", block)) & known
    kernels = [
        kernel
        for kind in (Kernel, GcmKernel)
        for kernel in choose_of(kind, Choice(name=tuple(sorted(names & _named(kind)))))
    ]
    return block, command.comparison_of(kernels)


def _named(kind: type[Kernel] | type[GcmKernel]) -> set[str]:
    return {kernel.name for kernel in families()[kind.family].catalogue()}


def test_the_page_holds_what_its_kernels_and_peers_give_now(shown: tuple[str, Comparison]) -> None:
    block, comparison = shown
    assert markdown(comparison, peers()) == block, "run ghashgen model --write"


def test_every_figure_is_called_a_model(shown: tuple[str, Comparison]) -> None:
    block, comparison = shown
    heads = re.findall(r"^### (.*)$", block, re.MULTILINE)
    assert [head for head in heads if head.endswith(LABEL)] == [
        f"{table.title}: {LABEL}" for table in uarches().values()
    ]
    whole = comparison.as_json()
    assert whole["is"] == LABEL
    assert {row["is"] for rows in whole["uarches"].values() for row in rows} == {LABEL}
    json.dumps(whole)


def test_loops_of_another_topic_are_neither_ranked_nor_matched_together() -> None:
    product = "vpclmulqdq y,y,y,i8"
    hashing, peer = loop("hashing", {product: 6}), loop("peer", {product: 9}, 1, "Toy 1")
    sealing = replace(loop("sealing", {product: 2}), topic=topic("gcm", 128))
    rows = compare([hashing, sealing, peer])["sapphirerapids"]
    assert [row.loop.name for row in rows] == ["sealing", "hashing", "peer"]
    assert list(by_topic(rows)) == [topic("hash"), topic("gcm", 128)]
    (found,) = match([hashing, sealing, peer])["sapphirerapids"]
    assert found.ours.loop.name == "hashing"


def test_a_goal_stands_beside_the_lowest_bound_of_its_core_and_key() -> None:
    goals = """
[[goals]]
features = ["vaes"]
core = "Zen 4"
[[goals.goal]]
sizes = [1024, 16384]
keys = [128, 256]
per_byte = { 128 = 0.5 }
within = 0.02
"""
    own = [
        replace(loop("sealing", {"vaesenc x,x,x": 16}), topic=topic("gcm", 128)),
        replace(loop("longer", {"vaesenc x,x,x": 32}), topic=topic("gcm", 128)),
        replace(loop("other_key", {"vaesenc x,x,x": 8}), topic=topic("gcm", 256)),
        loop("hashing", {"vaesenc x,x,x": 2}),
    ]
    ((name, (one,)),) = wanted(compare(own), {"gcm": parse(goals, "toy.toml")}).items()
    assert (name, one.row.loop.name, one.goal) == ("zen4", "sealing", 0.5)
    assert one.quotient == pytest.approx(0.5 * 1.02 / (8 / 16))
    assert wanted_cells(one)[1:] == ("0.500 + 2%", "sealing", "0.500", "FP0 FP1", "1.02")


def invoke(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command.COMMAND, words)
    refused = isinstance(result.exception, GhashgenError)
    return result.exit_code, str(result.exception) if refused else result.stdout


def test_the_command_writes_checks_and_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ((Kernel, Choice(name=("ghash_avx512_k_clmul1_x16",))),)
    monkeypatch.setattr(command, "OURS", one)
    monkeypatch.setattr(command, "project_root", lambda: tmp_path)
    page = tmp_path / PAGE
    page.parent.mkdir()
    text = (project_root() / PAGE).read_text(encoding="utf-8")
    page.write_text(replaced(text, "old\n", MARKERS, PAGE), encoding="utf-8")
    assert "stale; run ghashgen model --write" in invoke("--check")[1]
    assert invoke("--write")[0] == 0
    assert invoke("--check")[0] == 0
    answered = json.loads(invoke("--json", "--uarch", "znver4")[1])
    assert set(answered["uarches"]) == {"zen4"}
    own = [row for row in answered["uarches"]["zen4"] if row["ours"]]
    assert [row["kernel"] for row in own] == ["ghash_avx512_k_clmul1_x16"]
    table = invoke("--uarch", "sapphirerapids")[1]
    header, *rows = table.partition("\n\n")[0].splitlines()
    assert header.split("\t")[-2:] == ["CPU", "figures"]
    assert {tuple(row.split("\t")[-2:]) for row in rows} == {("sapphirerapids", LABEL)}
