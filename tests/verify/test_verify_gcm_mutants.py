"""Faults planted at random in key set-up of AES-GCM: refused, or run and found to be none."""

import pytest
from helpers.gcm_by_hand import WAYS, source, spec, table
from helpers.mutating import accepted_are_right
from helpers.verify_objects import assembled

from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import load_object

FAULTS = 2
"""Faults of each kind in each kernel."""

KEYS = (bytes(range(32)), bytes(255 - 7 * k & 0xFF for k in range(32)))


def tables(emulator: Emulator, obj: bytes, bits: int) -> list[bytes | None]:
    """Return the tables that an object writes for KEYS, None where it does not return."""
    size = len(table(KEYS[0][: bits // 8]))
    calls = [
        Call(
            ("table", "key"), (Buffer("table", bytes(size), True), Buffer("key", key[: bits // 8]))
        )
        for key in KEYS
    ]
    results = emulator.call_many(load_object(obj), "gcm_init", calls)
    return [bytes(r.buffers["table"]) if r.outcome.ok else None for r in results]


@pytest.mark.parametrize(("way", "bits"), WAYS)
def test_what_is_accepted_is_right(emulator: Emulator, way: str, bits: int) -> None:
    obj = assembled(source(way, bits))
    assert tables(emulator, obj, bits) == [table(key[: bits // 8]) for key in KEYS]
    said = accepted_are_right(
        obj, f"gcm init {way} {bits}", FAULTS, spec(bits), lambda data: tables(emulator, data, bits)
    )
    assert said["function"] > 2 * said["accepted"]
