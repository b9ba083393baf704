"""What a sweep decides for AES-GCM, and the calls that stand for its modes."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ghashgen.algebra.field.bitorder import BLOCK_BYTES
from ghashgen.algebra.schemes.aggregate import MAX_BLOCKS
from ghashgen.choice.families.gcm import BURSTS, IN_PIECES, QUESTION
from ghashgen.kernels.core import Keyed, Point
from ghashgen.lab.bench.families.gcm import CONTEST
from ghashgen.lab.tune.calls import Made
from ghashgen.lab.tune.goals import Cell, Goal
from ghashgen.records.core import IMIX, SEAL_MODES, TEXT
from ghashgen.run.emulate import CallResult

GOAL = Goal(
    CONTEST,
    uses=tuple(use for use in QUESTION.dispatched if use not in (IN_PIECES, BURSTS)),
    fixed={"wipe": False, "messages": True, "streams": False, "many": "none"},
    whole={"blocks": tuple(range(1, MAX_BLOCKS + 1)), "short": (False, True)},
)
"""Kernels for each use but messages in pieces and bursts."""

SEAL, OPEN, *_ = SEAL_MODES

AAD, IV = bytes(12), bytes(12)
"""The values of `bench` for each message."""

PACKETS: Mapping[int, int] = MappingProxyType({64: 7, 594: 4, 1518: 1})
"""Bytes of a message → how many of them are in a pattern of IMIX."""


def calls(made: Made, kernel: Point, cells: Sequence[Cell]) -> list[list[CallResult]]:
    """Return the results of each cell's calls."""
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
