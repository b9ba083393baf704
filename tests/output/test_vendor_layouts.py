"""Layouts as data are what C sees: a probe is made of the JSON file, compiled and run."""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers.cpus import AS_FOUND, need
from helpers.verbs import called

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.support.toolchain import find_cc

NAME = "gcm128_avx_winograd_clmul1_x8_streams"

# FIPS 197, appendix A.1: a key, and the last of its round keys.
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
LAST = bytes.fromhex("d014f9a8c9ee2589e13f0cc8b6630ca6")
IV = bytes(range(12))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("layouts") / "ghashgen"
    called("vendor", "--into", str(into), "--name", NAME)
    return into


@pytest.fixture
def kernel(folder: Path) -> dict[str, Any]:
    said = json.loads((folder / "ghashgen.json").read_text(encoding="utf-8"))
    assert said["schema"] == 1
    (found,) = said["kernels"]
    return copy.deepcopy(found)


def bytes_of(data: bytes) -> str:
    return ", ".join(map(str, data))


def probe(kernel: dict[str, Any]) -> str:
    """A C program that returns 0 if memory and prototypes are as the file says."""
    context, state = kernel["memory"]["ctx"], kernel["memory"]["state"]
    calls = {name: function["symbol"] for name, function in kernel["functions"].items()}
    macro = f"{kernel['name'].upper()}_CTX"
    in_state = {
        "counter": IV + (3).to_bytes(4, "big"),
        "aad_bytes": (5).to_bytes(8, "little"),
        "text_bytes": (3).to_bytes(8, "little"),
        "phase": (2).to_bytes(8, "little"),
    }
    places = [("context", context["offsets"]["key0"], KEY)]
    places += [("context", context["offsets"]["key10"], LAST)]
    places += [("state", state["offsets"][name], data) for name, data in in_state.items()]
    lines = [
        '#include <string.h>\n#include "ghashgen.h"',
        *(f"{function['prototype']};" for function in kernel["functions"].values()),
        f'_Static_assert({macro}_BYTES == {context["bytes"]}, "bytes");',
        f'_Static_assert({macro}_ALIGN == {context["align"]}, "align");',
        f'_Static_assert({macro}_BEST_ALIGN == {context["best_align"]}, "best");',
        "int main(void)\n{",
        f"    static const uint8_t key[] = {{{bytes_of(KEY)}}}, iv[] = {{{bytes_of(IV)}}};",
        f"    static uint8_t context[{context['bytes']}], state[{state['bytes']}], text[8];",
        f"    {calls['init']}(context, key);",
        f"    if ({calls['start']}(context, state, iv, sizeof iv) != 0) return 100;",
        f"    if ({calls['aad']}(context, state, text, 5) != 0) return 101;",
        f"    if ({calls['encrypt_more']}(context, state, text, text, 3) != 0) return 102;",
    ]
    for number, (memory, offset, data) in enumerate(places, 1):
        lines.append(f"    static const uint8_t is{number}[] = {{{bytes_of(data)}}};")
        lines.append(f"    if ({offset} + sizeof is{number} > sizeof {memory}) return {number};")
        same = f"memcmp({memory} + {offset}, is{number}, sizeof is{number})"
        lines.append(f"    if ({same} != 0) return {number};")
    return "\n".join((*lines, "    return 0;\n}\n"))


def compiled(folder: Path, kernel: dict[str, Any], out: Path) -> int:
    """The exit status of the compiler."""
    source, obj = out / "probe.c", out / "kernel.o"
    source.write_text(probe(kernel), encoding="utf-8")
    assembling = [
        *find_nasm().command,
        "-f",
        "elf64",
        str(folder / kernel["files"]["elf64"]),
        "-o",
        str(obj),
    ]
    subprocess.run(assembling, check=True)
    command = [*find_cc().command, "-std=c11", f"-I{folder}", source, obj, "-o", out / "probe"]
    return subprocess.run([*map(str, command)], check=False, capture_output=True).returncode


def status(folder: Path, kernel: dict[str, Any], out: Path) -> int:
    assert compiled(folder, kernel, out) == 0
    need(kernel["cpu_features"])
    return subprocess.run([out / "probe"], check=False, timeout=60).returncode


@pytest.mark.cpu(AS_FOUND)
def test_c_sees_what_the_file_says(folder: Path, kernel: dict[str, Any], tmp_path: Path) -> None:
    assert status(folder, kernel, tmp_path) == 0
    assert set(kernel["functions"]) >= {"init", "seal", "open", "start", "verify"}
    assert kernel["functions"]["open"]["stack_bytes"] > 0


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize(
    ("memory", "name", "by"),
    [
        ("ctx", "key0", 16),
        ("ctx", "key10", -16),
        ("state", "counter", 16),
        ("state", "aad_bytes", 8),
        ("state", "text_bytes", -8),
        ("state", "phase", 8),
    ],
)
def test_a_wrong_offset_is_found(
    folder: Path, kernel: dict[str, Any], tmp_path: Path, memory: str, name: str, by: int
) -> None:
    kernel["memory"][memory]["offsets"][name] += by
    assert status(folder, kernel, tmp_path) != 0


@pytest.mark.parametrize("what", ["bytes", "align", "best_align", "prototype"])
def test_a_wrong_size_or_signature_does_not_compile(
    folder: Path, kernel: dict[str, Any], tmp_path: Path, what: str
) -> None:
    if what == "prototype":
        seal = kernel["functions"]["seal"]
        seal["prototype"] = seal["prototype"].replace("size_t len", "uint32_t len")
    else:
        kernel["memory"]["ctx"][what] *= 2
    assert compiled(folder, kernel, tmp_path) != 0
