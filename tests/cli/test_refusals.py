"""What the command line refuses: one line with cause and remedy, status 2, nothing written."""

import errno
import os
from pathlib import Path

import pytest
from helpers.calling import here

from ghashgen.cli import main

REFUSED = 2


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
        (["validate", "--name", "nobody"], "no kernel is called 'nobody'"),
        (["attack", "--name", "ghash_sse_k_clmul1_x"], "did you mean ghash_sse_k_clmul1_x"),
        (["genrate"], "no verb is called 'genrate'; did you mean generate?"),
        (["bench", "--peer", "opensl", "--name", "paper_optimized"], "did you mean openssl?"),
        (["prove", "--theorem", "nothing-like-it"], "nothing-like-it"),
        (["prove-object", "absent.o"], "absent.o: no such file; assemble it"),
        (["prove-object", "/dev/null"], "/dev/null: not a regular file; assemble it"),
        (["prove-object", ""], "OBJ has an empty value; give it a value"),
        (["compare", ""], "STUDY has an empty value; give it a value"),
        (
            ["prove-object", __file__, "--name", "paper_optimized"],
            "refusals.py: not a relocatable ELF",
        ),
        (["prove-object", __file__, "--save-certificates", "/proc/c"], "/proc accepts no new file"),
        (["attack", "--keep", "/proc/found"], "/proc accepts no new file: "),
        (["bench", "--store", "/proc/x"], "/proc/x: unable to open database file; choose another"),
        (["tune", "--store", "/proc/x"], "/proc/x: unable to open database file; choose another"),
        (["report", "--kernels", "x" * 300], "MANIFEST.json: File name too long; choose another"),
        (["prove-object", "x" * 300], "File name too long; assemble it"),
        (["attack", "--count", "0"], "is not in the range x>=1"),
        (["attack", "--count", "-5"], "is not in the range x>=1"),
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


def test_a_file_that_may_not_be_read_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever verb opens it. Root can read any file, so the failure is planted."""

    def denied(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/elsewhere/ghashgen.h")

    monkeypatch.setattr(main, "cli", denied)
    done = here()
    assert done.returncode == REFUSED
    told = "ghashgen: /elsewhere/ghashgen.h: Permission denied; change its permissions\n"
    assert (done.stdout, done.stderr) == ("", told)
