"""What the verbs print, and which kernels they choose."""

import json
import subprocess
from pathlib import Path

import pytest
from helpers.calling import here
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking

from ghashgen.kernels.selection import catalogue

REFUSED = 2


def test_list_filters_by_axis_and_speaks_json() -> None:
    done = here("list", "--isa", "sse", "--multiply", "winograd", "--op", "ghash", "--json")
    kernels = json.loads(done.stdout)
    assert {kernel["isa"] for kernel in kernels} == {"sse"}
    assert {kernel["multiply"] for kernel in kernels} == {"winograd"}
    assert {1, 2, 4, 6, 8, 12, 16} == {kernel["blocks"] for kernel in kernels}


def test_list_shows_the_words_by_which_it_filters() -> None:
    done = here("list", "--many", "none", "--on-failure", "zero", "--tags", "standard", "--plain")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[1:]
    for row in rows[1:]:
        words = dict(zip(rows[0], row, strict=True))
        found = [words[axis] for axis in ("many", "on_failure", "tags")]
        assert found == ["none", "zero", "standard"]


def test_audit_counts_table_11() -> None:
    done = here("audit", "--name", "paper_baseline", "--name", "paper_optimized", "--json")
    baseline, optimized = json.loads(done.stdout)
    assert baseline["single"]["instructions"] == 18
    assert optimized["single"]["instructions"] == 10


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_validate_says_how_and_passes() -> None:
    done = here("validate", "--name", "ghash_sse_k_clmul1_x1", "--json")
    (result,) = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["ok"]
    needs = ("sse2", "ssse3", "pclmulqdq")
    assert result["how"] == ("emulated" if lacking(needs) else "native")
    assert result["longest_tail"] == 63
    points = result["random_points"]
    assert points["how"] == result["how"]
    assert points["bits"] >= (40 if points["how"] == "native" else 0.1)


@pytest.mark.cpu(AS_FOUND)
def test_validate_runs_more_if_all_is_asked_for() -> None:
    name = ("validate", "--name", "ghash_sse_k_clmul1_x1")
    (some,), (every,) = (
        json.loads(here(*name, *more, "--json").stdout) for more in ((), ("--all",))
    )
    assert some["ok"]
    assert every["ok"]
    if every["how"] == "native":
        assert every["cases"] > 8 * some["cases"]
        assert every["random_points"]["bits"] >= 128 > some["random_points"]["bits"]
    brief = here(*name, "--brief")
    assert brief.stdout == ""
    assert "agree with pyca/cryptography and CAVP: 1 of 1 kernel" in brief.stderr


def test_prove_says_in_a_line_how_many_identities_hold() -> None:
    done = here("prove", "--theorem", "h-shift", "--brief")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "1 identity proved\n")


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("more", [(), ("--emulate", "--no-random-points"), ("--abi", "win64")])
def test_validate_runs_kernels_whose_symbols_have_a_prefix(more: tuple[str, ...]) -> None:
    """With power and combine, which the harness calls by their own symbols too."""
    name = "ghash_sse_winograd_clmul1_x16_segments"
    done = here("validate", "--name", name, "--prefix", "foo_", *more, "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert result["ok"]
    assert result["name"] == name


def test_prove_and_audit_find_the_same_under_a_prefix() -> None:
    name = ("--name", "ghash_sse_k_clmul1_x1", "--json")
    audits = [here("audit", *name, *more).stdout for more in ((), ("--prefix", "foo_"))]
    assert audits[0] == audits[1].replace("foo_", "")
    (verdict,) = json.loads(here("prove", *name, "--prefix", "foo_").stdout)
    assert verdict["proved"]
    symbols = [function["symbol"] for function in verdict["functions"]]
    assert symbols == [f"foo_ghash_sse_k_clmul1_x1_{part}" for part in ("init", "mul", "update")]


def test_prove_covers_every_length_of_a_kernel_and_prove_object_agrees(tmp_path: Path) -> None:
    done = here("prove", "--name", "ghash_avx_k_clmul1_x1", "--json")
    (verdict,) = json.loads(done.stdout)
    assert verdict["proved"]
    update = next(f for f in verdict["functions"] if f["operation"] == "update")
    assert {t["what"] for t in update["theorems"]} == {"function", "memory", "constant-time", "abi"}
    assert {t["method"] for t in update["theorems"]} == {"certificate"}

    asm, obj = tmp_path / "k.asm", tmp_path / "k.o"
    out = here("generate", "--name", "ghash_avx_k_clmul1_x1", "--out", "-").stdout
    asm.write_text(out)
    subprocess.run(["nasm", "-f", "elf64", "-o", obj, asm], check=True)
    right = here("prove-object", str(obj), "--name", "ghash_avx_k_clmul1_x1", "--no-run")
    assert right.returncode == 0
    assert "proved" in right.stdout
    assert "not run: --no-run was given" in right.stdout
    # The other half of an operand, in one product of the last loop.
    lines = out.splitlines()
    at = max(i for i, line in enumerate(lines) if "vpclmulqdq" in line and ", 0x11" in line)
    lines[at] = lines[at].replace(", 0x11", ", 0x01")
    wrong = "\n".join(lines) + "\n"
    asm.write_text(wrong)
    subprocess.run(["nasm", "-f", "elf64", "-o", obj, asm], check=True)
    refuted = here("prove-object", str(obj), "--name", "ghash_avx_k_clmul1_x1", "--no-run")
    assert refuted.returncode == REFUSED
    assert "NOT proved" in refuted.stdout
    assert "H^1" in refuted.stdout


@pytest.mark.cpu
def test_doctor_lists_what_is_there() -> None:
    done = here("doctor", "--json")
    found = {finding["item"]: finding for finding in json.loads(done.stdout)}
    assert found["python"]["ok"]
    assert found["nasm"]["ok"]
    assert {f"cpu: {isa}, hash" for isa in ("sse", "avx", "avx512")} <= found.keys()
    assert {"peachpy", "extra: emulate"} <= found.keys()
    assert bool(found["cpu: sse, hash"]["found"]) == (not lacking(("sse2", "ssse3", "pclmulqdq")))


def test_a_pipe_gets_a_header_and_whole_names_between_tabs() -> None:
    done = here("list", COLUMNS="40")
    header, *lines = done.stdout.splitlines()
    assert header.split("\t")[:2] == ["kernel", "isa"]
    assert [line.split("\t")[0] for line in lines] == [kernel.name for kernel in catalogue()]
    assert {line.count("\t") for line in lines} == {header.count("\t")}
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["audit"], ["audit", "--per", "functions"], ["prove"]])
def test_every_table_of_kernels_is_cut_by_its_first_column(words: list[str]) -> None:
    done = here(*words, "--name", "paper_*")
    header, *lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert header.startswith("kernel\t")
    assert {line.split("\t")[0] for line in lines} == {"paper_baseline", "paper_optimized"}


