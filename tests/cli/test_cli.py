"""The command line as a user meets it: output, refusals, exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from helpers.calling import here
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking

from ghashgen.cli.main import cli
from ghashgen.kernels.selection import catalogue
from ghashgen.lab.compare.registry import studies
from ghashgen.support.paths import cache_folder, kernels_folder

REFUSED = 2


def ghashgen(*words: str) -> subprocess.CompletedProcess[str]:
    """Call it as a program, where that is what is asked; imports alone take half a second."""
    program = [sys.executable, "-m", "ghashgen", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


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
        (["attack", "--name", "ghash_sse_k_clmul1_x"], "did you mean ghash_sse_k_clmul1_x"),
        (["genrate"], "no verb is called 'genrate'; did you mean generate?"),
        (["bench", "--peer", "opensl", "--name", "paper_optimized"], "did you mean openssl?"),
        (["prove", "--theorem", "nothing-like-it"], "nothing-like-it"),
        (["prove-object", "absent.o"], "no such file"),
        (["prove-object", __file__, "--name", "paper_optimized"], "cli.py: not a relocatable ELF"),
        (["prove-object", __file__, "--save-certificates", "/proc/c"], "/proc accepts no new file"),
        (["attack", "--keep", "/proc/found"], "/proc accepts no new file: "),
        (["bench", "--store", "/proc/x"], "/proc/x: unable to open database file; choose another"),
        (["list", "--key", "long"], "'long' is not a valid integer; see ghashgen list --help"),
        (["recommend", "--nokey"], "no such option '--nokey'. Did you mean '--key'? see ghash"),
        (["audit", "--ports", "zen4"], "got unexpected extra argument (zen4); see ghashgen audit"),
        (["tune", "--write", "set.toml"], "a chosen set is JSON; name it set.json"),
        (["recommend", "--cpu", ""], "--cpu has an empty value; give it a value, or leave it out"),
        (
            ["generate", "--name", "paper_optimized", "--out", ""],
            "--out has an empty value; give it",
        ),
        (["vendor", "--into="], "--into has an empty value; give it a value, or leave it out"),
        (["prove", "--theorem", ""], "--theorem has an empty value; give it a value, or leave it"),
        (["recommend", "--use", ""], "--use has an empty value; give it a value, or leave it out"),
        (["vendor", "--format="], "--format has an empty value; give it a value, or leave it out"),
        (["prove", "--identities", "--name", "paper_optimized"], "no kernel, so --identities"),
        (["list", "--family", "hash", "--key", "128"], "kernels of family hash have no axis 'key'"),
        (
            ["generate", "--name", "paper_optimized", "--out", "-", "--json"],
            "--out - prints the te",
        ),
        (["generate", "--check", "--threads"], "--check takes no --threads; leave it out"),
        (["generate", "--check", "--out", "-"], "--check takes no --out -; leave it out"),
        (
            ["recommend", "--cpu", "zen5", "--bytes", "1" + 23 * "0"],
            "hash the bits of a text as a number of 64 bits",
        ),
        (["recommend", "--cpu", "zen5", "--bytes", "68719476705", "--key", "128"], "at most 687"),
        (["list", "--blocks"], "option '--blocks' requires an argument; see ghashgen list --help"),
        (["recommend", "--cpu", "avx,aes"], "no CPU feature is called 'aes'; did you mean"),
        (["report", "--out", "/dev/null"], "/dev/null is not a folder; choose another --out"),
        (["bench", "--csv", "--json"], "--csv and --json exclude each other; leave one out"),
        (["compare", "--json", "tls", "--csv"], "--csv and --json exclude each other; leave one"),
        (["audit", "--ports", "--per", "block"], "cycles per group and per block; leave out --per"),
    ],
)
def test_a_refusal_is_one_line_with_cause_and_status_2(words: list[str], cause: str) -> None:
    done = here(*words)
    assert done.returncode == REFUSED
    assert cause in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (
            "generate --out - --name paper_optimized --abi sysv --abi win64",
            "--abi sysv and --abi w",
        ),
        ("generate --out - --name paper_optimized --format=elf64 --format=macho64", "--format elf"),
        ("validate --name paper_optimized --prefix a_ --prefix b_ --prefix a_", "--prefix a_ and "),
        ("vendor --into a --into b", "--into a and --into b exclude"),
        ("recommend --bytes 16 --bytes 64", "--bytes 16 and --bytes 64 exclude"),
        ("list --wipe --no-wipe", "--wipe and --no-wipe exclude each other"),
        ("prove --theorem a* --theorem b*", "--theorem a* and --theorem b* exclude"),
    ],
)
def test_an_option_of_one_value_is_not_given_two(words: str, given: str) -> None:
    """The last one would hold, unseen."""
    done = here(*words.split())
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert given in done.stderr
    assert done.stderr.endswith("; leave one out\n")
    assert len(done.stderr.splitlines()) == 1


def test_an_option_may_say_the_same_twice_and_those_of_several_values_differ() -> None:
    kernel = ("generate", "--out", "-", "--name", "paper_optimized")
    assert here(*kernel, "--abi", "sysv", "--abi", "sysv", "--force", "--force").returncode == 0
    assert here("list", "--wipe", "--isa", "avx", "--isa", "sse", "--wipe").returncode == 0


def test_a_missing_assembler_is_named_with_its_remedy(tmp_path: Path) -> None:
    done = here(
        *("generate", "--name", "paper_baseline", "--out", str(tmp_path / "out")),
        GHASHGEN_NASM="no-such-nasm",
    )
    assert done.returncode == REFUSED
    assert "nasm not found" in done.stderr
    assert "install it" in done.stderr
    assert not (tmp_path / "out").exists()
    doctor = here("doctor", GHASHGEN_NASM="no-such-nasm")
    assert (doctor.returncode, doctor.stderr) == (REFUSED, done.stderr)


def test_one_kernel_is_printed_and_assembles_to_what_the_catalogue_has() -> None:
    done = ghashgen("generate", "--name", "paper_optimized", "--out", "-")
    root = Path(__file__).parents[2]
    assert done.returncode == 0
    assert done.stdout == (root / "generated/avx/paper_optimized.asm").read_text()


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


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_with_status_130(name: str) -> None:
    source = (
        "import os, signal, sys; from ghashgen.cli import main as cli;"
        f"interrupt = lambda *_: os.kill(os.getpid(), signal.{name});"
        "cli.Verbs.list_commands = interrupt; sys.argv = ['ghashgen', '--help']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "ghashgen: interrupted"


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
    assert done.stdout.startswith("1 kernel (1 of them not in the catalogue), ghashgen.h")
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


def test_a_check_is_refused_before_anything_is_made_again(tmp_path: Path) -> None:
    check = ("generate", "--check", "--out", str(tmp_path))
    # Where nothing can be assembled, whoever is refused is refused at once.
    env = {"GHASHGEN_NASM": "no-such-nasm"}
    done = here(*check, **env)
    assert f"{tmp_path} has no MANIFEST.json to compare with" in done.stderr
    (tmp_path / "MANIFEST.json").write_text('{"schema": 1, "kernels": [')
    done = here(*check, **env)
    assert done.returncode == REFUSED
    assert "MANIFEST.json is not a manifest: Input data was truncated; restore it" in done.stderr
    done = here(*check, "--isa", "avx", **env)
    assert "--check compares a folder with the whole catalogue" in done.stderr


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    kernel = ("generate", "--name", "paper_optimized", "--out")
    for words, cause in (
        ((*kernel, str(tmp_path / ("x" * 300))), "File name too long; choose another --out"),
        (
            (*kernel, "-", "--prefix", "x" * 65),
            "a prefix has at most 64 characters, not 65; choose",
        ),
        ((*kernel, str(tmp_path)), "paper_optimized.asm is a folder; move it away"),
        ((*kernel, str(tmp_path), "--force"), "paper_optimized.asm is a folder; move it away"),
    ):
        (tmp_path / "avx" / "paper_optimized.asm").mkdir(parents=True, exist_ok=True)
        done = here(*words)
        assert done.returncode == REFUSED
        assert cause in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert here(*kernel, "-", "--prefix", "x" * 64).returncode == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
@pytest.mark.parametrize("words", [("generate", "--out"), ("vendor", "--into")])
def test_a_place_that_takes_no_files_is_named_with_another(words: tuple[str, str]) -> None:
    done = here(words[0], "--name", "paper_optimized", words[1], "/proc/x")
    assert done.returncode == REFUSED
    assert done.stderr.endswith(f"choose another {words[1]}\n")
    assert "change its permissions" not in done.stderr or os.getuid()


@pytest.mark.parametrize("wanted", ["0", "-5"])
def test_a_number_of_attempts_below_one_is_refused(wanted: str) -> None:
    done = here("attack", "--count", wanted)
    assert done.returncode == REFUSED
    assert "is not in the range x>=1" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["--help"]])
def test_a_reader_that_goes_away_hears_nothing_more(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "ghashgen", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.stderr == ""
    # --help is click's own.
    assert done.returncode == (1 if words == ["--help"] else 141)


def test_a_closed_standard_output_is_no_traceback() -> None:
    command = f"{sys.executable} -m ghashgen list --isa sse --op polyval >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ghashgen", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == REFUSED
    assert done.stderr == (
        "ghashgen: output: No space left on device; make room and run it again\n"
    )


def test_misuse_and_help_keep_their_status() -> None:
    wrong = ghashgen("list", "--flavour")
    assert wrong.returncode == REFUSED
    assert wrong.stderr == "ghashgen: no such option '--flavour'; see ghashgen list --help\n"
    assert ghashgen("--help").returncode == 0
    assert ghashgen("list", "--help").returncode == 0
    assert ghashgen().returncode == wrong.returncode


def test_helps_fit_80_columns_and_end_their_sentences() -> None:
    """What a terminal of that width shows of the tool, and of every verb."""
    with click.Context(cli, info_name="ghashgen", terminal_width=80) as whole:
        verbs = {name: cli.get_command(whole, name) for name in cli.list_commands(whole)}
        texts = {"ghashgen": cli.get_help(whole)}
    for name, command in verbs.items():
        assert command is not None
        with click.Context(command, whole, info_name=name, terminal_width=80) as one:
            texts[name] = command.get_help(one)
        # The list reads it from the source of the verb.
        assert command.get_short_help_str(400) in " ".join(texts["ghashgen"].split())
    paths = (str(kernels_folder()), str(cache_folder()))
    for name, text in texts.items():
        lines = [line for line in text.splitlines() if not any(path in line for path in paths)]
        assert max(map(len, lines)) <= 80, name
    commands = texts["ghashgen"].split("Commands:")[1]
    assert "..." not in commands
    assert "AES-GCM" in texts["ghashgen"].split("Options:")[0]
    assert all(study in texts["compare"] for study in studies())
