"""Messages that seal and open take, what must come of them by other code, and calls of both."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ghashgen.algebra.field.bitorder import block_from_element, element_from_block
from ghashgen.algebra.field.gcm import gcm_encrypt, j0
from ghashgen.algebra.field.gf128 import mul
from ghashgen.algebra.field.powers import inverse
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.run.arguments import Answer, Memory, answered
from ghashgen.run.harness import Harness
from helpers.gcm import Key, prepared

DONE, DIFFERS, REFUSED = range(3)
TAGS = (4, 8, 12, 13, 14, 15, 16)
LIBRARY = range(8, 129)
"""Bytes of an IV that the other library takes."""


@dataclass(frozen=True)
class Message:
    """A message, and what sealing makes of it."""

    iv: bytes
    aad: bytes
    text: bytes
    sealed: bytes
    tag: bytes

    @property
    def what(self) -> str:
        return f"IV {len(self.iv)}, AAD {len(self.aad)}, text {len(self.text)}"


def message(key: Key, iv: bytes, aad: bytes, text: bytes) -> Message:
    """A message, sealed by another library, or by the definition where that has no such IV."""
    if len(iv) in LIBRARY:
        both = AESGCM(key.key).encrypt(iv, text, aad)
        return Message(iv, aad, text, both[:-16], both[-16:])
    return Message(iv, aad, text, *gcm_encrypt(key.block, iv, text, aad))


def messages(
    key: Key, lengths: Iterable[tuple[int, int, int]], rng: random.Random
) -> list[Message]:
    """Messages of so many bytes of IV, AAD and text."""
    return [message(key, *map(rng.randbytes, each)) for each in lengths]


def iv_for(key: Key, J0: bytes) -> bytes:
    """The IV of 16 bytes whose counter block before the text is this: (IV·H + lengths)·H solved."""
    H = element_from_block(key.subkey)
    X = mul(element_from_block(J0), inverse(H)) ^ element_from_block((128).to_bytes(16, "big"))
    iv = block_from_element(mul(X, inverse(H)))
    assert j0(key.subkey, iv) == J0
    return iv


def lengths(kernel: GcmKernel, rng: random.Random, more: int) -> list[tuple[int, int, int]]:
    """Bytes of IV, AAD and text: every one of each, not in all combinations, and `more`."""
    group = 16 * kernel.blocks
    edges = [n * group + d for n in (0, 1, 2) for d in (0, 1, 15, 16, 17, group - 1)]
    texts = sorted({*edges, *rng.sample(range(2 * group + 32), min(more, 2 * group))})
    out = [(12, rng.randrange(50), n) for n in texts]
    out += [(12, n, rng.randrange(40)) for n in (*range(50), group, 2 * group + 17, 3 * group - 1)]
    out += [(n, rng.randrange(20), rng.randrange(40)) for n in (*range(1, 65), 128, 200, 1000)]
    return out


def call(
    harness: Harness,
    kernel: GcmKernel,
    function: str,
    calls: Sequence[dict[str, bytes | int]],
    in_place: bool = False,
    at_start: bool = False,
) -> list[Answer]:
    """Answers to calls that violate nothing; buffers stand before, or behind, a guard page."""
    given = []
    for values in calls:
        found = prepared(kernel, function, values, in_place)
        given.append(
            [
                replace(x, gap=0, at_start=True) if at_start and isinstance(x, Memory) else x
                for x in found
            ]
        )
    exported, out = functions_of(kernel)[function], []
    for done in harness.call(kernel.name, function, given):
        assert not done.violations
        out.append(answered(exported, done.buffers, done.register))
    return out


def to_seal(ctx: bytes, each: Message) -> dict[str, bytes | int]:
    return {"ctx": ctx, "iv": each.iv, "aad": each.aad, "in": each.text}


def to_open(ctx: bytes, each: Message, tag: bytes) -> dict[str, bytes | int]:
    return {"ctx": ctx, "iv": each.iv, "aad": each.aad, "in": each.sealed, "tag": tag}
