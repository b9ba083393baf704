"""Faults planted at random in key set-up of AES-GCM: refused, or run and found to be none."""

import random
from collections import Counter

import pytest
from helpers.gcm_by_hand import WAYS, source, spec, table
from helpers.verify_objects import assembled

from ghashgen.check.attack.edits import EDITS
from ghashgen.check.attack.mutation import planted
from ghashgen.run.emulate import Call, Emulator
from ghashgen.run.emulate.calls import Buffer
from ghashgen.run.emulate.image import load_object
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.prove import prove_object

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


@pytest.fixture(scope="module")
def emulator() -> Emulator:
    with Emulator() as found:
        try:
            found.features()
        except GhashgenError as error:
            pytest.skip(str(error))
        yield found


@pytest.mark.parametrize(("way", "bits"), WAYS)
def test_what_is_accepted_is_right(emulator: Emulator, way: str, bits: int) -> None:
    obj = assembled(source(way, bits))
    wanted = [table(key[: bits // 8]) for key in KEYS]
    assert tables(emulator, obj, bits) == wanted
    rng = random.Random(f"gcm init {way} {bits}")
    said: Counter[str] = Counter()
    for kind in EDITS:
        for _ in range(FAULTS):
            made = planted(obj, kind, rng)
            if made is None or made[1] == obj:
                continue
            change, data = made
            try:
                refutation = prove_object(data, spec(bits)).refutation
            except GhashgenError:
                said["object"] += 1
                continue
            if refutation is None:
                assert tables(emulator, data, bits) == wanted, change
            said["accepted" if refutation is None else str(refutation.category)] += 1
    assert said["function"] > 2 * said["accepted"]
    assert said.total() > FAULTS * len(EDITS) / 2
