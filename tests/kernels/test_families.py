"""Families of kernels: the one that is there, and one from outside the package as a folder."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.plugging import plugged

from ghashgen import kernels as package
from ghashgen.arch.x86_64.abi import SYSV, WIN64
from ghashgen.compiler.pipeline import compile_kernel
from ghashgen.kernels import manifest, selection
from ghashgen.kernels.axes import Axis, name_of
from ghashgen.kernels.families import families, family_of, functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, all_axes, choose, choose_of, look_up, values_of
from ghashgen.kernels.target import Target
from ghashgen.output.generate import generate
from ghashgen.support.errors import GhashgenError

TOYS = Path(__file__).parents[1] / "toys" / "family"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from plugged(package, TOYS, monkeypatch)


def test_the_families_are_these() -> None:
    assert list(families()) == ["ctr", "gcm", "given", "hash"]
    kernel = Kernel("avx", "k", "clmul1", 8)
    assert family_of(kernel).catalogue() == catalogue()
    assert family_of(kernel).theorems(kernel) == [
        "aggregate-k-clmul1-reflected",
        "horner-n",
        "multiply-k-reflected",
        "reduce-clmul1-reflected",
    ]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("abi", [SYSV, WIN64], ids=lambda abi: abi.name)
def test_a_family_of_ones_own_is_found_and_compiled(abi: object) -> None:
    assert list(families()) == ["ctr", "gcm", "given", "hash", "toy-copy"]
    small, large = families()["toy-copy"].catalogue()
    assert list(functions_of(large)) == ["copy"]
    codes = {
        kernel.name: [
            op.code
            for op in compile_kernel(kernel, abi)["copy"].function.ops  # type: ignore[arg-type]
        ]
        for kernel in (small, large)
    }
    one = ["movdqu.load", "movdqu.store"]
    assert codes == {"copy_x1": ["endbr64", *one, "ret"], "copy_x2": ["endbr64", *one, *one, "ret"]}
    with pytest.raises(GhashgenError, match="blocks must be 1 to 4, not 9"):
        type(small)(9)


@pytest.mark.usefixtures("toy")
def test_a_choice_is_among_all_families() -> None:
    assert {kernel.family for kernel in choose(Choice())} == {"ctr", "gcm", "hash", "toy-copy"}
    names = [kernel.name for kernel in choose(Choice())]
    assert len(set(names)) == len(names)
    both = choose(Choice(blocks=(2,)))
    assert {kernel.family for kernel in both} == {"hash", "toy-copy"}
    assert {kernel.blocks for kernel in both} == {2}  # type: ignore[attr-defined]
    # What one family alone has leaves it alone, by axis, by value and by name.
    assert {kernel.family for kernel in choose(Choice(blocks=(2,), isa=("avx",)))} == {"hash"}
    assert {kernel.family for kernel in choose(Choice(blocks=(16,)))} == {"ctr", "gcm", "hash"}
    assert [kernel.name for kernel in choose(Choice(name=("copy_*",)))] == ["copy_x1", "copy_x2"]
    assert values_of("blocks") == tuple(map(str, range(1, 49)))


@pytest.mark.usefixtures("toy")
def test_what_is_made_is_of_the_default_family_unless_another_is_named() -> None:
    found = look_up(Choice(blocks=(3,), isa=("avx",), multiply=("k",)))
    assert [kernel.name for kernel in found.made] == ["ghash_avx_k_clmul1_x3"]
    assert {kernel.family for kernel in look_up(Choice(blocks=(3,))).made} == {"hash"}
    (own,) = look_up(Choice(family=("toy-copy",), blocks=(3,))).made
    assert (own.name, own.family) == ("copy_x3", "toy-copy")
    made = look_up(Choice(key=(128,), isa=("avx",), blocks=(5,))).made
    assert {kernel.family for kernel in made} == {"gcm"}


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("choice", "cause"),
    [
        (
            Choice(family=("toy-cpoy",)),
            "unknown family 'toy-cpoy'; did you mean toy-copy? choose one of ctr, gcm, given, ",
        ),
        (
            Choice(family=("toy-copy",), isa=("avx",)),
            "kernels of family toy-copy have no axis 'isa'; leave it out",
        ),
        (Choice(family=("toy-copy",), blocks=(9,)), "blocks must be 1 to 4, not 9"),
        (Choice(blocks=(49,)), "blocks must be 1 to 48, not 49"),
    ],
)
def test_a_choice_that_no_family_has_is_refused(choice: Choice, cause: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        look_up(choice)
    assert str(refusal.value).startswith(cause)


@pytest.mark.usefixtures("toy")
def test_what_works_on_one_family_refuses_kernels_of_others() -> None:
    assert len(choose_of(Kernel, Choice())) == len(catalogue())
    for choice in (Choice(family=("toy-copy",)), Choice(name=("copy_x1",))):
        with pytest.raises(GhashgenError, match="works on GHASH and POLYVAL alone"):
            choose_of(Kernel, choice)


@pytest.mark.usefixtures("toy")
def test_families_that_differ_on_the_kind_of_an_axis_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(families()["toy-copy"], axes=(Axis("wipe", "", lambda: ("a", "b"), "a"),))
    monkeypatch.setattr(selection, "in_order", lambda: [families()["hash"], other])
    with pytest.raises(ValueError, match="differ on the kind of values that wipe has"):
        all_axes()


def test_a_kernel_of_another_family_is_read_back_from_a_manifest(tmp_path: Path) -> None:
    kernel = GcmKernel(256, "avx", "k", "clmul1", 2)
    generate([kernel], Target(), tmp_path)
    entry = manifest.load(tmp_path)[kernel.name]
    assert entry.kernel == kernel
    assert (entry.family, entry.axes["key"], entry.isa) == ("gcm", 256, "avx")
    assert entry.table.cells == kernel.layout.cells
    text = (tmp_path / manifest.NAME).read_text()
    assert manifest.dump([entry], manifest.companions(tmp_path)) == text
    banner = (tmp_path / entry.file).read_text()
    assert "; AES-256-GCM (SP 800-38D), 2 blocks per group, AES of FIPS 197.\n" in banner


def ghashgen(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, where the toy is a folder of the package."""
    code = (
        f"from ghashgen import kernels; kernels.__path__.append({str(TOYS)!r})\n"
        "from ghashgen.cli.main import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=os.environ | {"GHASHGEN_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_verbs_take_up_a_family_that_is_one_folder(tmp_path: Path) -> None:
    listed = ghashgen("list", "--family", "toy-copy", "--json", folder=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)[1] == {
        "name": "copy_x2",
        "family": "toy-copy",
        "blocks": 2,
        "table_bytes": 0,
        "provable": False,
    }
    assert ghashgen("list", "--name", "copy_*", folder=tmp_path).stdout.splitlines() == [
        "kernel\tblocks\ttable bytes",
        "copy_x1\t1\t0",
        "copy_x2\t2\t0",
    ]
    names = ("--name", "copy_x2", "--name", "ghash_avx_k_clmul1_x1")
    done = ghashgen("generate", *names, "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "2 kernels, ghashgen.h, ghashgen_dispatch.c, ghashgen_dispatch.h and MANIFEST.json in out\n"
    )
    made = manifest_of(tmp_path / "out")["copy_x2"]
    assert made["axes"] == {"family": "toy-copy", "blocks": 2, "abi": "sysv", "syntax": "nasm"}
    assert made["table"]["bytes"] == 0
    assert made["regenerate"] == "ghashgen generate --family toy-copy --blocks 2"
    text = (tmp_path / "out" / "sse" / "copy_x2.asm").read_text()
    banner = text[: text.index("default rel")].splitlines()
    assert "; copies of 2 blocks." in banner
    assert "; It takes no time." in banner
    assert not any("table" in line or "group" in line for line in banner)
    header = (tmp_path / "out" / "ghashgen.h").read_text()
    assert " * GHASH kernels. " in header
    assert " * Copies of blocks, a toy.\n" in header
    assert "/* copy_x2: copies of 2 blocks; abi sysv; cpu sse2 */\n" in header
    assert "void copy_x2_copy(const uint8_t in[16], uint8_t out[16]);" in header
    assert "COPY_X2_TABLE_BYTES" not in header
    dispatcher = (tmp_path / "out" / "ghashgen_dispatch.c").read_text()
    assert "copy_x2" not in dispatcher
    assert "ghash_avx_k_clmul1_x1" in dispatcher
    again = ghashgen(*made["regenerate"].split()[1:], "--out", "-", folder=tmp_path)
    assert again.stdout == text, again.stderr


def test_the_header_of_a_family_alone_says_nothing_of_others(tmp_path: Path) -> None:
    """Without kernels that are recommended there is no dispatcher."""
    done = ghashgen("generate", "--family", "toy-copy", "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {"MANIFEST.json", "ghashgen.h", "copy_x1.asm", "copy_x2.asm"}
    assert "subkey" not in (tmp_path / "out" / "ghashgen.h").read_text()


def test_audit_counts_functions_of_a_family_without_a_group_loop(tmp_path: Path) -> None:
    done = ghashgen("audit", "--family", "toy-copy", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    assert first["functions"]["copy"]["classes"]["load"] == 1
    assert second["functions"]["copy"]["classes"]["load"] == 2
    assert second["group"]["instructions"] == 0
    shown = ghashgen("audit", "--family", "toy-copy", folder=tmp_path).stdout
    assert "none" in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (
            ("prove",),
            "family toy-copy does not fit: it brings no claims; choose family hash or gcm or ctr",
        ),
        (("validate",), "does not fit: it brings no validation; choose family hash or gcm or ctr"),
        (("bench",), "does not fit: it brings no contest; choose family hash or gcm or ctr"),
        (("tune",), "does not fit: it brings no goal; choose family hash or gcm or ctr"),
    ],
)
def test_verbs_that_do_not_know_a_family_refuse_it(
    tmp_path: Path, words: tuple[str, ...], cause: str
) -> None:
    done = ghashgen(*words, "--family", "toy-copy", folder=tmp_path)
    assert done.returncode == 2
    assert cause in done.stderr


def manifest_of(folder: Path) -> dict[str, Any]:
    kernels = json.loads((folder / "MANIFEST.json").read_text())["kernels"]
    return {item["name"]: item for item in kernels}


AXES = {
    "number": Axis("blocks", "", lambda: range(1, 9)),
    "word": Axis("fold", "", lambda: ("group", "end"), "group"),
    "flag": Axis("wipe", "", lambda: (False, True), False),
}


@pytest.mark.parametrize(
    ("axis", "value", "option"),
    [
        ("number", 8, "--blocks 8"),
        ("word", "end", "--fold end"),
        ("flag", True, "--wipe"),
        ("flag", False, "--no-wipe"),
    ],
)
def test_a_value_has_an_option(axis: str, value: object, option: str) -> None:
    AXES[axis].require(value)
    assert AXES[axis].option(value) == option


def test_a_name_says_what_is_not_at_its_default() -> None:
    number = replace(AXES["number"], mark=lambda value: f"x{value}")
    named = (replace(AXES["word"], always_named=True), number, AXES["flag"])
    for values, name in (
        ({"blocks": 3, "fold": "group", "wipe": False}, "group_x3"),
        ({"blocks": 8, "fold": "end-ed", "wipe": True}, "ended_x8_wipe"),
    ):
        assert name_of(named, SimpleNamespace(**values)) == name


@pytest.mark.parametrize(
    ("axis", "value", "cause"),
    [
        ("number", 9, "blocks must be 1 to 8, not 9"),
        ("word", "ends", "unknown fold 'ends'; choose one of group, end"),
        ("flag", "yes", "unknown wipe 'yes'"),
    ],
)
def test_a_value_that_no_kernel_has_is_refused(axis: str, value: object, cause: str) -> None:
    with pytest.raises(GhashgenError) as refusal:
        AXES[axis].require(value)
    assert str(refusal.value).startswith(cause)
