"""Small random programs that hash, or nearly: one simple `update`, rewritten at random.

Some choices keep it right: the registers of the arguments, where values are put aside, how a loop
counts, how a length is compared, how the last bytes are read. What may be wrong is one of KINDS.
Nothing here knows whether a program is right: every program that the prover accepts is run.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ghashgen.check.attack import program_trap
from ghashgen.check.attack.program_abi import CONVENTIONS, SYSV, Convention
from ghashgen.check.attack.program_loops import Loops
from ghashgen.check.attack.program_text import SAVED, Text, part

KINDS = ("as it was", "count", "width", "condition", "flags", "trap", "kept", "ahead", "place")
"""What is changed, in this order: nothing that could be wrong; an immediate; the width of
arithmetic on a length; the condition of a jump; flags before a jump; a question about the length
that leads out; input or accumulator put aside before a loop and used after it; a block read ahead
of its turn; where a value is put aside and how it comes back.
"""

ODDS = {"count": 0.12, "width": 0.22, "condition": 0.25, "flags": 0.3, "place": 0.35}
"""How likely a change is at each place where it applies."""


@dataclass(frozen=True)
class Program:
    """One function in nasm's syntax."""

    name: str
    text: str
    blocks: int
    multiple: int
    kind: str
    """The kind of change that it was made for."""
    changed: int
    """The number of changes."""
    needs: frozenset[str]
    """CPU features, by the names of ghashgen.arch.x86_64.features."""
    convention: Convention = SYSV


