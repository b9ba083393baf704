"""The loops of a random program: absorbing blocks, counting, keeping values aside."""

import random

from ghashgen.check.attack.program_text import Text, part


class Loops:
    """Emits loops over blocks; `input` and `length` name the registers of the remaining input."""

    def __init__(self, rng: random.Random, text: Text, kind: str) -> None:
        self.rng, self.t, self.kind = rng, text, kind
        self.input, self.length = "rdx", "rcx"
        self.frame = 0

    # Values put aside.

    def aside(self) -> tuple[str, str]:
        """Return instructions that put the accumulator aside and bring it back."""
        t, rng = self.t, self.rng
        slot = "[rsp]" if self.frame else t.below(24)
        places = ["vector", "stack", "state", "state"]
        if len(t.free) >= 3:
            places += ["general", "mask"]
        match rng.choice(places):
            case "vector":
                register = f"xmm{rng.randrange(9, 16)}"
                return f"movdqa {register}, xmm8", f"movdqa xmm8, {register}"
            case "stack":
                other = t.below(32) if t.change("place") else slot
                return f"movdqu {slot}, xmm8", f"movdqu xmm8, {other}"
            case "state":
                return "movdqu [rdi], xmm8", "movdqu xmm8, [rdi]"
            case "general":
                a, b = rng.sample(t.free, 2)
                narrow = t.change("place")
                put = f"movq {a}, xmm8\n    pextrq {b}, xmm8, 1"
                t.needs.add("sse4_1")
                back = f"movd xmm8, {part(b, 32)}" if narrow else f"movq xmm8, {b}"
                return put, f"movq xmm9, {a}\n    {back}\n    punpcklqdq xmm9, xmm8\n" \
                    "    movdqa xmm8, xmm9"  # fmt: skip
            case _:
                t.needs.add("avx512bw")
                a = rng.choice(t.free)
                width = rng.choice("bwd") if t.change("place") else "q"
                first, second = rng.sample(range(1, 8), 2)
                put = (
                    f"movq {a}, xmm8\n    kmovq k{first}, {a}\n    kmov{width} k{second}, k{first}"
                )
                back = (
                    f"kmovq {a}, k{second}\n    movq xmm9, {a}\n    punpckhqdq xmm8, xmm8\n"
                    "    punpcklqdq xmm9, xmm8\n    movdqa xmm8, xmm9"
                )
                return put, back

    # Blocks.

    def absorb(self, source: str = "xmm0", power: int = 1, first: bool = True) -> None:
        """Add the block in xmm0, in memory order, to the sums."""
        t = self.t
        if source != "xmm0":
            t.emit(f"movdqu xmm0, {source}")
        t.emit("pshufb xmm0, xmm1")
        if first:
            t.emit("pxor xmm0, xmm8", "CLEAR_SUMS")
        t.emit(f"ADD_PRODUCT [rsi + {16 * (power - 1)}]")
        if power == 1:
            t.emit("REDUCE", "movdqa xmm8, xmm0")

    def body(self, base: str, blocks: int) -> None:
        """Absorb `blocks` blocks from an address on, with one reduction."""
        for k in range(blocks):
            self.absorb(f"[{base} + {16 * k}]", blocks - k, k == 0)

    def turn(self, base: str, blocks: int) -> None:
        """Absorb one turn's blocks, perhaps with the accumulator put aside in between."""
        self.body(base, blocks)
        if self.rng.random() < 0.25:
            put, back = self.aside()
            self.t.emit(put, "pxor xmm8, xmm8", back)

    def loop(self, blocks: int) -> None:
        """Absorb groups of blocks while enough are left; leave input and length behind them."""
        t, rng, step = self.t, self.rng, 16 * blocks
        # The prover understands few of the second list, so those test little.
        forms = [self.back, self.first, self.top] * 6
        if len(t.free) >= 2:
            forms += [self.count, self.end, self.up, self.negative]
        if self.kind == "ahead" and blocks == 1:
            self.ahead()
            return
        form = rng.choice(forms)
        form(blocks, step)

    def back(self, blocks: int, step: int) -> None:
        """Compare at the end of a turn."""
        t, out, head = self.t, self.t.label(), self.t.label()
        t.jump_if_below(self.length, step, out)
        t.place(head)
        self.turn(self.input, blocks)
        t.add(self.input, step, narrow=False)
        t.add(self.length, -step)
        t.jump_if_below(self.length, step, head, below=False)
        t.place(out)

    def first(self, blocks: int, step: int) -> None:
        """Subtract before comparing, and add at the end."""
        t, out, head = self.t, self.t.label(), self.t.label()
        name = part(self.length, t.width())
        t.emit(f"sub {name}, {step}")
        t.jump("b", out)
        t.place(head)
        self.turn(self.input, blocks)
        t.add(self.input, step, narrow=False)
        t.emit(f"sub {name}, {t.amount(step)}")
        t.jump("ae", head)
        t.place(out)
        t.emit(f"add {self.length}, {t.amount(step)}")

    def top(self, blocks: int, step: int) -> None:
        """Compare at the head, and jump back to it."""
        t, out, head = self.t, self.t.label(), self.t.label()
        t.place(head)
        t.jump_if_below(self.length, step, out)
        self.turn(self.input, blocks)
        t.add(self.length, -step)
        t.add(self.input, step, narrow=False)
        t.emit(f"jmp {head}")
        t.place(out)

    def shifted(self, step: int) -> str:
        """Return a register with the number of groups."""
        t = self.t
        count = t.take()
        shift = step.bit_length() - 1
        t.emit(f"mov {count}, {self.length}")
        t.emit(f"shr {part(count, t.width())}, {shift}")
        return count

    def rest(self, step: int) -> None:
        """Leave the length modulo a group."""
        t = self.t
        t.emit(f"and {part(self.length, self.rng.choice((64, 32)))}, {t.amount(step - 1)}")

    def count(self, blocks: int, step: int) -> None:
        """Count groups down."""
        t, out, head = self.t, self.t.label(), self.t.label()
        count = self.shifted(step)
        if self.rng.random() < 0.5:
            name = part(count, t.width())
            t.emit(f"test {name}, {name}")
        else:
            t.emit(f"cmp {part(count, t.width())}, 0")
        t.jump("e", out)
        t.place(head)
        self.turn(self.input, blocks)
        t.add(self.input, step, narrow=False)
        name = part(count, t.width())
        t.emit(self.rng.choice((f"dec {name}", f"sub {name}, 1", f"add {name}, -1")))
        t.jump("ne", head)
        t.place(out)
        t.give(count)
        self.rest(step)

    def end(self, blocks: int, step: int) -> None:
        """Compare addresses."""
        t, out, head = self.t, self.t.label(), self.t.label()
        end = t.take()
        t.emit(f"mov {end}, {self.length}", f"and {part(end, t.width())}, {-step}")
        t.emit(f"add {end}, {self.input}", f"cmp {self.input}, {end}")
        t.jump(self.rng.choice(("e", "ae")), out)
        t.place(head)
        self.turn(self.input, blocks)
        t.add(self.input, step, narrow=False)
        t.emit(f"cmp {self.input}, {end}")
        t.jump(self.rng.choice(("ne", "b")), head)
        t.place(out)
        t.give(end)
        self.rest(step)

    def up(self, blocks: int, step: int) -> None:
        """Count bytes up."""
        t, out, head = self.t, self.t.label(), self.t.label()
        at, after = t.take(), t.take()
        t.emit(f"xor {part(at, 32)}, {part(at, 32)}")
        t.place(head)
        bits = t.width()
        t.emit(f"lea {after}, [{at} + {t.amount(step)}]")
        t.emit(f"cmp {part(after, bits)}, {part(self.length, bits)}")
        t.jump("a", out)
        self.turn(f"{self.input} + {at}", blocks)
        t.emit(f"mov {at}, {after}", f"jmp {head}")
        t.place(out)
        t.emit(f"add {self.input}, {at}", f"sub {self.length}, {at}")
        t.give(at)
        t.give(after)

    def negative(self, blocks: int, step: int) -> None:
        """Count bytes from a negative number up to zero."""
        t, out, head = self.t, self.t.label(), self.t.label()
        at = t.take()
        t.emit(f"mov {at}, {self.length}", f"and {part(at, t.width())}, {-step}")
        t.emit(f"add {self.input}, {at}", f"neg {at}")
        t.jump("e", out)
        t.place(head)
        self.turn(f"{self.input} + {at}", blocks)
        t.emit(f"add {part(at, t.width())}, {t.amount(step)}")
        t.jump("ne", head)
        t.place(out)
        t.give(at)
        self.rest(step)

    def ahead(self) -> None:
        """Absorb single blocks, each read one turn ahead."""
        t, rng = self.t, self.rng
        out, head, last = t.label(), t.label(), t.label()
        wrong = rng.randrange(5)
        where = t.below(56) if rng.random() < 0.3 else f"xmm{rng.randrange(9, 16)}"
        t.emit(f"cmp {self.length}, 16")
        t.emit(f"jb {out}", f"movdqu xmm0, [{self.input}]", f"movdqu {where}, xmm0")
        t.place(head)
        self.absorb(where)
        t.emit(f"add {self.input}, 16", f"sub {self.length}, 16", f"cmp {self.length}, 16")
        t.emit(f"jb {last}")
        if wrong != 1:
            offset = 0 if wrong != 2 else rng.choice((16, 8, -16, 1))
            t.emit(f"movdqu xmm0, [{self.input} + {offset}]")
            if wrong == 3:
                t.emit(f"cmp {self.length}, {16 * rng.randrange(1, 9)}")
                skip = t.label()
                t.emit(f"{rng.choice(('je', 'jb', 'ja', 'jae'))} {skip}")
                t.emit(f"movdqu {where}, xmm0")
                t.place(skip)
            else:
                t.emit(f"movdqu {where}, xmm0")
        if wrong in (1, 2, 3):
            t.changed.append("ahead")
        t.emit(f"jmp {head}")
        t.place(last)
        t.place(out)
