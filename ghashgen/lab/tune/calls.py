"""The emulated calls that stand for a mode of measuring, by family of kernels.

A mode and a size (a cell) give one result or several: everything that is executed for it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.kernels.core import Keyed, Point
from ghashgen.lab.tune.goals import Cell
from ghashgen.records.core import IMIX, SEAL_MODES, TEXT
from ghashgen.run.arguments import Values
from ghashgen.run.emulate import CallResult

Made = Callable[[str, Sequence[Values]], Sequence[CallResult]]
"""(exported function, the values of each call) → what each did."""

Calls = Callable[[Made, Point, Sequence[Cell]], list[list[CallResult]]]
"""The results of each cell's calls; repeated results occur as often as they are made."""

SEAL, OPEN, *_ = SEAL_MODES

AAD, IV = bytes(12), bytes(12)
"""The values of `bench` for each message."""

PACKETS: Mapping[int, int] = MappingProxyType({64: 7, 594: 4, 1518: 1})
"""Bytes of a message → how many of them are in a pattern of IMIX."""


def _hash(made: Made, kernel: Point, cells: Sequence[Cell]) -> list[list[CallResult]]:
    (init,) = made("init", [{"h": bytes(range(1, BLOCK_BYTES + 1))}])
    known = {"table": init.buffers["table"], "x": bytes(BLOCK_BYTES)}
    sizes = list(dict.fromkeys(size for _, size in cells))
    answers = made("update", [{**known, "in": bytes(size)} for size in sizes])
    done = dict(zip(sizes, answers, strict=True))
    return [[done[size]] for _, size in cells]


def _gcm(made: Made, kernel: Point, cells: Sequence[Cell]) -> list[list[CallResult]]:
    if not isinstance(kernel, Keyed):
        raise AssertionError("a kernel of AES-GCM has a key")
    (init,) = made("init", [{"key": bytes(range(kernel.key_bytes))}])
    context = {"ctx": init.buffers["ctx"]}
    message = {**context, "iv": IV, "aad": AAD}

    @cache
    def sealed(size: int) -> CallResult:
        (answer,) = made("seal", [{**message, "in": bytes(size)}])
        return answer

    def opened(size: int) -> CallResult:
        right = {name: sealed(size).buffers[name] for name in ("out", "tag")}
        (answer,) = made("open", [{**message, "in": right["out"], "tag": right["tag"]}])
        return answer

    def encrypted(size: int) -> CallResult:
        begun = {"counter": bytes(BLOCK_BYTES), "x": bytes(BLOCK_BYTES)}
        (answer,) = made("encrypt", [{**context, **begun, "in": bytes(size)}])
        return answer

    ways: Mapping[str, Callable[[int], list[CallResult]]] = {
        SEAL: lambda size: [sealed(size)],
        OPEN: lambda size: [opened(size)],
        TEXT: lambda size: [encrypted(size)],
        IMIX: lambda size: [sealed(n) for n, times in PACKETS.items() for _ in range(times)],
    }
    return [ways[mode](size) for mode, size in cells]


CALLS: Mapping[str, Calls] = MappingProxyType({"hash": _hash, "gcm": _gcm})
"""By family."""