class _Maker(Loops):
    def __init__(self, rng: random.Random, name: str, kind: str, convention: Convention) -> None:
        odds = {
            k: v for k, v in ODDS.items() if k == kind or (k != "count" and rng.random() < 0.04)
        }
        super().__init__(rng, Text(rng, name, odds), kind)
        self.convention = convention
        self.blocks = rng.choice((1, 1, 2, 2, 4))
        self.multiple = 1 if rng.random() < 0.25 else 16
        if self.multiple == 1:
            self.blocks = min(self.blocks, 2)
        self.group = 16 * self.blocks
        self.done, self.skip = ".done", ".unchanged"
        self.saved: list[str] = []
        self.kept: Callable[[], None] | None = None

    # Entry and return.

    def prologue(self) -> None:
        t, rng = self.t, self.rng
        t.emit(*self.convention.enter)
        self.saved = rng.sample(SAVED, rng.choice((0, 0, 0, 1, 2)))
        for register in self.saved:
            t.emit(f"push {register}")
            t.free.append(register)
        # Any number of pushes will do: nothing is called, and nothing needs alignment.
        self.frame = 32 if rng.random() < 0.3 else 0
        if self.frame:
            t.emit(f"sub rsp, {self.frame}")
        if self.convention.room:
            t.aside = self.convention.room + self.frame + 8 * len(self.saved)
        for name in ("length", "input"):
            if rng.random() < 0.3:
                register = t.take()
                old = getattr(self, name)
                t.emit(f"mov {register}, {old}")
                t.give(old)
                setattr(self, name, register)
        t.emit("movdqa xmm2, [fold_constant]", "movdqa xmm1, [reverse_bytes]")
        t.emit("movdqu xmm8, [rdi]", "pshufb xmm8, xmm1")

    def epilogue(self) -> None:
        t, rng = self.t, self.rng
        t.place(self.done)
        t.emit("pshufb xmm8, xmm1", "movdqu [rdi], xmm8")
        t.place(self.skip)
        if self.frame:
            t.emit(f"add rsp, {self.frame}")
        saved = [*reversed(self.saved)]
        if len(saved) > 1 and t.change("place"):
            saved.reverse()
        for register in saved:
            t.emit(f"pop {register}")
        restores = list(self.convention.restores)
        if restores and t.change("place"):
            # One register does not come back, or two come back exchanged.
            at = rng.randrange(1, len(restores) - 1)
            one, other = (line.replace("movdqu ", "").split(", ") for line in restores[at : at + 2])
            exchanged = [f"movdqu {one[0]}, {other[1]}", f"movdqu {other[0]}, {one[1]}"]
            restores[at : at + 2] = rng.choice((restores[at : at + 1], exchanged))
        t.emit(*restores, *self.convention.leave, "ret")

    # What may lead astray.

    def trap(self) -> None:
        """Ask a question about the length, one answer to which leads out."""
        t, rng = self.t, self.rng
        trap = program_trap.make(rng, self.group)
        begin = t.label()
        if trap.low:
            t.emit(f"cmp {self.length}, {trap.low}", f"jb {begin}")
        if trap.high is not None:
            t.emit(f"cmp {self.length}, {trap.high}", f"jae {begin}")
        scratch = rng.choice(t.free)
        t.emit(f"mov {scratch}, {self.length}", *(step.text(scratch) for step in trap.steps))
        t.emit(f"j{trap.condition} {rng.choice((self.done, self.skip))}")
        t.place(begin)
        t.changed.append("trap")

    def keep(self) -> None:
        """Put something aside for some lengths, and choose how it is used at the end."""
        t, rng = self.t, self.rng
        flag = t.take()
        begin, after = t.label(), t.label()
        # Among the executed lengths, so that it may be right for these.
        least = 16 * rng.randrange(2, 2 * self.blocks + 2)
        what = rng.choice(("block", "block", "block", "block", "accumulator", "table"))
        where = f"xmm{rng.randrange(9, 16)}" if rng.random() < 0.5 else t.below(72)
        offset = rng.choice((0, 16, least - 16, least - 16, least - 16))
        residue = least % self.group
        t.emit(f"xor {part(flag, 32)}, {part(flag, 32)}")
        if self.blocks > 1 and rng.random() < 0.8:
            scratch = rng.choice(t.free)
            t.emit(f"mov {scratch}, {self.length}", f"and {scratch}, {self.group - 1}")
            t.emit(f"cmp {scratch}, {residue}", f"jne {begin}")
        t.emit(f"cmp {self.length}, {least}", f"jb {begin}")
        if rng.random() < 0.15:
            t.emit(f"cmp {self.length}, {least + 16}", f"jae {begin}")
        match what:
            case "block":
                t.emit(f"movdqu xmm0, [{self.input} + {offset}]")
            case "accumulator":
                t.emit("movdqa xmm0, xmm8")
            case _:
                t.emit("movdqa xmm0, [rsi]")
        t.emit(f"movdqu {where}, xmm0", f"mov {part(flag, 32)}, 1")
        use = rng.random() < 0.75
        if what == "block":
            # The loops get one block fewer.
            t.emit(f"sub {self.length}, 16")
        t.place(begin)
        if use:
            t.changed.append("kept")

        def later() -> None:
            t.emit(f"test {part(flag, 32)}, {part(flag, 32)}", f"je {after}")
            match what:
                case "block":
                    t.emit(f"movdqu xmm0, {where if use else f'[{self.input}]'}")
                    self.absorb()
                    if not use or self.multiple == 1:
                        t.emit(f"add {self.input}, 16")
                case "accumulator":
                    if use:
                        t.emit(f"movdqu xmm8, {where}")
                case _:
                    t.emit(f"movdqu xmm9, {where}", "pxor xmm9, [rsi]", "pxor xmm8, xmm9")
            t.place(after)

        self.kept = later

    # The last bytes.

    def tail(self) -> None:
        """Absorb fewer than 16 bytes, zero-padded."""
        t, rng = self.t, self.rng
        t.emit(f"test {self.length}, {self.length}")
        t.jump("e", self.done)
        if rng.random() < 0.35 and len(t.free) >= 2:
            t.needs |= {"avx512bw", "avx512vl", "bmi2"}
            ones = t.take()
            t.emit(f"mov {part(ones, 32)}, -1")
            t.emit(f"bzhi {part(ones, 32)}, {part(ones, 32)}, {part(self.length, 32)}")
            t.emit(f"kmov{rng.choice('wd')} k1, {part(ones, 32)}")
            t.emit("vmovdqu8 xmm0 {k1}{z}, " + f"[{self.input}]")
            t.give(ones)
            self.absorb()
            return
        slot = "[rsp]" if self.frame else t.below(16)
        at, scratch = t.take(), t.take()
        t.emit("pxor xmm0, xmm0", f"movdqu {slot}, xmm0", f"lea {at}, {slot}")
        for size, name in ((8, "qword"), (4, "dword"), (2, "word"), (1, "byte")):
            skip = t.label()
            t.emit(f"test {part(self.length, 8)}, {size}")
            t.jump("e", skip)
            load = f"movzx {part(scratch, 32)}" if size < 4 else f"mov {part(scratch, 8 * size)}"
            t.emit(f"{load}, {name} [{self.input}]", f"mov [{at}], {part(scratch, 8 * size)}")
            if size > 1:
                t.add(self.input, size, narrow=False)
                t.emit(f"add {at}, {size}")
            t.place(skip)
        t.emit(f"movdqu xmm0, {slot}")
        t.give(at)
        t.give(scratch)
        self.absorb()

    def make(self) -> Program:
        """Return the program."""
        t, rng = self.t, self.rng
        t.lines += [f"global {t.name}", f"{t.name}:"]
        self.prologue()
        traps = self.kind == "trap"
        if traps:
            for _ in range(rng.choice((1, 1, 2))):
                self.trap()
        if self.kind == "kept" and len(t.free) >= 2:
            self.keep()
        if self.blocks > 1:
            self.loop(self.blocks)
        if traps and rng.random() < 0.15:
            self.trap()
        self.loop(1)
        if self.kept is not None:
            self.kept()
        if self.multiple == 1:
            self.tail()
        self.epilogue()
        text = "\n".join(t.lines) + "\n"
        changed, needs = len(t.changed), frozenset(t.needs | {"ssse3", "pclmulqdq"})
        return Program(
            *(t.name, text, self.blocks, self.multiple, self.kind, changed, needs), self.convention
        )


WEIGHTS = {"as it was": 1, "count": 1, "width": 3, "condition": 1, "flags": 2, "trap": 7, "kept": 4,
           "ahead": 2, "place": 1}  # fmt: skip


def program(seed: int, number: int, abi: str = SYSV.name) -> Program:
    """Return program `number` of a seed; it does not depend on the programs made before."""
    rng = random.Random(f"programs {seed} {number}")
    kind = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    return _Maker(rng, f"p{number}", kind, CONVENTIONS[abi]).make()
