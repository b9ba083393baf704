"""Peers' loops: found in bytes whatever their addresses, stored as counts, bound by one model."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import uarch, uarches
from ghashgen.arch.x86_64 import ARCH
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.forms import form_of
from ghashgen.arch.x86_64.instructions import class_of
from ghashgen.cli.verbs import model as command
from ghashgen.cli.verbs.options import build_folder, default_out
from ghashgen.cost.audit import loop as group_loop
from ghashgen.cost.audit import region
from ghashgen.cost.bound import histogram_bound, port_bound
from ghashgen.cost.count import Counted, classes, count, memory_operands, toml
from ghashgen.cost.histogram import histogram
from ghashgen.cost.loops import blocks, largest, loops
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.lab.bench import peers as bench_peers
from ghashgen.lab.model import peers as stored
from ghashgen.lab.model.peers import STORED, parse, peers, recount
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text

classify = ARCH.decoder.audit_class


SPR = uarch("sapphirerapids")
HEAD = """[[peer]]
name = "toy"
project = "Toy"
version = "1"
file = "toy.asm"
how = "assembled"
"""

TOY = """
default rel
section .text
global helper, toy_ghash, other
helper:
    vpclmulqdq xmm0, xmm1, xmm2, 0
    ret
toy_ghash:
    cmp rdx, 64
    jb .tail
.group:
    test rcx, rcx
    jnz .have                       ; what is made once
    vpclmulqdq xmm4, xmm5, xmm6, 0
    vpclmulqdq xmm4, xmm5, xmm6, 17
    inc rcx
.have:
    vmovdqu xmm0, [rsi]
    vpclmulqdq xmm1, xmm0, xmm2, 0
    vpclmulqdq xmm3, xmm0, [rdi], 17
    vpclmulqdq xmm7, xmm0, xmm2, 1
    vpxor xmm1, xmm1, xmm3
    vpshufb xmm1, xmm1, xmm7
    add rsi, 64
    sub rdx, 64
    je .end
    jmp .group
.tail:
    vpclmulqdq xmm1, xmm0, xmm2, 0
    call helper
    sub rdx, 16
    jnz .tail
.last:
    vpclmulqdq xmm1, xmm0, xmm2, 0
    sub rdx, 16
    add rsi, 32
    jnz .last
.end:
    ret
other:
    vpclmulqdq xmm1, xmm0, xmm2, 0
    dec rdx
    jnz other
    ret
