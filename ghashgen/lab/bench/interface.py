"""GMAC as a user of a Python library sees it: the call, the cipher's set-up and the tag included.

A row of its own, not comparable with a kernel: wall time, turned into cycles by the clock that the
benchmark program measured, without its filter.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from ghashgen.records.core import Run, summarise
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require

_SAMPLES = 21
_SECONDS = 0.0002
"""Of one sample, at least."""


def _pyca() -> Callable[[bytes], object]:
    require("bench")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(bytes(range(16)))
    nonce = bytes(12)
    return lambda message: cipher.encrypt(nonce, b"", message)


INTERFACES: Mapping[str, Callable[[], Callable[[bytes], object]]] = MappingProxyType(
    {"pyca_gmac": _pyca}
)
"""For each name, what makes a function of the message; it refuses where its library is absent."""


def absent_interfaces(names: Sequence[str]) -> dict[str, str]:
    """Return why some of these interfaces cannot be measured, by name."""
    absent = {}
    for name in names:
        try:
            INTERFACES[name]()
        except GhashgenError as refusal:
            absent[name] = str(refusal)
    return absent


@contextmanager
def _on_core(core: int) -> Iterator[None]:
    """Stay on the core that the kernels were measured on."""
    allowed = os.sched_getaffinity(0)
    try:
        if core in allowed:
            os.sched_setaffinity(0, {core})
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def measure_interfaces(
    names: Sequence[str], sizes: Sequence[int], modes: Sequence[str], ghz: float, core: int
) -> Iterator[tuple[str, int, Run]]:
    """Yield (name, size, statistics in core cycles per call); throughput alone has a meaning."""
    if "throughput" not in modes:
        return
    for name in names:
        function = INTERFACES[name]()
        for size in sorted(set(sizes)):
            message = bytes(size)
            with _on_core(core):
                samples = [1e9 * ghz * _seconds(function, message) for _ in range(_SAMPLES)]
            run = summarise(samples, 0)
            if run is not None:
                yield name, size, run


def _seconds(function: Callable[[bytes], object], message: bytes) -> float:
    """Return the time of one call."""
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < _SECONDS:
        function(message)
        calls += 1
    return passed / calls
