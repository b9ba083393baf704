"""GMAC and AES-GCM through a Python library's interface, including the cost of the call.

These rows are not comparable with kernels. They are wall time, converted to cycles by the clock
that the benchmark program measured, without its filter.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from ghashgen.records.core import Run, summarise
from ghashgen.support.errors import GhashgenError
from ghashgen.support.extras import require

_SAMPLES = 21
_SECONDS = 0.0002
"""Minimum seconds of one sample."""

_AAD = bytes(12)

Work = Callable[[bytes], object]
"""The work on a message."""


@dataclass(frozen=True)
class Interface:
    """A library's call, with its benchmark mode and AES key size."""

    mode: str
    make: Callable[[], Work]
    """() → the function to time; refuses if the library is missing."""
    key: int = 0


def _pyca_gmac() -> Work:
    require("bench")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(bytes(range(16)))
    nonce = bytes(12)
    return lambda message: cipher.encrypt(nonce, b"", message)


def _pyca_aesgcm(key: int) -> Work:
    require("bench")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(bytes(range(key // 8)))
    nonce = bytes(12)
    return lambda message: cipher.encrypt(nonce, message, _AAD)


HASHING: Mapping[str, Interface] = MappingProxyType(
    {"pyca_gmac": Interface("throughput", _pyca_gmac)}
)
"""Interfaces shown beside GHASH kernels, by name."""

MESSAGES: Mapping[str, Interface] = MappingProxyType(
    {
        f"pyca_aesgcm_{key}": Interface("seal", partial(_pyca_aesgcm, key), key)
        for key in (128, 192, 256)
    }
)
"""Interfaces shown beside AES-GCM kernels, by name."""


def absent_interfaces(interfaces: Mapping[str, Interface]) -> dict[str, str]:
    """Return, by name, why some of these interfaces cannot be measured."""
    absent = {}
    for name, interface in interfaces.items():
        try:
            interface.make()
        except GhashgenError as refusal:
            absent[name] = str(refusal)
    return absent


@contextmanager
def _on_core(core: int) -> Iterator[None]:
    """Stay on the core on which the kernels were measured."""
    allowed = os.sched_getaffinity(0)
    try:
        if core in allowed:
            os.sched_setaffinity(0, {core})
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def measure_interfaces(
    interfaces: Mapping[str, Interface],
    sizes: Sequence[int],
    modes: Sequence[str],
    ghz: float,
    core: int,
) -> Iterator[tuple[str, int, Run]]:
    """Yield (name, size, statistics in core cycles per call) for interfaces whose mode is
    measured.
    """
    for name, interface in interfaces.items():
        if interface.mode not in modes:
            continue
        function = interface.make()
        for size in sorted(set(sizes)):
            message = bytes(size)
            with _on_core(core):
                samples = [1e9 * ghz * _seconds(function, message) for _ in range(_SAMPLES)]
            run = summarise(samples, 0)
            if run is not None:
                yield name, size, run


def _seconds(function: Work, message: bytes) -> float:
    """Return the time of one call."""
    calls, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < _SECONDS:
        function(message)
        calls += 1
    return passed / calls
