"""What a call did: outcome, memory, registers, and how often each instruction retired."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from iced_x86 import FormatMnemonicOptions, Formatter, FormatterSyntax, Instruction

from ghashgen.run.emulate.calls import Prepared, with_addresses
from ghashgen.run.emulate.image import Image
from ghashgen.run.emulate.outcome import Outcome, decode_run, describe, locate, retired_before_fault
from ghashgen.run.emulate.registers import REGISTERS_BYTES, Registers


@dataclass(frozen=True)
class Access:
    """One memory access: `kind` "read", "write", "read-write"; `where` as in Outcome."""

    kind: str
    address: int
    where: str
    size: int


@dataclass(frozen=True)
class CallResult:
    """What a call did.

    `buffers` holds every buffer's final bytes, `before` and `after` the registers around the call
    (after a fault: as the faulting instruction found them). `retired` has the retirement count of
    each mnemonic, sorted, and `accesses` the memory accesses in order; both are empty unless
    requested. `stack` is the part of the stack below the return address that the call changed: its
    length is the stack use, its content what was left. `runs` are the completed straight runs, each
    as (first, last, count) with the addresses of its first and last instruction, for `decode_run`.
    """

    outcome: Outcome
    buffers: Mapping[str, bytes]
    before: Registers
    after: Registers
    retired: Mapping[str, int]
    accesses: tuple[Access, ...]
    stack: bytes
    runs: tuple[tuple[int, int, int], ...] = ()

    @property
    def instructions(self) -> int:
        """The number of retired instructions (0 unless counted)."""
        return sum(self.retired.values())


def _mnemonics(run: list[Instruction]) -> Mapping[str, int]:
    formatter = Formatter(FormatterSyntax.NASM)
    # vpclmulqdq, never vpclmullqhqqdq.
    formatter.use_pseudo_ops = False
    return Counter(
        formatter.format_mnemonic(instruction, FormatMnemonicOptions.NO_PREFIXES)
        for instruction in run
    )


@lru_cache(maxsize=4096)
def _run_mnemonics(image: Image, start: int, last: int) -> Mapping[str, int]:
    return _mnemonics(decode_run(image, start, last))


def _retired(image: Image, run: Mapping[str, Any]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for start, last, times in run["runs"]:
        for mnemonic, number in _run_mnemonics(image, start, last).items():
            total[mnemonic] += times * number
    if run["stop"] == "exception":
        total.update(_mnemonics(retired_before_fault(image, run)))
    return dict(sorted(total.items()))


def result_of(
    image: Image, prepared: Prepared, run: Mapping[str, Any], take: Callable[[int], bytes]
) -> CallResult:
    """Return the result of one call from the worker's answer; `take` cuts parts off the payload."""
    after = Registers(take(REGISTERS_BYTES))
    spans, call = prepared.spans, prepared.call
    held = {buffer.name: buffer for buffer in call.buffers}
    buffers = {
        name: with_addresses(
            take(span.length) if span.writable else prepared.contents[name], held[name], spans, -1
        )
        for name, span in spans.items()
    }
    return CallResult(
        outcome=describe(run, spans, image, after, call.budget),
        buffers=buffers,
        before=Registers(prepared.block),
        after=after,
        retired=_retired(image, run) if call.count else {},
        accesses=tuple(
            Access(kind, address, locate(address, spans, image)[0], size)
            for kind, address, size in run["accesses"]
        ),
        stack=take(run["used"]),
        runs=tuple((start, last, times) for start, last, times in run["runs"]),
    )
