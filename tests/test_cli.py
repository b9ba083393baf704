"""The command line as a user meets it: output, refusals, exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cpus import AS_FOUND, NO_PCLMULQDQ, lacking

REFUSED = 2


def ghashgen(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ghashgen", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["generate", "--isa", "neon"], "unknown isa 'neon'"),
        (["generate", "--multiply", "toom"], "unknown multiply 'toom'"),
        (["audit", "--blocks", "0"], "blocks must be 1 to 48, not 0"),
        (["generate", "--blocks", "49"], "blocks must be 1 to 48, not 49"),
        (
            ["generate", "--isa", "avx", "--multiply", "k", "--reduce", "clmul2", "--blocks", "4"],
            "takes a 256-bit product",
        ),
        (["generate", "--isa", "avx", "--order", "natural", "--blocks", "3"], "needs GFNI"),
        (["generate", "--isa", "avx", "--fold", "end", "--blocks", "4"], "adds up lanes"),
        (["generate", "--isa", "avx", "--powers", "registers", "--blocks", "16"], "registers"),
        (["generate", "--isa", "avx", "--multiply", "k", "--blocks", "5"], "give --out"),
        (["generate", "--abi", "aapcs", "--out", "-", "--name", "paper_baseline"], "unknown abi"),
        (["validate", "--name", "nobody"], "no kernel of the catalogue is called 'nobody'"),
        (["prove", "--theorem", "nothing-like-it"], "nothing-like-it"),
        (["prove-object", "absent.o"], "no such file"),
    ],
)
def test_a_refusal_is_one_line_with_cause_and_status_2(words: list[str], cause: str) -> None:
    done = ghashgen(*words)
    assert done.returncode == REFUSED
    assert cause in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_missing_assembler_is_named_with_its_remedy(tmp_path: Path) -> None:
    done = ghashgen(
        *("generate", "--name", "paper_baseline", "--out", str(tmp_path / "out")),
        env={"GHASHGEN_NASM": "no-such-nasm"},
    )
    assert done.returncode == REFUSED
    assert "nasm not found" in done.stderr
    assert "install it" in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_kernel_is_printed_and_assembles_to_what_the_catalogue_has() -> None:
    done = ghashgen("generate", "--name", "paper_optimized", "--out", "-")
    root = Path(__file__).parent.parent
    assert done.returncode == 0
    assert done.stdout == (root / "generated/avx/paper_optimized.asm").read_text()


def test_list_filters_by_axis_and_speaks_json() -> None:
    done = ghashgen("list", "--isa", "sse", "--multiply", "winograd", "--op", "ghash", "--json")
    kernels = json.loads(done.stdout)
    assert {kernel["isa"] for kernel in kernels} == {"sse"}
    assert {kernel["multiply"] for kernel in kernels} == {"winograd"}
    assert {1, 2, 4, 6, 8, 12, 16} == {kernel["blocks"] for kernel in kernels}


def test_audit_counts_table_11() -> None:
    done = ghashgen("audit", "--name", "paper_baseline", "--name", "paper_optimized", "--json")
    baseline, optimized = json.loads(done.stdout)
    assert baseline["single"]["instructions"] == 18
    assert optimized["single"]["instructions"] == 10


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_validate_says_how_and_passes() -> None:
    done = ghashgen("validate", "--name", "ghash_sse_k_clmul1_x1", "--json")
    (result,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["ok"]
    needs = ("sse2", "ssse3", "pclmulqdq")
    assert result["how"] == ("emulated" if lacking(needs) else "native")
    assert result["longest_tail"] == 63


def test_prove_covers_every_length_of_a_kernel_and_prove_object_agrees(tmp_path: Path) -> None:
    done = ghashgen("prove", "--name", "ghash_avx_k_clmul1_x1", "--json")
    (verdict,) = json.loads(done.stdout)
    assert verdict["proved"]
    update = next(f for f in verdict["functions"] if f["operation"] == "update")
    assert {t["what"] for t in update["theorems"]} == {"function", "memory", "constant-time", "abi"}
    assert {t["method"] for t in update["theorems"]} == {"execution", "induction"}

    asm, obj = tmp_path / "k.asm", tmp_path / "k.o"
    out = ghashgen("generate", "--name", "ghash_avx_k_clmul1_x1", "--out", "-").stdout
    asm.write_text(out)
    subprocess.run(["nasm", "-f", "elf64", "-o", obj, asm], check=True)
    right = ghashgen("prove-object", str(obj), "--name", "ghash_avx_k_clmul1_x1")
    assert right.returncode == 0
    assert "proved" in right.stdout
    # The other half of an operand, in one product of the last loop.
    lines = out.splitlines()
    at = max(i for i, line in enumerate(lines) if "vpclmulqdq" in line and ", 0x11" in line)
    lines[at] = lines[at].replace(", 0x11", ", 0x01")
    wrong = "\n".join(lines) + "\n"
    asm.write_text(wrong)
    subprocess.run(["nasm", "-f", "elf64", "-o", obj, asm], check=True)
    refuted = ghashgen("prove-object", str(obj), "--name", "ghash_avx_k_clmul1_x1")
    assert refuted.returncode == REFUSED
    assert "NOT proved" in refuted.stdout
    assert "H^1" in refuted.stdout


@pytest.mark.cpu
def test_doctor_lists_what_is_there() -> None:
    done = ghashgen("doctor", "--json")
    found = {finding["item"]: finding for finding in json.loads(done.stdout)}
    assert found["python"]["ok"]
    assert found["nasm"]["ok"]
    assert {"cpu: sse", "cpu: avx", "cpu: avx512", "peachpy", "bochscpu"} <= found.keys()
    assert bool(found["cpu: sse"]["found"]) == (not lacking(("sse2", "ssse3", "pclmulqdq")))


def test_an_interrupt_ends_with_status_130() -> None:
    source = (
        "import os, signal, sys; from ghashgen import cli;"
        "interrupt = lambda *_: os.kill(os.getpid(), signal.SIGINT);"
        "cli.Verbs.list_commands = interrupt; sys.argv = ['ghashgen', '--help']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "ghashgen: interrupted"


def test_misuse_and_help_keep_their_status() -> None:
    wrong = ghashgen("list", "--colour")
    assert wrong.returncode == REFUSED
    assert "No such option" in wrong.stderr
    assert ghashgen("--help").returncode == 0
    assert ghashgen("list", "--help").returncode == 0
    assert ghashgen().returncode == wrong.returncode
