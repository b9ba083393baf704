"""Asks the rules about one small program with several certificates, and runs what they accept."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ghashgen.arch.elf import read_elf
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack.toy.certify import Data, honest, lying
from ghashgen.check.attack.toy.claim import NAME, Claim, left, meaning
from ghashgen.check.attack.toy.make import program, text
from ghashgen.check.attack.toy.run import Op, WrongError, run
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.checking import check_case
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.x86_64.elf import load_image

LENGTHS = ((0, 100_000), (0, 1 << 40), (0, 40), (3, 5000))
LIES, FEW, FAR, FARTHEST = 8, 70, 8, 1500
"""Certificates with lies for a program; lengths at which one is run: all to FEW, FAR others."""

HEAD = f"bits 64\nsection .text\nglobal {NAME}\n{NAME}:\n"
END = "section .note.GNU-stack noalloc noexec nowrite progbits\n"


@dataclass(frozen=True)
class Drawn:
    """A program, what is claimed of it, and for which lengths."""

    program: Sequence[Op]
    claim: Claim
    lengths: tuple[int, int]

    @property
    def source(self) -> str:
        """The program as nasm reads it."""
        return HEAD + text(self.program) + END


def drawn(rng: random.Random) -> Drawn | None:
    """Return a program and a claim that is nearly so of one run; None: there is none."""
    made, lengths = program(rng), rng.choice(LENGTHS)
    try:
        cpu = run(made, rng.randrange(lengths[0], 40))
    except WrongError:
        return None
    claim = left(cpu, rng)
    return Drawn(made, claim, lengths) if claim.blocks or claim.status is not None else None


def cuts(obj: bytes, made: Sequence[Op]) -> list[int]:
    """Return the addresses of loops' heads and of labels to which nothing jumps, from the entry."""
    jumps = [(op[2], at) for at, op in enumerate(made) if op[0] == "j"]
    names = []
    for at, op in enumerate(made):
        sources = [source for label, source in jumps if op == ("label", label)]
        if op[0] == "label" and (not sources or max(sources) > at):
            names.append(op[1])
    values = {symbol.name: symbol.value for symbol in read_elf(obj).symbols}
    return [values[f"{NAME}.{name}"] - values[NAME] for name in names]


def wrong(one: Drawn, rng: random.Random) -> str:
    """Return what is wrong in runs of a program, "" if nothing."""
    low, high = one.lengths
    far = [rng.randrange(low, min(high, FARTHEST) + 1) for _ in range(FAR)]
    for length in (*range(low, min(FEW, high) + 1), *far):
        try:
            said = one.claim.wrong(run(one.program, length))
        except WrongError as error:
            said = str(error)
        if said:
            return f"length {length}: {said}"
    return ""


def judge(one: Drawn, rng: random.Random, seen: Counter[str]) -> list[tuple[str, Data]]:
    """Return what is wrong of what the rules accept, each with its certificate."""
    obj = assemble_text(find_nasm(), NAME, one.source, "elf64")
    image = load_image(obj)
    specified = partial(meaning, one.claim, one.lengths)
    entry = image.symbol(NAME)
    right = honest(image, specified, [entry + at for at in cuts(obj, one.program)])
    many = LIES if right["assertions"] else 0
    accepted: list[Data] = []
    found: list[tuple[str, Data]] = []
    for data in (right, *(lying(rng, right) for _ in range(many))):
        try:
            check_case(image, specified(), json.loads(json.dumps(data)))
        except Refutation:
            seen["refused"] += 1
        except Exception as error:
            found.append((f"the checker stops: {type(error).__name__}: {error}", data))
        else:
            accepted.append(data)
    said = wrong(one, rng) if accepted else ""
    seen["right"] += 0 if said else len(accepted)
    return found + [(said, data) for data in accepted if said]