def test_what_is_left_out_is_said_and_what_is_made_is_counted(tmp_path: Path) -> None:
    choice = ["--isa", "sse", "--isa", "avx2", "--order", "natural", "--multiply", "k"]
    out = str(tmp_path / "out")
    done = here("generate", *choice, "--blocks", "3", "--out", out)
    assert done.returncode == 0
    assert done.stdout.startswith("1 kernel (not in the catalogue), ghashgen.h")
    assert done.stderr.startswith("left out: (isa sse, multiply k, blocks 3, order natural): order")
    assert (tmp_path / "out/avx2/ghash_avx2_k_clmul1_x3_natural.asm").exists()


@pytest.mark.parametrize(
    ("words", "abi", "said"),
    [
        (["--format", "win64"], "win64", "--format win64 without --abi: --abi win64"),
        (
            ["--format", "win64", "--abi", "sysv"],
            "sysv",
            "the file is COFF, x86-64, and its functions follow System V AMD64 psABI, section 3.2",
        ),
        (["--format", "win64", "--abi", "win64"], "win64", ""),
        (["--abi", "win64"], "win64", ""),
        (["--format", "elf64"], "sysv", ""),
    ],
)
def test_a_format_without_a_convention_takes_its_own(words: list[str], abi: str, said: str) -> None:
    done = here("generate", "--name", "paper_optimized", "--out", "-", *words)
    assert done.returncode == 0
    assert f"; abi        {abi}: " in done.stdout
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


def test_plain_leaves_out_what_nobody_asked_for() -> None:
    axes = ("--isa", "avx", "--multiply", "winograd", "--blocks", "16", "--blocks", "32")
    every = json.loads(here("list", *axes, "--json").stdout)
    plain = json.loads(here("list", *axes, "--plain", "--json").stdout)
    # The catalogue has none of 32 blocks that swaps in registers, so that one is made.
    wanted = ["ghash_avx_winograd_clmul1_x16", "ghash_avx_winograd_clmul1_x32"]
    assert [kernel["name"] for kernel in plain] == wanted
    assert {"ghash_avx_winograd_clmul1_x16_wipe"} < {kernel["name"] for kernel in every}
    wiped = json.loads(here("list", *axes, "--plain", "--wipe", "--json").stdout)
    assert "ghash_avx_winograd_clmul1_x16_wipe" in {kernel["name"] for kernel in wiped}
    assert all(kernel["wipe"] and not kernel["segments"] for kernel in wiped)
    none = here("list", "--plain", "--name", "*_wipe")
    assert none.returncode == REFUSED
    assert "--plain excludes all of '*_wipe'" in none.stderr


def test_generate_says_how_many_kernels_do_more_than_was_asked_for(tmp_path: Path) -> None:
    axes = ("--isa", "sse", "--multiply", "winograd", "--blocks", "16", "--out")
    done = here("generate", *axes, str(tmp_path / "every"))
    assert "5 of the 6 kernels do more than you asked for (" in done.stderr
    assert "(op, wipe, pipeline, segments); --plain leaves them out" in done.stderr
    done = here("generate", *axes, str(tmp_path / "plain"), "--plain")
    assert done.stderr == ""
    assert done.stdout.startswith("1 kernel, ")
