"""Trials of AES-CTR. Answers come from pyca's AES-CTR, cut where the counter wraps.

- each buffer at every place that `ghashgen validate` uses;
- round keys against FIPS 197;
- the standard's example; texts apart and in place: every length up to three groups and two blocks,
  every length of a group further on, long ones; keys and texts random, all zero and all one;
  counters that wrap or carry before any of the blocks;
- `crypt` at many turns of its loop (`check.validation.turns`);
- two secrets, emulated, which must not be told apart.
"""

from collections.abc import Iterator

from ghashgen.check.attack.accepted import AT_ONCE, Accepted
from ghashgen.check.attack.draws import keys, lengths
from ghashgen.check.attack.leaks import leaks
from ghashgen.check.validation import ctr
from ghashgen.check.validation.ciphers import some_counter
from ghashgen.check.validation.trials import Trial, faults
from ghashgen.check.validation.turns import on_both_sides
from ghashgen.kernels.ctr.kernel import CtrKernel
from ghashgen.run.emulate.image import load_object


def trials(found: Accepted[CtrKernel]) -> Iterator[tuple[int, str]]:
    """Yield how many calls a trial made, and what was wrong."""
    built, runner = found.built, found.runner
    size, blocks = built.kernel.key_bytes, built.kernel.blocks
    yield 0, next(iter(runner.check(built)), "")
    asked = [ctr.expanded(key) for key in keys(found, size)]
    asked += ctr.known(size)
    asked += _texts(found)
    asked += on_both_sides(ctr.turned(size, blocks, found.few), found.few)
    for start in range(0, len(asked), AT_ONCE):
        some = asked[start : start + AT_ONCE]
        yield len(some), next(faults(runner, built, some), "")
    yield leaks(found.emulator, load_object(built.obj), built)


def _texts(found: Accepted[CtrKernel]) -> Iterator[Trial]:
    """Yield texts under a random key, and under keys of ones and zeros."""
    rng, size = found.rng, found.built.kernel.key_bytes
    near, far, long = lengths(found, found.built.kernel.blocks)
    for key, filled, some in (
        (rng.randbytes(size), None, (near, far, long)),
        (b"\xff" * size, b"\xff", (near, far)),
        (bytes(size), b"\0", (near, far)),
    )[: 1 if found.few else 3]:
        for length in (n for each in some for n in each):
            text = rng.randbytes(length) if filled is None else filled * length
            counter = some_counter(rng, length)
            for in_place in (False, True):
                yield ctr.trial(key, counter, text, in_place)


__all__ = ["trials"]
