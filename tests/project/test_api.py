"""The public interface in Python: what is named, what it returns and refuses."""

import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ghashgen
from ghashgen import api
from ghashgen.support.toolchain import Tool, assemble_text

ROOT = Path(__file__).parents[2]
SMALL = "ghash_sse_k_clmul1_x1"
DOCUMENT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_names_are_those_of_the_interface_and_of_its_document() -> None:
    assert set(ghashgen.__all__) == {*api.__all__, "__version__"}
    assert all(getattr(ghashgen, name) is getattr(api, name) for name in api.__all__)
    assert set(ghashgen.__all__) <= set(dir(ghashgen))
    table = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", DOCUMENT, re.MULTILINE)))
    assert sorted(table) == sorted(api.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ghashgen.nothing


def test_no_name_is_that_of_a_module() -> None:
    """Importing a module of the package sets its name there, and would hide a function."""
    modules = {info.name for info in pkgutil.iter_modules(ghashgen.__path__)}
    assert {"output", "kernels", "check"} <= modules
    assert not modules & set(ghashgen.__all__)


def test_the_version_is_that_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert ghashgen.__version__ == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d.*)\] - 20\d\d-\d\d-\d\d$", changes, re.MULTILINE)
    assert released[0] == ghashgen.__version__


def test_every_function_has_types_and_says_what_it_raises() -> None:
    for name in ("choose", "emit", "assembly", "prove"):
        function = getattr(ghashgen, name)
        signature = inspect.signature(function)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not p.empty for p in signature.parameters.values())
        assert "Raises:\n" in (function.__doc__ or "")


def test_importing_the_package_imports_no_part_of_it() -> None:
    source = "import sys, ghashgen; print([m for m in sys.modules if m.startswith('ghashgen.')])"
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_choose_by_name_and_by_axes() -> None:
    (named,) = ghashgen.choose(SMALL)
    assert isinstance(named, ghashgen.Kernel)
    assert named.name == SMALL
    found = ghashgen.choose(isa="sse", multiply="k", blocks=(1, 2), wipe=False)
    assert named in found
    assert {kernel.blocks for kernel in found} == {1, 2}
    assert len(ghashgen.choose()) > 300


@pytest.mark.parametrize(
    ("names", "axes", "cause"),
    [
        ((SMALL,), {"isa": "sse"}, "by name or by axes"),
        ((), {"colour": "red"}, "unknown axis 'colour'"),
        ((), {"name": SMALL}, "unknown axis 'name'"),
        ((), {"isa": "neon"}, "unknown isa 'neon'"),
        (("nobody",), {}, "called 'nobody'"),
    ],
)
def test_choices_that_are_refused(names: tuple[str, ...], axes: dict[str, str], cause: str) -> None:
    with pytest.raises(ghashgen.GhashgenError, match=cause):
        ghashgen.choose(*names, **axes)


GCM = {
    "family": "gcm", "key": 128, "isa": "avx", "multiply": "karatsuba", "reduce": "clmul2",
    "blocks": 4,
}  # fmt: skip


def test_other_families_go_the_same_road(tmp_path: Path, nasm: Tool) -> None:
    (kernel,) = ghashgen.choose(**GCM)  # type: ignore[arg-type]
    assert kernel.family == "gcm"
    files = ghashgen.emit([kernel], tmp_path)
    (source,) = (path for path in files if path.suffix == ".asm")
    assert source.read_text(encoding="utf-8") == ghashgen.assembly(kernel)
    assert "\n; ctx        " in source.read_text(encoding="utf-8")
    header = tmp_path / "ghashgen.h"
    assert f"#define {kernel.name.upper()}_CTX_BYTES {kernel.layout.size}\n" in header.read_text()
    wrong = ghashgen.assembly(kernel).replace("    aesenclast ", "    aesenc ", 1)
    wrong = wrong.replace("    vaesenclast ", "    vaesenc ", 1)
    proof = ghashgen.prove(assemble_text(nasm, "k", wrong, "elf64"), kernel)
    assert not proof.proved
    assert proof.kernel == kernel.name


