"""Compact AES-GCM kernels: little code, one for both directions and for every key size."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers.gcm_sample import harness_of, here

from ghashgen.arch.registry import isas
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.choice.candidate import candidates
from ghashgen.kernels import manifest
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.catalogue import catalogue
from ghashgen.kernels.gcm.kernel import ROUNDS, GcmKernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import Artefact, make
from ghashgen.run.arguments import arguments
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.checking import check_function
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.search.certified import find_function
from ghashgen.verify.statements.gcm import GcmSpec
from ghashgen.verify.x86_64.elf import load_image

SHIPPED = tuple(kernel for kernel in catalogue() if kernel.compact)
MOST_CODE = 8192
SMALL = GcmKernel(256, "avx", "winograd", "clmul1", 4, compact=True)
PLACE = re.compile(r"    mov         (r\w+), \[r\w+ \+ \d+\] +; place of k_Nr, from k_0")


@cache
def emitted(kernel: GcmKernel, abi: str = "sysv") -> Artefact:
    return make(kernel, target(abi, "elf64"), find_nasm())


def test_one_for_each_set_takes_at_most_8_kilobytes() -> None:
    entries = manifest.load(project_root() / "generated")
    assert {kernel.isa for kernel in SHIPPED} == {"sse", "avx", "avx2", "avx512"}
    sizes = {kernel: sum(entries[kernel.name].code_bytes.values()) for kernel in catalogue()}
    assert max(sizes[kernel] for kernel in SHIPPED) <= MOST_CODE
    # As docs/gcm.md says.
    others = min(size for kernel, size in sizes.items() if not kernel.compact)
    assert 2 * max(sizes[kernel] for kernel in SHIPPED) < others


def test_the_header_declares_their_third_parameter() -> None:
    header = (project_root() / "generated" / "ghashgen.h").read_text(encoding="utf-8")
    for kernel in SHIPPED:
        declared = f"void {kernel.name}_init(void *ctx, const uint8_t *key, size_t key_len);"
        assert declared in header


def test_speed_does_not_choose_them() -> None:
    entries = manifest.load(project_root() / "generated").values()
    names = {candidate.name for candidate in candidates(entries, "gcm")}
    assert names
    assert names.isdisjoint(kernel.name for kernel in SHIPPED)


@pytest.mark.parametrize("kernel", [SMALL, *SHIPPED], ids=lambda kernel: kernel.name)
def test_four_functions_are_one_code(kernel: GcmKernel) -> None:
    sizes = emitted(kernel).audit.code_bytes
    assert max(sizes[name] for name in ("encrypt", "decrypt", "seal")) < 64 < sizes["open"]


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_they_wipe_where_that_is_asked(abi: str) -> None:
    audit = emitted(replace(SMALL, wipe=True), abi).audit
    assert not any(left.names for left in audit.left.values())
    assert any(left.names for left in emitted(SMALL, abi).audit.left.values())


def test_a_turn_with_wide_registers_makes_sixteen_counters_at_once() -> None:
    (kernel,) = (kernel for kernel in SHIPPED if kernel.isa == "avx512")
    _, _, behind = emitted(kernel).text.partition("\n.group:")
    turn, _, _ = behind.partition("\n.after_group:")
    assert turn.count("{k1}") == kernel.registers == 8
    assert turn.count("vpaddd") == 2


@here
@pytest.mark.parametrize("isa", ["sse", "avx", "avx2", "avx512"])
def test_a_message_is_as_another_library_seals_it_under_every_key(
    isa: str, harness_folder: Path
) -> None:
    kernel = GcmKernel(256, isa, "winograd", "clmul1", 4 * isas()[isa].lanes, compact=True)
    harness, own = harness_of(kernel, harness_folder), functions_of(kernel)
    size, align = kernel.layout.size, kernel.instruction_set.operand_align
    for key in (bytes(range(bits // 8)) for bits in ROUNDS):
        given = arguments(own["init"], {"key": key}, size, align)
        (init,) = harness.call(kernel.name, "init", [given])
        for length in (0, 1, 16, 63, 79, 130, 255, 16 * kernel.blocks, 40 * kernel.blocks + 7):
            text, iv, aad = bytes(k % 251 for k in range(length)), bytes(12), b"associated"
            values = {"ctx": init.buffers["ctx"], "iv": iv, "aad": aad, "in": text}
            call = arguments(own["seal"], values, size, align)
            (sealed,) = harness.call(kernel.name, "seal", [call])
            found = sealed.buffers["out"] + sealed.buffers["tag"]
            assert found == AESGCM(key).encrypt(iv, text, aad), (len(key), length)
            back = {**values, "in": sealed.buffers["out"], "tag": sealed.buffers["tag"]}
            (opened,) = harness.call(
                kernel.name, "open", [arguments(own["open"], back, size, align)]
            )
            assert opened.buffers["out"] == text


def test_every_key_size_has_to_be_proved() -> None:
    stated: GcmSpec = statement(SMALL, SMALL.name, "sysv")
    assert [*stated.key_sizes] == ["128", "192", "256"]
    image = load_image(assemble_text(find_nasm(), SMALL.name, emitted(SMALL).text, "elf64"))
    init = next(f for f in stated.functions if f.operation == "init_any")
    (found,) = find_function(image, stated, init).values()
    check_function(image, stated, init, found)
    for wrong in (found["keys"]["128"], {"keys": {**found["keys"], "192": None}}):
        with pytest.raises(Refutation):
            check_function(image, stated, init, wrong)
    del found["keys"]["192"]
    with pytest.raises(Refutation, match="no certificate for each of keys of 128, 192, 256 bits"):
        check_function(image, stated, init, found)


def test_a_length_of_a_key_is_that_of_a_statement_of_one_size() -> None:
    """A function with that parameter has a meaning without a table for keys of any size."""
    stated: GcmSpec = statement(SMALL, SMALL.name, "sysv")
    image = load_image(assemble_text(find_nasm(), SMALL.name, emitted(SMALL).text, "elf64"))
    init = next(f for f in stated.functions if f.operation == "init_any")
    one = replace(stated, cells=tuple(None if c == ("last", 16) else c for c in stated.cells))
    check_function(image, one, init, {"assertions": {}})


def test_another_place_of_the_last_key_is_refused() -> None:
    stated: GcmSpec = statement(SMALL, SMALL.name, "sysv")
    image = load_image(assemble_text(find_nasm(), SMALL.name, emitted(SMALL).text, "elf64"))
    cells = tuple(("last", 32) if cell == ("last", 16) else cell for cell in stated.cells)
    wrong = replace(stated, cells=cells)
    init = next(f for f in wrong.functions if f.operation == "init_any")
    with pytest.raises(Refutation, match="the last key's place is wrong"):
        find_function(image, wrong, init)


def test_a_code_that_skips_rounds_of_one_key_size_is_refused() -> None:
    right = emitted(SMALL).text
    # The last two rounds but one, of a loop over two, are left out where the key is longest.
    head, symbol, body = right.partition(f"{SMALL.name}_open:")
    wrong = head + symbol + PLACE.sub(r"\g<0>\n    and         \1, 0xdf", body)
    assert wrong != right
    image = load_image(assemble_text(find_nasm(), SMALL.name, wrong, "elf64"))
    stated: GcmSpec = statement(SMALL, SMALL.name, "sysv")
    encrypt = next(f for f in stated.functions if f.operation == "encrypt")
    with pytest.raises(Refutation):
        find_function(image, stated.key_sizes["256"], encrypt)


def test_states_of_the_next_group_are_proved_for_every_key_size_by_one_certificate() -> None:
    """Counter blocks with k_0 added go round the loop, where registers are free for them."""
    kernel = replace(SMALL, isa="avx512", blocks=16)
    image = load_image(assemble_text(find_nasm(), kernel.name, emitted(kernel).text, "elf64"))
    stated: GcmSpec = statement(kernel, kernel.name, "sysv")
    encrypt = next(f for f in stated.functions if f.operation == "encrypt")
    (found,) = find_function(image, stated, encrypt).values()
    assert found["keys"]["128"] == found["keys"]["256"]
    assert '["t", "entry", "key", 0]' in json.dumps(found["keys"]["256"])


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"key": 128}, "compact kernels take keys of every size"),
        ({"blocks": 3}, "3 blocks fill 3 registers"),
        ({"short": True}, "one code for them"),
        ({"streams": True}, "one code for them"),
    ],
)
def test_what_compact_excludes(axes: dict[str, object], words: str) -> None:
    with pytest.raises(GhashgenError, match=words):
        replace(SMALL, **axes)
