"""Emulated calls: calling conventions, images, refusals, the worker process."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.emulating import Assemble, needs_emulator, one

from ghashgen.run.emulate import Buffer, Call, Emulator, raw_image
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import command

pytestmark = needs_emulator


@pytest.mark.parametrize("abi", ["sysv", "win64"])
def test_arguments(emulator: Emulator, assemble: Assemble, abi: str) -> None:
    first, registers, stack = {
        "sysv": ("rdi", ["rsi", "rdx", "rcx", "r8", "r9"], 8),
        "win64": ("rcx", ["rdx", "r8", "r9"], 40),
    }[abi]
    stores = [f"mov [{first} + {8 * i}], {name}" for i, name in enumerate(registers)]
    for i in range(len(registers), 9):
        where = stack + 8 * (i - len(registers))
        stores.append(f"mov rax, [rsp + {where}]\n  mov [{first} + {8 * i}], rax")
    values = [random.Random(i).getrandbits(64) for i in range(9)]
    result = emulator.call(
        assemble(one("\n  ".join(stores))),
        "f",
        ["out", *values],
        buffers=[Buffer("out", 72, writable=True)],
        abi=abi,  # type: ignore[arg-type]
    )
    assert result.outcome.ok, result.outcome.text
    assert result.buffers["out"] == b"".join(v.to_bytes(8, "little") for v in values)
    assert result.before.rsp % 16 == 8
    untouched = set(result.before.gpr) - {"rsp", "rax"}
    assert all(result.after[name] == result.before[name] for name in untouched)


RELOCATED = """
section .text
global f
f:
  mov eax, [rel constant]      ; PC32
  mov ecx, [table + 4]         ; 32S
  add eax, ecx
  mov rcx, [rel pointer]       ; 64, in data
  add eax, [rcx]
  mov edx, table               ; 32
  add eax, [rdx + 8]
  inc dword [rel counter]
  add eax, [rel counter]
  call g wrt ..plt             ; PLT32
  add eax, [rel zeros]
  ret
section .text2 progbits alloc exec nowrite align=64
global g:function
g: add eax, 0x10000000
  ret
section .rodata
constant: dd 1
table: dd 0x10, 0x100, 0x1000
section .data
counter: dd 0x10000
pointer: dq counter
section .bss
zeros: resb 10000
"""


def test_sections_and_relocations(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble("default abs\n" + RELOCATED)
    assert [s.name for s in image.segments] == [".text", ".text2", ".rodata", ".data", ".bss"]
    assert set(image.symbols) >= {"f", "g", "constant", "counter", "zeros"}
    expected = 1 + 0x100 + 0x10000 + 0x1000 + 0x10001 + 0x10000000
    for _ in range(2):  # writable sections start afresh
        assert emulator.call(image, "f").after["rax"] == expected


def test_refusals(
    emulator: Emulator, assemble: Assemble, object_of: Callable[[str], bytes]
) -> None:
    with pytest.raises(GhashgenError, match="refers to 'missing'"):
        assemble("extern missing\n" + one("call missing"))
    with pytest.raises(GhashgenError, match="not an ELF object"):
        emulator.load(b"MZ")
    with pytest.raises(GhashgenError, match="does not reach"):
        assemble(one("mov eax, [f + 0x7fffffff]"))
    image = assemble(one("nop"))
    with pytest.raises(GhashgenError, match="no symbol 'h'; it defines: f"):
        emulator.call(image, "h")
    with pytest.raises(GhashgenError, match="is not the name of a buffer"):
        emulator.call(image, "f", ["in"])
    with pytest.raises(GhashgenError, match="cannot be set"):
        emulator.call(image, "f", registers={"zmm32": 0})
    with pytest.raises(GhashgenError, match="does not fit"):
        emulator.call(image, "f", buffers=[Buffer("in", 1 << 21)])


def test_results_do_not_depend_on_what_ran_before(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu ymm5, [rdi]\n  mov rbx, [rsp]"))
    call = Call(["in"], [Buffer("in", 70, offset=3)], seed=11, trace=True)
    first = emulator.call_many(image, "f", [call])[0]
    with Emulator() as fresh:
        second = fresh.call_many(image, "f", [call])[0]
    assert first == second
    assert emulator.call(image, "f", ["in"], buffers=call.buffers, seed=12).before != first.before


def test_a_dead_worker_is_replaced(assemble: Assemble) -> None:
    image = assemble(one("mov eax, 42"))
    with Emulator() as emulator:
        assert emulator.call(image, "f").after["rax"] == 42
        assert emulator._worker is not None
        os.kill(emulator._worker._process.pid, signal.SIGKILL)
        assert emulator.call(image, "f").after["rax"] == 42


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bochscpu"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError(\"No module named 'bochscpu'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Emulator() as emulator, pytest.raises(GhashgenError) as caught:
        emulator.call(raw_image(b"\xc3"), "code")
    assert caught.value.cause == "bochscpu-python 0.3.1 is not installed"
    assert caught.value.remedy == f"run: {command('emulate')}"
