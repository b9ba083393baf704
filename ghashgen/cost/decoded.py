"""Decoded instructions as work for the model of `simulate`: what they read, write and wait for."""

from collections.abc import Sequence

from ghashgen.arch.decoder import Native
from ghashgen.arch.uarch import Uarch
from ghashgen.cost.simulate import Work


def work_of(instructions: Sequence[Native], uarch: Uarch) -> list[Work]:
    """Return the work of instructions in sequence; a fused pair counts as one."""
    decoder = uarch.decoder
    out: list[Work] = []
    for instruction in instructions:
        form, ties = decoder.form(instruction), decoder.ties(instruction)
        item = Work(form, ties.reads, ties.writes, ties.address, uarch.costs.get(form))
        pair = uarch.fuses(out[-1].form, item.form) if out else None
        if pair is not None:
            first = out.pop()
            item = Work(
                f"{first.form} + {item.form}", first.reads, first.writes, first.address, pair
            )
        out.append(item)
    return out
