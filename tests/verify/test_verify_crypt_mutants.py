"""Faults planted at random in encrypt and decrypt: refused, or run and found to be none."""

import pytest
from helpers.crypt_objects import source, spec
from helpers.gcm_by_hand import table
from helpers.mutating import accepted_are_right
from helpers.verify_objects import assembled

from ghashgen.algebra.field import aes
from ghashgen.algebra.field.counter import gctr, inc32
from ghashgen.algebra.field.ghash import ghash_padded
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import load_object

FAULTS = 1
"""Faults of each kind in each function."""

LENGTHS = (0, 1, 15, 16, 31, 64, 79, 127, 128, 150, 192, 333)

KEY = bytes(range(16))
COUNTERS = (bytes(12) + b"\xff\xff\xff\xfe", bytes(range(12)) + b"\x00\x00\x00\xfd")
STATE = bytes(255 - 7 * k & 0xFF for k in range(16))

Result = tuple[bytes, bytes, bytes] | None
"""The output, the counter block and the state; None where a call does not return as it should."""


def alone(operation: str) -> bytes:
    """The object of one function, so that every fault is in it."""
    head, encrypt, rest = source("stitched").partition("global stitched_encrypt\n")
    body, decrypt, tail = rest.partition("global stitched_decrypt\n")
    return assembled(head + (encrypt + body if operation == "encrypt" else decrypt + tail))


def text_of(length: int) -> bytes:
    return bytes(17 * k + 3 & 0xFF for k in range(length))


def wanted(operation: str) -> list[Result]:
    """What calls should leave, by the specifications."""
    h = aes.cipher(KEY, bytes(16))
    out: list[Result] = []
    for counter in COUNTERS:
        for length in LENGTHS:
            text = text_of(length)
            other = gctr(lambda block: aes.cipher(KEY, block), counter, text)
            after = counter
            for _ in range(-(-length // 16)):
                after = inc32(after)
            hashed = other if operation == "encrypt" else text
            out.append((other, after, ghash_padded(h, STATE, hashed)))
    return out


def results(emulator: Emulator, obj: bytes, operation: str, in_place: bool) -> list[Result]:
    """What the calls of an object leave."""
    out = "input" if in_place else "output"
    calls = [
        Call(
            ("table", "counter", "state", "input", out, length),
            (
                Buffer("table", table(KEY)),
                Buffer("counter", counter, True),
                Buffer("state", STATE, True),
                Buffer("input", text_of(length), in_place),
                *([] if in_place else [Buffer("output", bytes(length), True)]),
            ),
        )
        for counter in COUNTERS
        for length in LENGTHS
    ]
    done = emulator.call_many(load_object(obj), f"stitched_{operation}", calls)
    names = (out, "counter", "state")
    return [
        tuple(bytes(r.buffers[name]) for name in names) if r.outcome.ok else None  # type: ignore[misc]
        for r in done
    ]


@pytest.mark.parametrize("operation", ["encrypt", "decrypt"])
def test_what_is_accepted_is_right(emulator: Emulator, operation: str) -> None:
    obj, right = alone(operation), wanted(operation)

    def run(data: bytes) -> list[list[Result]]:
        return [results(emulator, data, operation, in_place) for in_place in (False, True)]

    assert run(obj) == [right, right]
    stated = spec("stitched", operation)
    said = accepted_are_right(obj, f"gcm {operation}", FAULTS, stated, run)
    assert said["function"] + said["memory"] > 0
