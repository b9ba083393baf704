"""Which calls of ghashgen vendor are refused, and what its record says of kernels and targets."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.verbs import called, refused

from ghashgen.check import evidence, vendoring
from ghashgen.kernels.core import Point
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.kernels.target import Target
from ghashgen.output import maker
from ghashgen.output.artefact import Artefact
from ghashgen.output.generate import made
from ghashgen.output.hosts.registry import DEFAULT, hosts
from ghashgen.support.paths import project_root

pytestmark = pytest.mark.usefixtures("own_cache")


ONE = "ghash_sse_k_clmul1_x1"


def done(*words: object) -> str:
    return called("vendor", *words).output


Edit = Callable[[Artefact], Artefact]


def faulty(monkeypatch: pytest.MonkeyPatch, edit: Edit) -> None:
    def with_a_fault(kernels: Sequence[Point], *rest: object) -> tuple[Artefact, ...]:
        return tuple(map(edit, made(kernels, *rest)))  # type: ignore[arg-type]

    monkeypatch.setattr(vendoring, "made", with_a_fault)


def wrong_product(artefact: Artefact) -> Artefact:
    """One carry-less product takes the other half of an operand."""
    line = next(
        line for line in artefact.text.splitlines() if "clmulqdq" in line and ", 0x00" in line
    )
    text = artefact.text.replace(line, line.replace(", 0x00", ", 0x01"), 1)
    return replace(artefact, text=text)


def test_a_file_with_other_code_than_was_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty(monkeypatch, wrong_product)
    said = refused("vendor", "--into", tmp_path, "--name", ONE)
    assert f"{ONE} is not proved: the object that was proved has other code than the file" in said
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_kernel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ghashgen.arch.objects import read_object
    from ghashgen.arch.x86_64.assemblers import find_nasm
    from ghashgen.support.toolchain import assemble_text

    def wrong(artefact: Artefact) -> Artefact:
        bad = wrong_product(artefact)
        data = assemble_text(find_nasm(), "bad", bad.text, "elf64")
        return replace(bad, code=read_object(data).code)

    faulty(monkeypatch, wrong)
    said = refused("vendor", "--into", tmp_path / "new", "--name", ONE)
    assert f"{ONE} is not proved: function: {ONE}_" in said
    assert "nothing was written" in said
    assert not (tmp_path / "new").exists()
    assert "1 NOT PROVED" in done("--into", tmp_path / "new", "--name", ONE, "--unproved")
    text = (tmp_path / "new" / "VENDORED").read_text()
    assert f"NOT PROVED: function: {ONE}_" in text
    assert "proved from these bytes" not in text
    assert "--unproved" in text


def test_a_kernel_that_the_prover_does_not_read_needs_a_word(tmp_path: Path) -> None:
    words = ("--into", tmp_path, "--isa", "pmull", "--multiply", "k", "--blocks", "1")
    said = refused("vendor", *words)
    assert "for AArch64, which the prover does not read; pass --unproved" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "compares"),
    [
        (
            "gcm128_avx_k_clmul1_x8",
            "Exception: one branch of open depends on whether the tag matches",
        ),
        (
            "gcm128_avx_winograd_clmul1_x8_streams",
            "Exception: one branch of open and one of verify depends on whether the tag matches",
        ),
        (ONE, ""),
    ],
)
def test_the_record_says_where_time_depends_on_a_tag(
    tmp_path: Path, name: str, compares: str
) -> None:
    """By the functions that a kernel has; nothing is proved for this test."""
    (kernel,) = look_up(Choice(name=(name,))).kernels
    order = vendoring.Order((kernel,), (Target(),), hosts()[DEFAULT], ("--name", name))
    prepared = vendoring.prepare(order, tmp_path, False)
    vendoring.write(prepared, [evidence.Evidence(("planted",))], tmp_path, False)
    text = " ".join((tmp_path / "VENDORED").read_text().replace("#", "").split())
    assert "constant-time no branch, address or shift count depends on a secret" in text
    assert compares in text
    assert ("whether the tag matches" in text) == bool(compares)


def test_what_emitted_files_depend_on_is_all_that_they_may_import() -> None:
    from helpers.rooms import ROOMS

    assert set(maker.ROOMS) == set(ROOMS[: ROOMS.index("output") + 1])
    names = {name for name, _ in maker._files()}
    assert {"output/maker.py", "/templates/VENDORED.j2", "/LICENSE"} <= names
    assert {"arch/x86_64/uarch/zen4.toml", "/docs/bench/amd-26-2-1.json"} <= names
    assert "/harness/x86_64/cpu_detect.h" in names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "vendor takes --into FOLDER, --check FOLDER, --try HOST or --hosts; give one of"),
        (("--check", ".", "--hosts"), "vendor takes --into FOLDER, --check FOLDER, --try HOST"),
        (
            ("--into", "x", "--check", "x"),
            "vendor takes --into FOLDER, --check FOLDER, --try HOST or --hosts",
        ),
        (("--into", "x"), "you chose no kernels, and x has no VENDORED; choose some"),
        (("--check", "x"), "x has no VENDORED; write it: ghashgen vendor --into"),
        (("--check", "x", "--name", ONE), "--check takes no --name"),
        (("--into", "x", "--name", ONE, "--threads"), "add --segments, or leave out --threads"),
    ],
)
def test_a_wrong_call_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("vendor", *words)
    assert list(tmp_path.iterdir()) == []


def test_other_targets(tmp_path: Path) -> None:
    """A format that the prover does not read: the same instructions are proved as ELF."""
    words = ("--name", ONE, "--abi", "win64", "--syntax", "gas-att", "--prefix", "my_")
    done("--into", tmp_path, *words)
    text = (tmp_path / "VENDORED").read_text()
    assert f"#     cc -c my_{ONE}.S\n" in text
    assert f"#     ghashgen prove --name {ONE} --abi win64 --syntax gas-att --prefix my_\n" in text
    assert "The object was ELF with the same instructions" in text
    assert "ghashgen does not read relocations of win64." in text
    assert "prove-object" not in text
    assert "9 unchanged" in done("--into", tmp_path)


def test_a_kernel_that_no_cpu_is_given_is_named(tmp_path: Path) -> None:
    names = ("ghash_avx_k_clmul1_x8", "ghash_avx_k_clmul1_x1", "ghash_avx_schoolbook_shiftxor_x1")
    said = done("--into", tmp_path, *(word for name in names for word in ("--name", name)))
    dispatcher = (tmp_path / "ghashgen_dispatch.c").read_text()
    idle = [name for name in names if f"{name}_init" not in dispatcher]
    assert idle
    for name in names:
        assert (f"{name}: called by no dispatcher: another kernel is taken" in said) == (
            name in idle
        )
    text = (tmp_path / "VENDORED").read_text()
    assert text.count("called by   no dispatcher") == len(idle)


def test_the_hosts() -> None:
    others = [
        "aws-lc", "bearssl", "boringssl", "c", "go", "go-asm", "libgcrypt", "linux", "mbedtls",
        "nettle", "openssl", "openssl-asm", "rust", "rust-hash",
    ]  # fmt: skip
    assert list(hosts()) == sorted([*others, DEFAULT])
    assert hosts()[DEFAULT].place("avx/x.asm") == "x.asm"


def test_hosts_are_listed() -> None:
    listed = json.loads(called("vendor", "--hosts", "--json").stdout)
    assert [each["name"] for each in listed] == list(hosts())
    (c,) = (each for each in listed if each["name"] == "c")
    assert "ghashgen_test.c" in c["files"]
    assert c["use"] == "mixed"
    measured = {each["name"]: each["measured"] for each in listed}
    assert measured["plain"] is None
    assert {row["length"] for row in measured["c"]["times"]} >= {16, 16384}
    tried = {"aws-lc", "bearssl", "boringssl", "go", "go-asm", "libgcrypt", "mbedtls", "nettle"}
    tried |= {"c", "linux", "openssl", "openssl-asm", "rust", "rust-hash"}
    assert {each["name"] for each in listed if each["can_be_tried"]} == tried
    lines = called("vendor", "--hosts").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["host", *hosts()]


def test_what_is_said_of_speed_is_what_a_record_has() -> None:
    paths = [*(project_root() / "docs" / "hosts").glob("*.json")]
    # Other versions of a host are on the page alone.
    records = {path.stem: path for path in paths if "@" not in path.stem}
    assert "nettle" in records
    lines = called("vendor", "--hosts").stdout.splitlines()
    said = {line.split("\t")[0]: line.split("\t")[-1] for line in lines}
    for name, path in records.items():
        record = json.loads(path.read_text(encoding="utf-8"))
        (at_16,) = (t for t in record["times"] if t["length"] == 16 and not t["rekeyed"])
        for rival, ratio in at_16["ratio"].items():
            assert ratio == round(at_16["own"][rival] / at_16["ours"], 3)
            assert f"{ratio:.2f} times the speed of {rival} at 16 bytes" in said[name]
    assert {name for name in hosts() if said[name] != "-"} == {*records}
