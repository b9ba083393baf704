"""Certificates of functions whose code is alike but for its registers and its vectors.

    one = Alike(image, spec, function)
    data = one.lifted(certificate)
    other = Alike(...)               # where other.name == one.name
    other.placed(data)

AES-GCM with a longer key has more rounds, a kernel that wipes clears registers at its end, and else
the same assertions hold at the same instructions. They are found again by counting from marks:
targets of jumps, and instructions that use general registers alone. Between two jumps these may
stand in another order. A place among constants is found again by its number among those that
instructions refer to. `ghashgen.verify.search.fitted` finds out which registers hold what they
speak of.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import parse
from ghashgen.verify.machine.image import SECTION, Image
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.search.flow import looks_of
from ghashgen.verify.search.looks import FLAGS, VECTOR
from ghashgen.verify.statements.core import Function, Statement

APART = r"push|pop|vzero|xor (\w+),\1$|(add|sub) {top},"
"""Instructions that not all of those that are alike have: they save, restore and wipe registers,
and make room on the stack, of which `top` is the pointer."""

IDLE = re.compile(r"nop|xchg ax,ax")
"""Instructions that only take up room."""

CONSTANT = re.compile(r"(?:^|[+-])\d+$")
"""The constant of a number as certificates write it; no match if it is 0 beside unknowns."""

ASIDE = re.compile(r"mov|broadcast|aes")
"""Instructions of which a longer key has more: they bring values in, or belong to a round."""


class Alike:
    """A function by what it has in common with those that are like it."""

    def __init__(self, image: Image, spec: Statement, function: Function) -> None:
        self.entry = image.symbol(function.symbol)
        looks = looks_of(image, self.entry)
        texts = {at: image.target.text(image, at) for at in sorted(looks)}
        self.all = [at for at, text in texts.items() if not IDLE.match(text)]
        self.words = [texts[at].partition(" ")[0] for at in self.all]
        """The mnemonics of these instructions."""
        targets = {self._rank(to) for look in looks.values() for to in (look.ways or ())[1:]}
        apart = re.compile(APART.format(top=image.target.general[image.target.stack_pointer]))
        for at in self.all:
            own = looks[at].reads | looks[at].writes
            if any(VECTOR <= n < FLAGS for n in own) or apart.match(texts[at]):
                texts[at] = ""
        self.marks = [k for k, at in enumerate(self.all) if texts[at] or k in targets]
        """The numbers of these instructions among all."""
        places = [image.operands[at] for at in self.all if at in image.operands]
        data = [(p.region, p.offset) for p in places if p.region.startswith(SECTION)]
        self.data = sorted({(r, o) for r, o in data if isinstance(o, int)})
        """Where instructions refer to among constants."""
        kinds = sorted({str(cell[0]) for cell in getattr(spec, "cells", ()) if cell})
        three = any(word.startswith("v") for word in self.words)
        words = [function.operation, spec.abi, str(three), str(len(self.data)), *kinds]
        # Between jumps and their targets the order may be another.
        block: list[str] = []
        for k in self.marks:
            block.append(texts[self.all[k]] and self.words[k])
            if k in targets or len(looks[self.all[k]].ways or ()) != 1:
                words += sorted(block)
                block = []
        words += sorted(block)
        self.name = sha256("\n".join(words).encode()).hexdigest()

    def lifted(self, certificate: Any) -> Any:
        """Return a certificate with its addresses counted from marks: behind so many instructions
        of one kind, or so many of any before the next mark."""

        def lift(at: Any) -> list[Any]:
            k = self._rank(self.entry + at)
            mark = bisect_left(self.marks, k)
            if mark and {k, k + 1}.isdisjoint(self.marks):
                mark -= 1
                own = [w for w in self.words[self.marks[mark] + 1 : k] if not ASIDE.search(w)]
                if own:
                    return [mark, own[-1], own.count(own[-1])]
            return [mark, "", self.marks[mark] - k]

        def lift_data(region: str, at: int, least: int) -> tuple[str, int]:
            there = [(k, o) for k, (r, o) in enumerate(self.data) if r == region]
            if not there:
                return region, at
            k, offset = min(there, key=lambda one: abs(least - one[1]))
            return f"{SECTION}{k}", at - offset

        return _moved(certificate, lift, lift_data)

    def placed(self, lifted: Any) -> Any:
        """Return a certificate with its addresses in this function."""

        def place(lifted: tuple[int, str, int]) -> int:
            mark, word, count = lifted
            k = self.marks[mark]
            same = [j for j in range(k + 1, len(self.all)) if self.words[j] == word]
            # Where there are not so many the certificate is another's, and will not do.
            k = same[count - 1] + 1 if 0 < count <= len(same) else k - count
            return self.all[min(max(k, 0), len(self.all) - 1)] - self.entry

        def place_data(region: str, at: int, least: int) -> tuple[str, int]:
            number = region.removeprefix(SECTION)
            name, offset = self.data[int(number)] if number.isdecimal() else (region, 0)
            return name, offset + at

        return _moved(lifted, place, place_data)

    def _rank(self, at: int) -> int:
        """Return the number of the first instruction from an address on that does something."""
        return bisect_left(self.all, at)


def _moved(
    certificate: Any, to: Callable[[Any], Any], data: Callable[[str, int, int], tuple[str, int]],
    facts: Facts | None = None,
) -> Any:  # fmt: skip
    """Return a certificate with other addresses, of code and of constants.

    `data` is asked with the constant of a place, and with the least that the place may be.
    """
    match certificate:
        case Mapping():
            if "unknowns" in certificate:
                one = {**certificate, "at": 0}
                facts = read_certificate({"assertions": {"a": one}})["a"].facts()
            return {
                key: to(v) if key == "at" else _moved(v, to, data, facts)
                for key, v in certificate.items()
            }
        case ["p", str(region), str(number)] if region.startswith(SECTION):
            found = CONSTANT.search(number)
            rest = number[: found.start()] if found else number
            least = facts.least(parse(number)) if facts else 0
            name, at = data(region, int(found[0]) if found else 0, least)
            return ["p", name, f"{rest}{at:+d}" if rest and at else rest or str(at)]
    return certificate
