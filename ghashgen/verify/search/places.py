"""Where cases of a run may be alike again: where ways meet, and behind the low bits of a number."""

from collections.abc import Iterable, Mapping
from typing import Any

from ghashgen.verify.machine.image import Image
from ghashgen.verify.search.flow import Flow
from ghashgen.verify.search.graph import turned
from ghashgen.verify.search.looks import FLAGS

LEAST_LEFT = 30
"""Instructions that are left to run where it is worth it to bring cases together."""

SOON = 40
"""Instructions to the next place for which cases go on apart."""

CUTTING = ("and", "shr")
"""Instructions that may take a number's low bits."""


class Places:
    """The places of a function, in the order in which runs come to them."""

    def __init__(self, image: Image, flow: Flow, entry: int) -> None:
        self.image, self.flow, self.after = image, flow, flow.after
        self.before = turned(self.after)
        loops = [(to, at) for at, some in self.after.items() for to in some if to <= at]
        self.inside = {at for at in self.after for head, last in loops if head <= at <= last}
        self.heads = {head for head, _ in loops}
        self.order = {at: k for k, at in enumerate(_order(self.after, entry))}
        left = _distances(self.after, self.order)
        met = {at for at, ways in self.before.items() if len(ways) > 1 and self._may_be_cut(at)}
        met |= {at for one in self.after if (at := self._behind(one))}
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

    def _behind(self, at: int) -> int | None:
        """Return a place behind an instruction that may take a number's low bits.

        It is the last one before memory is used or ways part: what is made of them is there by
        then.
        """
        if self._text(at)[0] not in CUTTING:
            return None
        found = None
        while (
            len(self.after[at]) == 1 and self.after[at][0] > at and self.after[at][0] in self.after
        ):
            (at,) = self.after[at]
            if self._may_be_cut(at):
                found = at
            name, operands = self._text(at)
            if name != "lea" and "[" in operands and "[rel" not in operands:
                break
        return found

    def _text(self, at: int) -> tuple[str, str]:
        """Return an instruction's name and its operands."""
        name, _, operands = self.image.target.text(self.image, at).partition(" ")
        return name, operands

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
        ahead = [out[to] for to in after.get(at, ()) if to in out]
        out[at] = 1 + max(ahead, default=0)
    return out