def test_families_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ghashgen.GhashgenError, match="unknown family 'gmc'"):
        ghashgen.choose(family="gmc", key=128)
    with pytest.raises(ghashgen.GhashgenError, match="unknown axis 'key'"):
        ghashgen.choose(key=128)
    both = ghashgen.choose(family=("hash", "gcm"), isa="sse")
    assert {kernel.family for kernel in both} <= {"hash", "gcm"}
    shipped = ghashgen.choose(**GCM)  # type: ignore[arg-type]
    monkeypatch.setattr(api, "catalogue", lambda: shipped)
    with pytest.raises(ghashgen.GhashgenError, match="is of family gcm; add family='gcm'"):
        ghashgen.choose(shipped[0].name)


def test_emit_adds_the_runtime_for_threads(tmp_path: Path) -> None:
    (kernel,) = ghashgen.choose(family="hash", isa="avx", segments=True, wipe=False)
    files = {path.name for path in ghashgen.emit([kernel], tmp_path / "pool", threads=True)}
    assert {"ghashgen_threads.c", "ghashgen_threads.h"} <= files
    with pytest.raises(ghashgen.GhashgenError, match="add --segments, or leave out --threads"):
        ghashgen.emit(ghashgen.choose(SMALL), tmp_path / "none", threads=True)


def test_emit_writes_what_assembly_returns(tmp_path: Path) -> None:
    (kernel,) = ghashgen.choose(SMALL)
    files = ghashgen.emit([kernel], tmp_path / "new", prefix="my_")
    assert list(files) == sorted(files)
    assert {path.name for path in files} == {
        f"my_{SMALL}.asm",
        "my_ghashgen.h",
        "my_ghashgen_dispatch.c",
        "my_ghashgen_dispatch.h",
        "MANIFEST.json",
    }
    (source,) = (path for path in files if path.suffix == ".asm")
    text = source.read_text(encoding="utf-8")
    assert text == ghashgen.assembly(kernel, prefix="my_")
    source.write_text(f"{text}; edited\n", encoding="utf-8")
    with pytest.raises(ghashgen.GhashgenError, match="edited by hand"):
        ghashgen.emit([kernel], tmp_path / "new", prefix="my_")
    ghashgen.emit([kernel], str(tmp_path / "new"), prefix="my_", force=True)
    assert source.read_text(encoding="utf-8") == text
    with pytest.raises(ghashgen.GhashgenError, match="unknown abi 'aapcs'"):
        ghashgen.emit([kernel], tmp_path / "other", abi="aapcs")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_prove_takes_bytes_and_files_and_tells_a_wrong_kernel(
    abi: str, tmp_path: Path, nasm: Tool
) -> None:
    (kernel,) = ghashgen.choose(SMALL)
    text = ghashgen.assembly(kernel, abi=abi, fmt="elf64", prefix="my_")
    obj = assemble_text(nasm, "k", text, "elf64")
    proof = ghashgen.prove(obj, kernel, abi=abi, prefix="my_")
    assert proof.proved
    assert proof.theorems
    assert all(isinstance(theorem, ghashgen.Theorem) for theorem in proof.theorems)
    (tmp_path / "k.o").write_bytes(obj)
    assert ghashgen.prove(str(tmp_path / "k.o"), kernel, abi=abi, prefix="my_").proved
    # The other scheme's kernel is not this one.
    (other,) = ghashgen.choose("ghash_sse_schoolbook_clmul3_x1")
    wrong = ghashgen.assembly(other, abi=abi, fmt="elf64").replace(other.name, kernel.name)
    refuted = ghashgen.prove(assemble_text(nasm, "k", wrong, "elf64"), kernel, abi=abi)
    assert not refuted.proved
    assert "NOT proved" in refuted.report()


def test_prove_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    (kernel,) = ghashgen.choose(SMALL)
    with pytest.raises(ghashgen.GhashgenError, match="no such file"):
        ghashgen.prove(tmp_path / "none.o", kernel)
    with pytest.raises(ghashgen.GhashgenError):
        ghashgen.prove(b"no object", kernel)
