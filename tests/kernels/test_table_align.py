"""The alignment that callers promise for a table: stated, proved, run, and no more relied on."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ
from helpers.verbs import called
from helpers.verify_objects import assembled

from ghashgen.arch.objects import read_object
from ghashgen.arch.registry import isas
from ghashgen.check.proofs import statement
from ghashgen.check.validation.runners import Emulated
from ghashgen.cli.main import cli
from ghashgen.cost.audit import audit
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import TABLE_ALIGNS, target
from ghashgen.output.artefact import make
from ghashgen.run.built import Built
from ghashgen.run.harness import Vector
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool
from ghashgen.verify.core.refutation import Category
from ghashgen.verify.prove import prove_object

SAMPLE = (
    Kernel("sse", "k", "clmul1", 2),
    Kernel("sse", "karatsuba", "shift-xor", 1, segments=True),
    Kernel("sse", "winograd", "clmul1", 2, pipeline="ahead", wipe=True),
    Kernel("sse", "k", "clmul1", 2, op="polyval"),
    Kernel("avx", "winograd", "clmul1", 2),
    Kernel("avx", "k", "clmul1", 4, swap="stack"),
    Kernel("avx2", "winograd", "clmul1", 4, fold="end"),
    Kernel("avx512vl", "k", "clmul1", 4, powers="registers"),
    Kernel("avx512", "winograd", "clmul1", 4, order="natural"),
)
each = pytest.mark.parametrize("kernel", SAMPLE, ids=lambda kernel: kernel.name)
AT_SIXTEEN = SAMPLE[0]
ANYWHERE = SAMPLE[4]


def text(kernel: Kernel | GcmKernel, align: int, nasm: Tool) -> str:
    return make(kernel, target(table_align=align), nasm).text


def test_the_smallest_that_costs_nothing_is_what_a_kernel_needs() -> None:
    for name, isa in isas().items():
        assert isa.operand_align == (16 if name == "sse" else 1)
    assert target().table_align_of(AT_SIXTEEN) == 16
    assert target().table_align_of(ANYWHERE) == 1
    assert target(table_align=8).table_align_of(AT_SIXTEEN) == 8
    assert target(table_align=64).table_align_of(ANYWHERE) == 64


@pytest.mark.parametrize("align", [-1, 3, 24, 128])
def test_an_alignment_that_is_no_power_of_two_up_to_a_line_is_refused(align: int) -> None:
    with pytest.raises(GhashgenError, match=f"aligned to {align} bytes; choose one of 1, 2, 4"):
        target(table_align=align)


@each
@pytest.mark.parametrize("align", [1, 8, 64])
def test_it_is_proved_for_the_promise(kernel: Kernel, align: int, nasm: Tool) -> None:
    proof = prove_object(
        assembled(text(kernel, align, nasm)), statement(kernel, kernel.name, "sysv", align)
    )
    assert proof.refutation is None, str(proof.refutation)


@pytest.mark.parametrize("kernel", SAMPLE[:4], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_instructions_that_count_on_sixteen_are_refuted_at_eight(
    kernel: Kernel, abi: str, nasm: Tool
) -> None:
    made = make(kernel, target(abi, "elf64"), nasm)
    elf = assembled(made.text)
    assert prove_object(elf, statement(kernel, kernel.name, abi)).refutation is None
    refutation = prove_object(elf, statement(kernel, kernel.name, abi, 8)).refutation
    assert refutation is not None
    assert refutation.category is Category.MEMORY
    assert "table needs 16-byte alignment, which is not assured" in str(refutation)


def test_a_planted_aligned_access_is_refuted_at_a_smaller_promise(nasm: Tool) -> None:
    good = text(ANYWHERE, 1, nasm)
    planted = re.sub(r"vmovdqu( +\[rdi)", r"vmovdqa\1", good, count=1)
    assert planted != good
    for align, refuted in ((16, False), (8, True), (1, True)):
        stated = statement(ANYWHERE, ANYWHERE.name, "sysv", align)
        refutation = prove_object(assembled(planted), stated).refutation
        assert (refutation is not None) == refuted
        assert refutation is None or refutation.category is Category.MEMORY


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ("mov [rdi], rdi", "bytes of a pointer"),
        ("vmovq xmm0, rdi\n    vmovdqu [rdi], xmm0", "a pointer or an unknown length in a vector"),
    ],
)
def test_a_table_that_holds_its_address_is_not_proved(planted: str, words: str, nasm: Tool) -> None:
    good = text(ANYWHERE, 1, nasm)
    source = re.sub(r"^    ret\b", f"    {planted}\n    ret", good, count=1, flags=re.MULTILINE)
    stated = statement(ANYWHERE, ANYWHERE.name, "sysv")
    assert words in str(prove_object(assembled(source), stated).refutation)


def test_a_promise_changes_bytes_where_instructions_need_alignment_and_nowhere_else(
    nasm: Tool,
) -> None:
    for kernel in SAMPLE:
        codes = {a: make(kernel, target(table_align=a), nasm).code for a in TABLE_ALIGNS}
        same = {a for a in TABLE_ALIGNS if codes[a] == codes[64]}
        assert same == ({16, 32, 64} if kernel.isa == "sse" else set(TABLE_ALIGNS))
        assert len(set(codes.values())) == (2 if kernel.isa == "sse" else 1)


def built(kernel: Kernel, align: int, source: str, folder: Path) -> Built:
    elf = assembled(source)
    obj = folder / f"{kernel.name}.o"
    obj.write_bytes(elf)
    return Built(kernel, obj, "sysv", align, audit(kernel, kernel.name, read_object(elf)), "test")


@each
@pytest.mark.parametrize("align", [1, 64])
def test_it_runs_wherever_the_promise_allows(
    kernel: Kernel, align: int, emulated: Emulated, nasm: Tool, tmp_path: Path
) -> None:
    item = built(kernel, align, text(kernel, align, nasm), tmp_path)
    assert emulated.check(item) == []
    key = bytes(range(16))
    assert emulated.updates(item, [Vector(key, key, (key * 5,))])[0] != key


def test_running_finds_an_aligned_access_and_a_table_that_knows_its_place(
    emulated: Emulated, nasm: Tool, tmp_path: Path
) -> None:
    counting_on_16 = text(AT_SIXTEEN, 16, nasm)
    assert emulated.check(built(AT_SIXTEEN, 16, counting_on_16, tmp_path)) == []
    found = emulated.check(built(AT_SIXTEEN, 8, counting_on_16, tmp_path))
    assert any(re.match("table at every distance .*misaligned", line) for line in found)

    good = text(ANYWHERE, 1, nasm)
    placed = re.sub(r"^    ret\b", "    mov [rdi], rdi\n    ret", good, count=1, flags=re.MULTILINE)
    found = emulated.check(built(ANYWHERE, 1, placed, tmp_path))
    assert any(re.match("init, table at every distance .*: another result", line) for line in found)
    before, label, body = good.partition(f"{ANYWHERE.name}_update:\n")
    wrong = f"{before}{label}    xor [rsi], dil\n{body.replace('    endbr64', '', 1)}"
    found = emulated.check(built(ANYWHERE, 1, wrong, tmp_path))
    words = "update, table at every distance .*: another result"
    assert any(re.match(words, line) for line in found)


def generate(*words: str) -> str:
    result = called("generate", *words)
    return result.output


def test_the_files_state_what_is_needed_and_what_is_best(tmp_path: Path) -> None:
    for name, words, align, best in (
        ("ghash_avx512_winograd_clmul1_x16", (), 1, 64),
        ("ghash_sse_k_clmul1_x8", (), 16, 16),
        ("ghash_sse_k_clmul1_x8", ("--table-align", "8"), 8, 16),
        ("ghash_avx_k_clmul1_x8", ("--table-align", "64"), 64, 64),
    ):
        out = tmp_path / "_".join((name, *words))
        generate("--name", name, *words, "--out", str(out))
        (entry,) = json.loads((out / "MANIFEST.json").read_text())["kernels"]
        assert (entry["table"]["align"], entry["table"]["best_align"]) == (align, best)
        header = (out / "ghashgen.h").read_text()
        assert f"#define {name.upper()}_TABLE_ALIGN {align}\n" in header
        assert f"#define {name.upper()}_TABLE_BEST_ALIGN {best}\n" in header
        assert "so you may copy it\n * as bytes to another such place" in header
        banner = (out / entry["file"]).read_text().partition("default rel")[0]
        assert ("at any address" if align == 1 else f"aligned to {align}") in banner
        assert (f"best aligned to {best}" in banner) == (best > align)
        assert "It holds no address: a copy of its bytes" in banner
        assert ("--table-align" in banner) == bool(words)


def test_a_folder_of_a_version_that_knew_one_alignment_is_read(tmp_path: Path) -> None:
    generate("--name", "ghash_avx_k_clmul1_x2", "--out", str(tmp_path))
    path = tmp_path / "MANIFEST.json"
    body = json.loads(path.read_text())
    del body["kernels"][0]["table"]["best_align"], body["kernels"][0]["left"]
    body["kernels"][0]["table"]["align"] = 16
    path.write_text(json.dumps(body))
    generate("--name", "ghash_avx_k_clmul1_x1", "--out", str(tmp_path))
    header = (tmp_path / "ghashgen.h").read_text()
    assert "#define GHASH_AVX_K_CLMUL1_X2_TABLE_ALIGN 16\n" in header
    assert "#define GHASH_AVX_K_CLMUL1_X2_TABLE_BEST_ALIGN 16\n" in header
    assert "#define GHASH_AVX_K_CLMUL1_X1_TABLE_ALIGN 1\n" in header


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_validate_takes_the_promise() -> None:
    words = ["validate", "--name", "ghash_sse_k_clmul1_x2", "--table-align", "8", "--json"]
    result = called(*words)
    (verdict,) = json.loads(result.stdout)
    assert verdict["ok"]


def test_prove_and_prove_object_take_the_promise(tmp_path: Path) -> None:
    words = ["prove", "--name", "ghash_sse_k_clmul1_x2", "--table-align", "8", "--json"]
    result = called(*words)
    (verdict,) = json.loads(result.stdout)
    assert verdict["proved"]
    obj = tmp_path / "k.o"
    obj.write_bytes(assembled(generate("--name", "ghash_sse_k_clmul1_x2", "--out", "-")))
    chosen = ["prove-object", str(obj), "--name", "ghash_sse_k_clmul1_x2", "--no-run"]
    assert CliRunner().invoke(cli, chosen).exit_code == 0
    refused = CliRunner().invoke(cli, [*chosen, "--table-align", "8"])
    assert refused.exit_code != 0
    assert "16-byte alignment, which is not assured" in refused.output + str(refused.exception)


def test_a_context_of_aes_gcm_may_lie_anywhere(nasm: Tool) -> None:
    kernel = GcmKernel(128, "sse", "k", "clmul1", 1, messages=False)
    spec = statement(kernel, kernel.name, "sysv", 1)
    assert prove_object(assembled(text(kernel, 1, nasm)), spec).refutation is None
    refutation = prove_object(assembled(text(kernel, 16, nasm)), spec).refutation
    assert refutation is not None
    assert "align" in refutation.message


@pytest.mark.parametrize("blocks", [4, 8])
def test_a_context_anywhere_costs_one_or_two_instructions_a_block(blocks: int, nasm: Tool) -> None:
    kernel = GcmKernel(128, "sse", "winograd", "clmul1", blocks)
    anywhere, aligned = (make(kernel, target(table_align=a), nasm).audit.group for a in (1, 16))
    assert blocks <= anywhere.instructions - aligned.instructions <= 2 * blocks
