"""The control part of random points: numbers and flags against the emulated CPU."""

import itertools
from collections.abc import Callable, Mapping

import pytest
from helpers.emulating import needs_emulator

from ghashgen.check.sampled.control import Code, Loads, Memory
from ghashgen.check.sampled.numbers import PLACES, Registers
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.image import load_object

pytestmark = needs_emulator

CONDITIONS = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "l", "ge", "le", "g"]
PAIRS = ("add", "sub", "and", "or", "xor", "cmp", "test")
ALONE = ("neg {a}", "inc {a}", "dec {a}")
SHIFTS = ("shl {a}, 1", "shl {a}, 13", "shr {a}, 1", "shr {a}, 5", "shl {a}, 32")
NAMES = {32: ("eax", "ecx", "edx"), 64: ("rax", "rcx", "rdx")}
DEFINED_BY_SHIFTS = ("e", "ne", "s", "ns")
"""Control takes the other flags of a shift for unknown."""

INSTRUCTIONS = tuple(
    (text.format(a=a, b=b, c=c), conditions)
    for a, b, c in NAMES.values()
    for text, conditions in (
        *((f"{name} {{a}}, {{b}}", CONDITIONS) for name in PAIRS),
        *((f"{name} {{a}}, -16", CONDITIONS) for name in ("add", "and", "cmp")),
        *((text, CONDITIONS) for text in ALONE if not text.startswith(("inc", "dec"))),
        *((text, ["e", "ne", "s", "ns", "o", "no", "l", "ge"]) for text in ALONE[1:]),
        *((text, DEFINED_BY_SHIFTS) for text in SHIFTS if "32" not in text or a == "rax"),
        ("bzhi {a}, {b}, {c}", ("e", "ne", "b", "ae", "s")),
        ("mov {a}, {b}", ()),
        ("xor {a}, {a}", CONDITIONS),
    )
)
EXTREMES = (0, 1, 15, 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63)
VALUES = (*EXTREMES, (1 << 64) - 1, (1 << 64) - 16)
RETURN = 0x7000


def _text() -> str:
    """Each instruction, and behind it a bit of RSI for each condition: whether it holds."""
    lines = ["section .text"]
    for number, (instruction, conditions) in enumerate(INSTRUCTIONS):
        lines += [f"global f{number}", f"f{number}: {instruction}", "mov esi, 1"]
        for condition in conditions:
            yes, behind = f".{condition}", f".behind_{condition}"
            lines += [f"j{condition} {yes}", "lea rsi, [rsi + rsi]", f"jmp {behind}"]
            lines += [f"{yes}: lea rsi, [rsi + rsi + 1]", f"{behind}:"]
        lines += ["ret"]
    return "\n".join(lines) + "\n"


class _Return(Memory):
    def number(self, address: int, size: int) -> int | None:
        return RETURN


def _walk(code: Code, address: int, given: Mapping[int, int]) -> tuple[int | None, int | None]:
    registers: Registers = [None] * PLACES
    for place, value in given.items():
        registers[place] = value
    registers[4] = 0x8000
    while address != RETURN:
        address = code.block(address).step(registers, Loads(), _Return(), [])
    return registers[0], registers[6]


def test_numbers_and_every_condition(emulator: Emulator, object_of: Callable[[str], bytes]) -> None:
    image = load_object(object_of(_text()))
    code = Code(image)
    pairs = list(itertools.product(VALUES, VALUES[::2]))
    for number, (instruction, conditions) in enumerate(INSTRUCTIONS):
        symbol = f"f{number}"
        calls = [Call(registers={"rax": a, "rcx": b, "rdx": b >> 1 & 0x1FF}) for a, b in pairs]
        answers = emulator.call_many(image, symbol, calls)
        for (a, b), answer in zip(pairs, answers, strict=True):
            assert answer.outcome.ok
            after = answer.after
            got = _walk(code, image.address_of(symbol), {0: a, 1: b, 2: b >> 1 & 0x1FF})
            assert got == (after["rax"], after["rsi"]), (instruction, conditions, a, b)
            assert after["rsi"] >> len(conditions) == 1


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_unknown_flag_decides_no_branch(
    condition: str, object_of: Callable[[str], bytes]
) -> None:
    image = load_object(object_of(f"section .text\nglobal f\nf: j{condition} .a\n.a: ret\n"))
    with pytest.raises(TypeError):
        _walk(Code(image), image.address_of("f"), {})
