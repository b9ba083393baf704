"""Tools are found or refused with a remedy, and what they write depends on the source alone."""

from pathlib import Path

import pytest

from ghashgen.arch.aarch64.assemblers import GAS as AARCH64
from ghashgen.arch.x86_64.assemblers import GAS as X86_64
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import (
    assemble,
    compile_c,
    find_assembler,
    find_cc,
    first_error,
    link,
)

SOURCE = Path(__file__).parents[1] / "asm" / "bitwise.asm"


def fake_tool(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_missing_nasm_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GHASHGEN_NASM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GhashgenError) as refusal:
        find_nasm()
    assert refusal.value.cause == "nasm not found"
    assert "apt-get install nasm" in refusal.value.remedy


def test_nasm_named_in_the_environment_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHASHGEN_NASM", str(tmp_path / "nonesuch"))
    with pytest.raises(GhashgenError, match="nonesuch"):
        find_nasm()


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("NASM version 2.14 compiled on Jan  1 2019", "2.14"),
        ("NASM version 2.16.01 compiled on Jan  1 2023", "2.16.01"),
        ("NASM version 3.00rc1 compiled on Jan  1 2025", "3.00rc1"),
    ],
)
def test_new_enough_nasm_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, version: str
) -> None:
    path = fake_tool(tmp_path, "my-nasm", f"echo '{answer}'")
    monkeypatch.setenv("GHASHGEN_NASM", str(path))
    assert find_nasm().version == version
    assert find_nasm().path == path


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("echo 'NASM version 2.13.03 compiled on Feb  7 2018'", "nasm 2.13.03 is too old, 2.14"),
        ("echo 'NASM version 0.98'", "nasm 0.98 is too old"),
        ("echo 'yasm 1.3.0'", "does not say that it is nasm"),
        ("exit 1", "does not say that it is nasm"),
    ],
)
def test_old_or_other_assembler_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, cause: str
) -> None:
    monkeypatch.setenv("GHASHGEN_NASM", str(fake_tool(tmp_path, "nasm", script)))
    with pytest.raises(GhashgenError, match=cause) as refusal:
        find_nasm()
    assert refusal.value.remedy


def test_object_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    objects = []
    for name in ("one", "another-and-longer"):
        source = tmp_path / name / "bitwise.asm"
        source.parent.mkdir()
        source.write_bytes(SOURCE.read_bytes())
        obj = tmp_path / name / "bitwise.o"
        assemble(find_nasm(), source, obj, defines={"NAME": "same"})
        objects.append(obj.read_bytes())
    assert objects[0] == objects[1]
    assert str(tmp_path).encode() not in objects[0]


def test_compiled_object_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    objects = []
    for name in ("one", "another-and-longer"):
        source = tmp_path / name / "f.c"
        source.parent.mkdir()
        source.write_text("int f(void);\nint f(void) { return 1; }\n")
        obj = tmp_path / name / "f.o"
        compile_c(find_cc(), source, obj, flags=("-O2",), include=(tmp_path / name,))
        objects.append(obj.read_bytes())
    assert objects[0] == objects[1]


def test_include_folders_and_defines_reach_the_assembler(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "value.inc").write_text("%define BYTE 0xA7\n")
    source = tmp_path / "a.asm"
    source.write_text('%include "value.inc"\ndb BYTE, OTHER\n')
    obj = tmp_path / "a.bin"
    assemble(
        find_nasm(), source, obj, "bin", include=(tmp_path / "include",), defines={"OTHER": "3"}
    )
    assert obj.read_bytes() == b"\xa7\x03"


def test_failure_gives_the_first_error_and_keeps_the_old_object(tmp_path: Path) -> None:
    source = tmp_path / "bad.asm"
    source.write_text("bits 64\nlabel\nmov rax, rbx, rcx\nmov eax, rcx\n")
    obj = tmp_path / "bad.o"
    obj.write_bytes(b"old")
    with pytest.raises(GhashgenError, match=r"bad\.asm:3: error:"):
        assemble(find_nasm(), source, obj)
    assert obj.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.asm", "bad.o"]


def test_source_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GhashgenError, match=r"nonesuch\.asm: no such file"):
        assemble(find_nasm(), tmp_path / "nowhere" / "nonesuch.asm", tmp_path / "a.o")


def test_compiler_and_linker_errors(tmp_path: Path) -> None:
    cc = find_cc()
    source = tmp_path / "main.c"
    source.write_text("int f(void);\nint main(void) { return f(); }\n")
    compile_c(cc, source, tmp_path / "main.o")
    with pytest.raises(GhashgenError, match="undefined reference"):
        link(cc, [tmp_path / "main.o"], tmp_path / "main")
    source.write_text("int main(void) { return }\n")
    with pytest.raises(GhashgenError, match=r"main\.c:1:25: error"):
        compile_c(cc, source, tmp_path / "other.o")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.c", "main.o"]


def test_compiler_named_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_tool(tmp_path, "mycc", 'echo "my cc 1 $*"')
    monkeypatch.setenv("CC", f"{path} --target=x")
    cc = find_cc()
    assert (cc.path, cc.options) == (path, ("--target=x",))
    assert cc.version == "my cc 1 --target=x --version"


@pytest.mark.parametrize("cc", ["", "nonesuch"])
def test_missing_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cc: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", cc)
    with pytest.raises(GhashgenError, match="no C compiler found") as refusal:
        find_cc()
    assert "apt-get install gcc" in refusal.value.remedy


def test_first_error_passes_over_warnings() -> None:
    lines = ("a.asm:1: warning: might be in error", "a.asm:2: error: invalid", "a.asm:3: error: x")
    assert first_error("\n".join(lines)) == "a.asm:2: error: invalid"
    assert first_error("only this\n") == "only this"
    assert first_error("") == ""


def test_an_assembler_for_another_machine_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = "GNU assembler 2.44\\nconfigured for a target of \\`s390x-linux-gnu\\'."
    other = fake_tool(tmp_path, "as", f'printf "{answer}"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for assembler in (X86_64, AARCH64):
        monkeypatch.setenv(assembler.variable, str(other))
        with pytest.raises(GhashgenError, match="does not say that it is GNU as or Clang for"):
            find_assembler(assembler)
        ours = answer.replace("s390x", assembler.programs[0].partition("-")[0])
        fake_tool(tmp_path, "mine", f'printf "{ours}"')
        monkeypatch.setenv(assembler.variable, str(tmp_path / "mine"))
        assert find_assembler(assembler).version == "2.44"
