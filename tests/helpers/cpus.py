"""The CPUs that tests are run as: this one as it was found, and lesser ones by the feature mask.

A test that looks at the CPU has the marker `cpu` and runs once as each of CPUS, or as those that
the marker names. During every other test the mask names no feature, which the programs that ask the
CPU refuse: a test that looks without the marker fails, and so does a fixture that outlives a test,
in this process or in one that it starts.
"""

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.run.harness import Harness, MissingFeatures, build
from ghashgen.support.paths import project_root

AS_FOUND, NO_PCLMULQDQ = "as-found", "no-pclmulqdq"

KEPT: Mapping[str, tuple[str, ...]] = {
    AS_FOUND: FEATURES,
    "nothing-wide": ("sse2", "ssse3", "sse4_1", "pclmulqdq", "aesni", "avx"),
    "sse": ("sse2", "ssse3", "pclmulqdq"),
    NO_PCLMULQDQ: ("sse2", "ssse3"),
}
"""What each CPU has at most."""

CPUS = tuple(KEPT)

UNMARKED = "a test without the marker cpu"
"""The mask of a test that has no business with the CPU."""


def mask(cpu: str, base: str) -> str:
    """Return the value of FEATURES_OFF under which this machine is `cpu`; `base` is off anyway."""
    return ",".join([base, *(name for name in FEATURES if name not in KEPT[cpu])]).strip(",")


def masked(*more: str) -> str:
    """Return the mask that this test is run under, with `more` taken away, for a program that it
    starts with another environment, or that would not refuse the mask of an unmarked test."""
    off = os.environ.get(FEATURES_OFF, "")
    assert off != UNMARKED, f"{UNMARKED} looks at it"
    return ",".join([off, *more])


@cache
def _harness() -> Harness:
    return build([], project_root() / "build" / "harness")


@cache
def _features(off: str) -> frozenset[str]:
    """Ask the harness, as every verb does; it refuses the mask of a test without the marker."""
    assert off == os.environ.get(FEATURES_OFF, "")
    return frozenset(name for name, there in _harness().features().items() if there)


def features() -> frozenset[str]:
    """Return which of FEATURES the CPU has that this test is run as."""
    return _features(os.environ.get(FEATURES_OFF, ""))


def cpuinfo() -> frozenset[str]:
    """Return the words of /proc/cpuinfo, the vendor's and the flags', whatever the mask says."""
    features()
    info = Path("/proc/cpuinfo")
    return frozenset(info.read_text(encoding="utf-8").split() if info.exists() else ())


def lacking(needs: Iterable[str]) -> tuple[str, ...]:
    """Return those of `needs`, names of FEATURES, that this CPU lacks, in FEATURES' order."""
    present = features()
    return tuple(name for name in FEATURES if name in needs and name not in present)


def need_x86(whole_module: bool = False) -> None:
    """Skip the test, or the whole module, where this machine is no x86-64."""
    if platform.machine() not in ("x86_64", "AMD64"):
        said = "the kernels are x86-64 code and this machine is not"
        pytest.skip(said, allow_module_level=whole_module)


def need(needs: Iterable[str]) -> None:
    """Skip the test where this CPU lacks one of `needs`."""
    if without := lacking(needs):
        pytest.skip(f"this CPU lacks {', '.join(without)}")


def too_little(cpu: str, needs: Iterable[str], attempt: Callable[[], object]) -> bool:
    """Whether `cpu`, which this test is run as, lacks a feature; `attempt` is then refused for it.

    A test that ends here has checked the refusal. Where the machine itself lacks the feature the
    rest of the test is run nowhere, and a skip says so; where the mask took it away, the same test
    as the CPU that was found does the rest.
    """
    missing = lacking(needs)
    if missing:
        with pytest.raises(MissingFeatures) as refusal:
            attempt()
        assert refusal.value.features == missing
    if gone := [name for name in missing if name in KEPT[cpu]]:
        pytest.skip(f"this CPU has no {', '.join(gone)}")
    return bool(missing)