quiet:
"""


@cache
def toy(before: str = "") -> bytes:
    """The toy object, with padding before its functions."""
    text = TOY.replace("helper:\n", f"{before}\nhelper:\n", 1)
    return assemble_text(find_nasm(), "toy", text, "elf64")


@pytest.fixture(scope="module")
def counted() -> Counted:
    return count(toy(), "toy_ghash")


def test_functions_without_a_size_end_where_the_next_begins() -> None:
    found = read_object(toy()).functions
    assert set(found) == {"helper", "toy_ghash", "other"}
    assert found["helper"][1] == found["toy_ghash"][0]
    assert found["toy_ghash"][1] == found["other"][0]


def test_a_pass_is_the_shortest_way_round_and_calls_end_it() -> None:
    found = loops(toy(), "toy_ghash")
    # Group and last; the loop that calls is none.
    assert [(body.products, len(body.instructions)) for body in found] == [(3, 12), (1, 4)]
    assert largest(found, "toy").head == found[0].head
    assert blocks(found[0]) == 4


def test_where_a_function_stands_does_not_matter(counted: Counted) -> None:
    moved = count(toy("times 333 nop"), "toy_ghash")
    assert moved.text_sha256 != counted.text_sha256
    assert replace(moved, text_sha256=counted.text_sha256) == counted


def test_forms_pairs_classes_and_features_are_counted(counted: Counted) -> None:
    assert counted.body.forms["vpclmulqdq x,x,x,i8"] == 2
    assert counted.body.forms["vpclmulqdq x,x,m128,i8"] == 1
    assert counted.body.instructions == 12
    assert dict(counted.body.pairs) == {("sub r64,i8", "je l"): 1, ("test r64,r64", "jne l"): 1}
    assert counted.features == ("AVX", "PCLMULQDQ")
    by_class = classes(counted.body)
    assert (by_class["clmul"], by_class["shuffle"], by_class["xor"]) == (3, 1, 1)
    assert (by_class["load"], memory_operands(counted.body)) == (1, 1)


@pytest.mark.parametrize(
    ("symbol", "named"),
    [
        ("gcm_ghash", "no global symbol 'gcm_ghash'.*those with ghash: toy_ghash"),
        ("helper", "helper has no loop with a carry-less product"),
        ("other", "no multiple of 16.*--blocks"),
    ],
)
def test_what_cannot_be_counted_is_refused(symbol: str, named: str) -> None:
    with pytest.raises(GhashgenError, match=named):
        count(toy(), symbol)
    assert count(toy(), "other", 3).blocks == 3


def test_steps_that_differ_need_the_blocks_said() -> None:
    last = loops(toy(), "toy_ghash")[1]
    with pytest.raises(GhashgenError, match="by 16 and 32 bytes"):
        blocks(last)


def test_what_is_printed_reads_back_as_what_was_counted(counted: Counted) -> None:
    (peer,) = parse(HEAD + toml(counted), "toy.toml")
    assert peer.loop == counted
    body = largest(loops(toy(), "toy_ghash"), "toy").instructions
    for table in uarches().values():
        assert histogram_bound(peer.loop.body, table) == port_bound(body, table)


def test_a_class_is_the_same_from_a_form_and_from_its_instruction() -> None:
    code = read_object(toy())
    every = [i for i in code.instructions.values() if not i.is_invalid]
    assert [class_of(form_of(i)) for i in every] == [classify(i) for i in every]
    assert class_of("vextracti128 m128,y,i8") == "store"
    assert class_of("vxorps x,x,x") == "xor"
    assert class_of("lea r64,agen") == "other"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (
            '"vpshufb x,x,x"',
            '"vpshufb x,x,z"',
            "toy, holds.* no instruction has the form 'vpshufb x,x,z'",
        ),
        ('"vpshufb x,x,x"', '"vpshafb x,x,x"', "'vpshafb x,x,x'"),
        ('"vpxor x,x,x" = 1', '"vpxor x,x,x" = 0', r"forms\.vpxor x,x,x: expected int >= 1"),
        ('"vpxor x,x,x" = 1', '"vpxor x,x,x" = true', "vpxor x,x,x: expected int, got bool"),
        ("blocks = 4", "blocks = 0", "blocks: expected int >= 1"),
        ('"sub r64,i8 + je l" = 1', '"sub r64,i8 + je l" = 2', "'sub r64,i8 . je l'"),
        ('"sub r64,i8 + je l"', '"cmp r64,i8 + je l"', "'cmp r64,i8 . je l'"),
        ('how = "assembled"\n', "", "lacks 'how'"),
        ("features = ", "feature = ", "unknown key 'feature'|lacks 'features'"),
        ('version = "1"', 'version = "1"\nspeed = 3', "unknown key 'speed'"),
        ("[[peer]]", "[[peer]", "holds no peers' loops: "),
    ],
)
def test_a_bad_file_is_refused_by_name(counted: Counted, old: str, new: str, named: str) -> None:
    good = HEAD + toml(counted)
    assert old in good
    with pytest.raises(GhashgenError, match=named) as refusal:
        parse(good.replace(old, new), "toy.toml")
    assert refusal.value.cause.startswith("toy.toml")


def test_a_name_twice_is_refused(counted: Counted) -> None:
    good = HEAD + toml(counted)
    with pytest.raises(GhashgenError, match="two peers"):
        parse(good + good, "toy.toml")


def test_a_changed_count_changes_the_bound() -> None:
    text = STORED.read_text(encoding="utf-8")
    (before,) = (peer for peer in peers() if peer.name == "boringssl_vpclmulqdq_avx512")
    products = before.loop.body.forms["vpclmulqdq z,z,z,i8"]
    start = text.index('name = "boringssl_vpclmulqdq_avx512"')
    changed = text[start:].replace(
        f'"vpclmulqdq z,z,z,i8" = {products}', f'"vpclmulqdq z,z,z,i8" = {products + 4}', 1
    )
    after = next(p for p in parse(text[:start] + changed, "x") if p.name == before.name)
    old, new = (histogram_bound(peer.loop.body, SPR) for peer in (before, after))
    assert (old.busiest, new.cycles - old.cycles) == (("p5",), 4.0)


def test_stored_loops_say_what_their_functions_are_known_to_do() -> None:
    found = {peer.name: peer.loop for peer in peers()}
    for name, products in (
        # Four products per block of a lane, and a reduction of two or three.
        ("boringssl_vpclmulqdq_avx512", 4 * 16 // 4 + 2),
        ("ipsecmb_1_3_avx512", 4 * 48 // 4 + 3),
        # Karatsuba: three a block, and a reduction of two.
        ("openssl_3_0_avx", 3 * 8 + 2),
    ):
        assert classes(found[name].body)["clmul"] == products
    # The same code under two names.
    assert found["boringssl_avx"].body == found["openssl_3_0_avx"].body
    for peer in peers():
        assert all(peer.loop.body.forms.values())
        assert any(not table.without(peer.loop.features) for table in uarches().values())


@pytest.mark.parametrize("peer", [p for p in peers() if p.library], ids=lambda p: p.name)
def test_the_installed_library_gives_the_stored_counts(peer: stored.Peer) -> None:
    found = recount(peer)
    assert found is not None
    if found.state in ("absent", "other build"):
        pytest.skip(found.said)
    assert found.state == "same", found.said


def test_a_recount_notices_a_wrong_count_and_names_what_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Counted
) -> None:
    library = tmp_path / "libtoy.a"
    data = toy()
    header = b"toy.o/".ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8)
    library.write_bytes(b"!<arch>\n" + header + str(len(data)).encode().ljust(10) + b"`\n" + data)
    (peer,) = parse(HEAD + 'library = "libtoy.a"\nmember = "toy.o"\n' + toml(counted), "x")
    monkeypatch.setattr(stored, "installed", lambda name: library)
    assert getattr(recount(peer), "state", "") == "same"
    elsewhere = replace(peer, loop=replace(counted, text_sha256=""))
    assert getattr(recount(elsewhere), "state", "") == "other build"
    wrong = replace(peer, loop=replace(counted, blocks=8))
    assert getattr(recount(wrong), "state", "") == "differs"
    gone = replace(peer, member="gone.o")
    assert "gone.o" in getattr(recount(gone), "said", "")
    monkeypatch.setattr(stored, "installed", lambda name: None)
    assert getattr(recount(peer), "state", "") == "absent"
    assert recount(replace(peer, library="")) is None
    assert bench_peers.INSTALL.startswith("apt-get")


def invoke(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command.COMMAND, words)
    refused = isinstance(result.exception, GhashgenError)
    return result.exit_code, str(result.exception) if refused else result.stdout


def test_the_command_counts_an_object(tmp_path: Path, counted: Counted) -> None:
    obj = tmp_path / "toy.o"
    obj.write_bytes(toy())
    assert invoke("--count", str(obj), "--symbol", "toy_ghash") == (0, toml(counted))
    answered = json.loads(invoke("--count", str(obj), "--symbol", "toy_ghash", "--json")[1])
    assert (answered["symbol"], answered["blocks"]) == ("toy_ghash", 4)
    assert "needs --symbol" in invoke("--count", str(obj))[1]
    assert "need --count" in invoke("--symbol", "toy_ghash")[1]
    assert "exclude each other" in invoke("--check", "--write")[1]
    assert "no table for" in invoke("--uarch", "core2")[1]
    (tmp_path / "lib.a").write_bytes(b"!<arch>\n")
    assert "--member" in invoke("--count", str(tmp_path / "lib.a"), "--symbol", "x")[1]
    assert "not an ELF object" in invoke("--count", __file__, "--symbol", "x")[1]


def test_our_own_loop_is_found_as_a_peer_would_be(tmp_path: Path) -> None:
    """A check of the search against loops that an audit counts."""
    names = ("ghash_avx_k_clmul1_x8", "ghash_avx2_winograd_clmul1_x8")
    where = target("sysv")
    for item in build(
        choose_of(Kernel, Choice(name=names)), where, default_out(), build_folder("obj")
    ):
        data = item.obj.read_bytes()
        symbol = where.symbol(item.kernel.name)
        known = group_loop(read_object(data), f"{symbol}_update")
        found = count(data, f"{symbol}_update")
        assert found.body == histogram(ARCH.decoder, known)
        assert found.blocks == item.kernel.blocks
        assert classes(found.body) == dict(region(ARCH.decoder, known).classes)
        assert memory_operands(found.body) == region(ARCH.decoder, known).memory_operands
