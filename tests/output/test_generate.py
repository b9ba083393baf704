"""Writing the output folder: all or nothing, and never over somebody's work."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ghashgen.kernels import manifest
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import Target, target
from ghashgen.output.artefact import sha256
from ghashgen.output.dispatcher import names_of
from ghashgen.output.folder import uninterrupted
from ghashgen.output.generate import HEADER, differences, generate
from ghashgen.support.errors import GhashgenError

FIRST = Kernel("avx", "k", "clmul1", 1)
SECOND = Kernel("sse", "k", "clmul1", 2)
KERNELS = (FIRST, SECOND)
COMPANIONS = {HEADER, *names_of()}
FILES = {
    "MANIFEST.json",
    "avx/ghash_avx_k_clmul1_x1.asm",
    "sse/ghash_sse_k_clmul1_x2.asm",
    *COMPANIONS,
}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("fresh") / "out"
    generate(KERNELS, Target(), folder, whole=True)
    return contents(folder)


@pytest.fixture
def out(fresh: dict[str, bytes], tmp_path: Path) -> Path:
    """A folder with the two kernels."""
    for name, data in fresh.items():
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "out"


def test_a_folder_holds_the_kernels_a_header_and_a_manifest(fresh: dict[str, bytes]) -> None:
    assert set(fresh) == FILES
    body = json.loads(fresh["MANIFEST.json"])
    assert [entry["name"] for entry in body["kernels"]] == [FIRST.name, SECOND.name]
    for entry in body["kernels"]:
        assert sha256(fresh[entry["file"]]) == entry["sha256"]
        for symbol in entry["symbols"].values():
            assert f"void {symbol}(".encode() in fresh[HEADER]
    assert body["companions"] == {name: sha256(fresh[name]) for name in sorted(COMPANIONS)}


def test_the_manifest_says_what_a_program_needs_to_know(fresh: dict[str, bytes]) -> None:
    entry = json.loads(fresh["MANIFEST.json"])["kernels"][0]
    assert entry["axes"]["isa"] == "avx"
    assert entry["axes"]["blocks"] == 1
    assert entry["cpu_features"] == ["avx", "pclmulqdq"]
    assert entry["table"]["bytes"] == FIRST.table_bytes
    assert entry["counts"]["single_block"]["instructions"] == 10
    assert entry["spill_slots"] == {"init": 0, "mul": 0, "update": 0}
    assert entry["object"]["assembler"].startswith("nasm ")
    assert entry["regenerate"].startswith("ghashgen generate --isa avx")


def test_generating_again_changes_nothing(out: Path, fresh: dict[str, bytes]) -> None:
    generate(KERNELS, Target(), out, whole=True)
    assert contents(out) == fresh
    assert differences(KERNELS, Target(), out) == []


def test_a_part_is_added_to_what_is_there(out: Path, fresh: dict[str, bytes]) -> None:
    third = Kernel("avx", "k", "clmul1", 2)
    generate([third], Target(), out)
    after = contents(out)
    assert set(after) == FILES | {f"avx/{third.name}.asm"}
    names = [entry["name"] for entry in json.loads(after["MANIFEST.json"])["kernels"]]
    assert names == sorted([FIRST.name, third.name, SECOND.name])
    assert all(after[name] == fresh[name] for name in FILES if name.endswith(".asm"))


def test_stale_files_go_when_the_whole_is_generated(out: Path) -> None:
    generate([FIRST], Target(), out, whole=True)
    assert set(contents(out)) == FILES - {"sse/ghash_sse_k_clmul1_x2.asm"}


@pytest.mark.parametrize("name", sorted(FILES - {"MANIFEST.json"}))
def test_a_file_edited_by_hand_is_refused_and_untouched(out: Path, name: str) -> None:
    path = out / name
    path.write_bytes(path.read_bytes() + b"; my change\n")
    before = contents(out)
    with pytest.raises(GhashgenError, match=r"was edited by hand: it differs from MANIFEST\.json"):
        generate(KERNELS, Target(), out, whole=True)
    assert contents(out) == before
    generate(KERNELS, Target(), out, whole=True, force=True)
    assert b"my change" not in path.read_bytes()


def test_a_file_that_no_manifest_lists_is_not_overwritten(out: Path) -> None:
    third = Kernel("avx", "k", "clmul1", 2)
    path = out / f"avx/{third.name}.asm"
    path.write_text("mine\n", encoding="utf-8")
    before = contents(out)
    with pytest.raises(GhashgenError, match=r"exists and MANIFEST\.json does not list it"):
        generate([third], Target(), out)
    assert contents(out) == before


@contextmanager
def not_root() -> Iterator[None]:
    """Be nobody for a while, if root, who may write anywhere."""
    real, effective, saved = os.getresuid()
    if effective == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(real, effective, saved)


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    generate([FIRST], Target(), tmp_path / "warm")  # what nobody could not load is loaded
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        with not_root(), pytest.raises(GhashgenError, match="is not writable"):
            generate([FIRST], Target(), folder / "out")
        assert list(folder.iterdir()) == []
        folder.chmod(0o700)


@pytest.mark.parametrize("below", ["", "deep/er"])
def test_a_place_below_a_file_is_refused(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(GhashgenError, match="is not a folder; choose another --out"):
        generate([FIRST], Target(), file / below)
    assert contents(tmp_path) == {"file": b"mine"}


def test_a_folder_that_becomes_a_file_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "sse").write_text("in the way", encoding="utf-8")
    with pytest.raises(GhashgenError, match="File exists"):
        generate(KERNELS, Target(), out)
    assert contents(out) == {"sse": b"in the way"}


def interrupt(kernel: Kernel) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_while_compiling_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        generate(KERNELS, Target(), tmp_path / "out", on_done=interrupt)
    assert contents(tmp_path) == {}


def test_an_interrupt_while_compiling_leaves_what_was_there(
    out: Path, fresh: dict[str, bytes]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        generate(KERNELS, Target(), out, whole=True, force=True, on_done=interrupt)
    assert contents(out) == fresh


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left", "somewhere")])
def test_a_failure_while_writing_leaves_what_was_there(
    out: Path, fresh: dict[str, bytes], error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text
    written: list[Path] = []

    def second_fails(path: Path, text: str, encoding: str) -> int:
        written.append(path)
        count = write(path, text[: len(text) // len(written)], encoding=encoding)
        if len(written) == 2:
            raise error
        return count

    monkeypatch.setattr(Path, "write_text", second_fails)
    wanted = GhashgenError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(wanted):
        generate(KERNELS, target(prefix="other_"), out, whole=True, force=True)
    monkeypatch.undo()
    assert len(written) == 2
    assert contents(out) == fresh


def test_a_full_disk_is_said_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full(path: Path, text: str, encoding: str) -> int:
        if path.name == f".{HEADER}.new":
            write(path, text[:10], encoding=encoding)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a write names no file
        return write(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", full)
    (tmp_path / "there").mkdir()
    with pytest.raises(GhashgenError) as refusal:
        generate(KERNELS, Target(), tmp_path / "there" / "new" / "out")
    place = tmp_path / "there/new/out" / HEADER
    assert refusal.value.cause == f"{place}: No space left on device"
    assert "make room" in refusal.value.remedy
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_missing_assembler_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHASHGEN_NASM", str(tmp_path / "no-such-nasm"))
    with pytest.raises(GhashgenError, match="nasm not found"):
        generate([FIRST], Target(), tmp_path / "out")
    assert contents(tmp_path) == {}


def test_differences_name_every_file(out: Path) -> None:
    edited, missing = out / "avx/ghash_avx_k_clmul1_x1.asm", out / "sse/ghash_sse_k_clmul1_x2.asm"
    edited.write_text(edited.read_text(encoding="utf-8").replace("vpxor", "vpor", 1))
    missing.unlink()
    (out / "extra.txt").write_text("x", encoding="utf-8")
    before = contents(out)
    lines = differences(KERNELS, Target(), out)
    assert len(lines) == 3
    assert lines[0] == "extra.txt: not emitted by this version"
    assert lines[1].startswith(f"{edited.relative_to(out)}: 2 lines differ, first: -")
    assert lines[2] == f"{missing.relative_to(out)}: missing"
    assert contents(out) == before


def test_another_assembler_with_the_same_bytes_is_no_difference(out: Path) -> None:
    path = out / manifest.NAME
    text = path.read_text(encoding="utf-8")
    version = json.loads(text)["kernels"][0]["object"]["assembler"]
    path.write_text(text.replace(version, "nasm 99.1"), encoding="utf-8")
    assert differences(KERNELS, Target(), out) == []
    generate([FIRST], Target(), out)
    assert manifest.load(out)[FIRST.name].object.assembler == "nasm 99.1"


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', ""])
def test_differences_report_a_broken_manifest(out: Path, text: str) -> None:
    (out / manifest.NAME).write_text(text, encoding="utf-8")
    (line,) = differences(KERNELS, Target(), out)
    assert line.startswith("MANIFEST.json: ")


def _without(*path: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        body = json.loads(text)
        place = body["kernels"][0]
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        return json.dumps(body)

    return edit


def _with(value: object, *path: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        body = json.loads(text)
        place = body["kernels"][0]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return json.dumps(body)

    return edit


def _outside(text: str) -> str:
    body = json.loads(text)
    body["kernels"][0]["file"] = "../../elsewhere.asm"
    return json.dumps(body)


def test_a_folder_with_a_kernel_that_this_version_no_longer_has_is_kept(out: Path) -> None:
    """The axes that a file states are no kernel yet: what makes no sense is refused as one."""
    path = out / manifest.NAME
    path.write_text(path.read_text().replace('"schedule": "written"', '"schedule": "solved"', 1))
    first = manifest.load(out)[FIRST.name]
    assert first.axes["schedule"] == "solved"
    with pytest.raises(GhashgenError, match="unknown schedule 'solved'"):
        _ = first.kernel
    generate([SECOND], Target(), out)
    assert manifest.load(out)[FIRST.name] == first


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda text: text[:-20], "is not a manifest"),
        (lambda text: "", "is not a manifest"),
        (lambda text: "[]", "is not a manifest"),
        (lambda text: "{}", "is not a manifest"),
        (lambda text: '{"schema": 1, "kernels": [1]}', "is not a manifest"),
        (lambda text: text.replace('"schema": 1', '"schema": 9'), "schema 9, this version reads 1"),
        (_without("file"), r"is not a manifest: kernels\[0\]: lacks 'file'"),
        (_without("sha256"), "is not a manifest"),
        (_with("ghash_y_init", "symbols", "init"), r"kernels\[0\]\.symbols: not one name"),
        (
            _with("ghosh", "axes", "family"),
            r"kernels\[0\]\.axes: no family 'ghosh' in this version",
        ),
        (_with("8", "axes", "blocks"), r"kernels\[0\]\.axes\.blocks: expected int, got str"),
        (_without("axes", "blocks"), r"kernels\[0\]\.axes: lacks 'blocks'"),
        (_without("object", "text_sha256"), "is not a manifest"),
        (lambda text: text.replace('"companions": {', '"companions": 1, "x": {'), "not a manifest"),
        (_outside, "lies outside the folder"),
    ],
)
def test_a_broken_manifest_is_refused_and_nothing_written(
    out: Path, edit: Callable[[str], str], words: str
) -> None:
    path = out / manifest.NAME
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = contents(out)
    with pytest.raises(GhashgenError, match=words):
        generate(KERNELS, Target(), out)
    assert contents(out) == before


def test_a_folder_without_a_manifest_has_no_entries(tmp_path: Path) -> None:
    assert manifest.load(tmp_path) == {}
    assert manifest.companions(tmp_path) == {}


def test_signals_wait_while_files_are_moved_into_place() -> None:
    """An interrupt in the middle would leave two versions; it comes right after instead."""
    import signal

    def raised() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            moved.append("all")

    moved: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        raised()
    assert moved == ["all"]


def test_a_folder_is_one_library(out: Path, fresh: dict[str, bytes]) -> None:
    with pytest.raises(GhashgenError, match=r"holds kernels with no prefix; choose another --out"):
        generate([FIRST], target(prefix="my_"), out)
    assert contents(out) == fresh
    generate(KERNELS, target(prefix="my_"), out, whole=True)
    assert all(Path(name).name.startswith(("my_", manifest.NAME)) for name in contents(out))
