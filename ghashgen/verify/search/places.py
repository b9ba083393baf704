"""Where cases of a run may be alike again: where ways meet, and behind the low bits of a number."""

from collections.abc import Iterable, Mapping
from typing import Any

from iced_x86 import FlowControl, Instruction, Mnemonic, Register

from ghashgen.verify.search.graph import successors, turned
from ghashgen.verify.x86_64.flow import FLAGS, Flow

LEAST_LEFT = 30
"""Instructions that are left to run where it is worth it to bring cases together."""

SOON = 40
"""Instructions to the next place for which cases go on apart."""


class Places:
    """The places of a function, in the order in which runs come to them."""

    def __init__(self, flow: Flow, entry: int) -> None:
        self.flow, self.after = flow, successors(flow)
        self.before = turned(self.after)
        loops = [(to, at) for at, some in self.after.items() for to in some if to <= at]
        self.inside = {at for at in self.after for head, last in loops if head <= at <= last}
        self.order = {at: k for k, at in enumerate(_order(self.after, entry))}
        left = _distances(self.after, self.order)
        met = {at for at, ways in self.before.items() if len(ways) > 1 and self._may_be_cut(at)}
        met |= {at for i in flow.instructions.values() if (at := self._behind(i))}
        self.all = {at for at in met if left.get(at, 0) >= LEAST_LEFT}
        self.all -= {at for at in self.all if self._is_soon_followed(at)}

    def leading(self, to: Iterable[int]) -> set[int]:
        """Return the instructions from which control may come to some."""
        found: set[int] = set()
        work = [one for at in to for one in self.before.get(at, ())]
        while work:
            at = work.pop()
            if at not in found:
                found.add(at)
                work += self.before.get(at, ())
        return found

    def _may_be_cut(self, at: int) -> bool:
        live = self.flow.live.get(at)
        return live is not None and FLAGS not in live and at not in self.inside

    def _behind(self, i: Instruction) -> int | None:
        """Return a place behind an instruction that may take a number's low bits.

        It is the last one before memory is used or ways part: what is made of them is there by
        then.
        """
        if i.mnemonic not in (Mnemonic.AND, Mnemonic.SHR):
            return None
        found = None
        while i.flow_control == FlowControl.NEXT and i.next_ip in self.flow.instructions:
            i = self.flow.instructions[int(i.next_ip)]
            if self._may_be_cut(int(i.ip)):
                found = int(i.ip)
            base: Any = i.memory_base
            if i.mnemonic != Mnemonic.LEA and base not in (Register.NONE, Register.RIP):
                break
        return found

    def _is_soon_followed(self, at: int) -> bool:
        """Return whether a run comes from a place to another one soon, without a choice."""
        for _ in range(SOON):
            following = self.after.get(at, ())
            if len(following) != 1:
                return False
            (at,) = following
            if at in self.all:
                return True
        return False


def _order(after: Any, entry: int) -> list[int]:
    """Return the instructions so that each stands behind those that lead to it, but for loops."""
    done, out, stack = {entry}, [], [(entry, iter(after.get(entry, ())))]
    while stack:
        at, following = stack[-1]
        for to in following:
            if to in after and to not in done:
                done.add(to)
                stack.append((to, iter(after[to])))
                break
        else:
            stack.pop()
            out.append(at)
    return out[::-1]


def _distances(after: Any, order: Mapping[int, int]) -> dict[int, int]:
    """Return how many instructions are left on the longest way from each on, turns aside."""
    out: dict[int, int] = {}
    for at in sorted(order, key=lambda one: -order[one]):
        ahead = [out[to] for to in after[at] if to in out]
        out[at] = 1 + max(ahead, default=0)
    return out
