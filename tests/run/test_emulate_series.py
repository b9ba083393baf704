"""Series of calls: the same results as calls one by one, and nothing wrong passes for right."""

from typing import Literal

import pytest
from helpers.emulating import Assemble, needs_emulator, one

from ghashgen.arch.x86_64.registers import GPR_NAMES
from ghashgen.run.emulate import Buffer, Emulator, Series, Turn
from ghashgen.support.errors import GhashgenError

pytestmark = needs_emulator

PIECES = 5
ABI: dict[Literal["sysv", "win64"], tuple[str, str, str]] = {
    "sysv": ("rdi", "rsi", "rdx"),
    "win64": ("rcx", "rdx", "r8"),
}


def _numbers(values: list[int]) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def _series(text: str, assemble: Assemble, **settings: int) -> tuple[object, Series]:
    image = assemble(one(text))
    out = Buffer("out", _numbers(list(range(PIECES))), writable=True)
    given = Buffer("in", _numbers([100, 200, 300, 400, 500]))
    turns = [Turn(PIECES, ("out", "in", 7)), Turn(3, ("out", "in", 9))]
    return image, Series(PIECES, [out, given], turns, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("abi", ABI)
def test_every_call_has_its_piece(
    emulator: Emulator, assemble: Assemble, abi: Literal["sysv", "win64"]
) -> None:
    out, given, number = ABI[abi]
    aligned = "lea rax, [rsp + 8]\n  test al, 15\n  jz .aligned\n  ud2\n.aligned:"
    image = assemble(one(f"{aligned}\n  add {number}, [{given}]\n  add [{out}], {number}"))
    turns = [Turn(PIECES, ("out", "in", 7)), Turn(3, ("out", "in", 9))]
    buffers = [
        Buffer("out", _numbers(list(range(PIECES))), writable=True),
        Buffer("in", _numbers([100, 200, 300, 400, 500])),
    ]
    all_, some = emulator.call_series(image, "f", Series(PIECES, buffers, turns, abi))
    assert (all_.done, all_.ok) == (PIECES, True)
    assert all_.buffers == {"out": _numbers([107, 208, 309, 410, 511])}
    # A turn starts from the first contents, and pieces beyond its calls are left as they were.
    assert (some.done, some.ok) == (3, True)
    assert some.buffers == {"out": _numbers([109, 210, 311, 3, 4])}


def test_what_a_call_leaves_behind_misleads_nobody(emulator: Emulator, assemble: Assemble) -> None:
    names = [name for name in GPR_NAMES if name not in ("rsp", "rcx")]
    clobbers = "\n  ".join(f"mov {name}, -1" for name in names)
    text = f"mov rax, [rsi]\n  add [rdi], rax\n  pop rcx\n  {clobbers}\n  std\n  stc\n"
    image, series = _series(text + "  xor esp, esp\n  jmp rcx", assemble)
    results = emulator.call_series(image, "f", series)  # type: ignore[arg-type]
    assert [(result.done, result.ok) for result in results] == [(PIECES, True), (3, True)]
    assert results[0].buffers["out"] == _numbers([100, 201, 302, 403, 504])


FAULTS = {
    # In the fourth call in[0] is 400.
    "a fault": ("cmp dword [rsi], 400\n  jne .right\n  mov eax, [0]\n.right:", 3),
    "no instruction": ("cmp dword [rsi], 400\n  jne .right\n  ud2\n.right:", 3),
    "no return": ("cmp dword [rsi], 400\n.on: je .on", 3),
    "a store to what is read only": ("cmp dword [rsi], 400\n  jne .on\n  mov [rsi], eax\n.on:", 3),
    "an access behind the last piece": ("mov rax, [rsi + 8]", 4),
    "a store before the first piece": ("mov dword [rdi - 8], 77", PIECES),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_goes_wrong_is_seen_and_where(
    emulator: Emulator, assemble: Assemble, fault: str
) -> None:
    text, done = FAULTS[fault]
    image, series = _series(text, assemble, budget=1000)
    wrong, short = emulator.call_series(image, "f", series)  # type: ignore[arg-type]
    assert (wrong.done, wrong.ok) == (done, False)
    # The second turn never comes to the fourth call, and is not harmed by how the first ended.
    assert (short.done, short.ok) == (3, fault != "a store before the first piece")


def test_refusals(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("nop"))

    def refused(match: str, series: Series) -> None:
        with pytest.raises(GhashgenError, match=match):
            emulator.call_series(image, "f", series)

    buffer = Buffer("in", 12)
    refused("not 5 equal pieces", Series(5, [buffer], [Turn(1, ("in",))]))
    refused("4 calls of 3 pieces", Series(3, [buffer], [Turn(4, ("in",))]))
    refused("0 calls of 3 pieces", Series(3, [buffer], [Turn(0, ("in",))]))
    refused("without turns", Series(3, [buffer], []))
    refused("is not the name of a buffer", Series(3, [buffer], [Turn(1, ("out",))]))
    refused("differ", Series(3, [buffer], [Turn(1, ("in",)), Turn(1, (1,))]))
    refused("do not fit in 4 registers", Series(3, [], [Turn(1, (1, 2, 3, 4, 5))], "win64"))
