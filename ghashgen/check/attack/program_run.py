"""Asks the prover about programs, and runs those that it accepts at very many lengths."""

import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ghashgen.algebra.field.bitorder import Order
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.attack import length_child
from ghashgen.check.attack.long_messages import Hashed, table
from ghashgen.check.attack.program_abi import CONVENTIONS, thunk
from ghashgen.check.attack.program_make import Program
from ghashgen.check.attack.program_text import FOOT, HEAD
from ghashgen.run.emulate.image import load_object
from ghashgen.run.emulate.layout import IMAGE_BASE
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.prove import prove_image
from ghashgen.verify.statements.hash import FunctionSpec, KernelSpec
from ghashgen.verify.x86_64.elf import load_image

POWERS = 4
SUBKEY = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")
STATE = bytes(range(3, 19))
SECONDS = 60
"""CPU time limit in seconds for all lengths of one program."""


@dataclass(frozen=True)
class Lengths:
    """The lengths at which an accepted program is run."""

    every: int
    """All lengths up to this one."""
    edges: int
    """Lengths around every power of two up to this one, with all residues of a group."""
    zeros: tuple[int, ...] = ()
    """Lengths of messages of zeros, which need no memory of their own."""


QUICK = Lengths(640, 1 << 16)
LONG = Lengths(4096, 1 << 22)
FAR = (1 << 32, (1 << 32) + 80)


@dataclass(frozen=True)
class Fate:
    """What became of one program."""

    program: Program
    refutation: Refutation | None
    wrong: str | None = None
    """What was wrong when it was run."""
    calls: int = 0
    lacking: str | None = None
    """Why it was not run although it was accepted."""


@cache
def hashed(most: int) -> Hashed:
    """Return the message that all programs get."""
    return Hashed(SUBKEY, STATE, "programs", most)


@cache
def chosen(lengths: Lengths, multiple: int) -> tuple[int, ...]:
    """Return the lengths of messages in increasing order."""
    out = set(range(0, lengths.every + 1, multiple))
    edge = 1 << 7
    while edge <= lengths.edges:
        out |= {edge + 16 * k for k in range(-9, 10) if edge + 16 * k >= 0}
        if multiple == 1:
            out |= {edge + k for k in range(-17, 18)}
        edge *= 2
    return tuple(sorted(out))


def statement(program: Program) -> KernelSpec:
    """Return the statement about a program."""
    parameters = ("state", "table", "input", "length")
    function = FunctionSpec("update", program.name, parameters, program.multiple)
    cells = tuple(("B", k + 1) for k in range(POWERS))
    abi = program.convention.name
    return KernelSpec(
        program.name, abi, Order.REFLECTED, program.blocks, cells, 16 * POWERS, (function,)
    )


def as_toml(program: Program) -> str:
    """Return `statement` as a file for prove-object."""
    cells = ", ".join(f'"B{k + 1}"' for k in range(POWERS))
    return (
        f'name = "{program.name}"\nabi = "{program.convention.name}"\norder = "reflected"\n'
        f"blocks = {program.blocks}\ncells = [{cells}]\ntable_align = 16\n\n[functions.update]\n"
        f'symbol = "{program.name}"\nparameters = ["state", "table", "input", "length"]\n'
        f"length_multiple = {program.multiple}\n"
    )


def source(programs: Sequence[Program]) -> str:
    """Return programs as one file of nasm."""
    return HEAD + "".join(program.text for program in programs) + FOOT


def assembled(programs: Sequence[Program]) -> bytes:
    """Return one object with all of them."""
    return assemble_text(find_nasm(), "programs", source(programs), "elf64")


def judge(programs: Sequence[Program], features: frozenset[str], lengths: Lengths) -> list[Fate]:
    """Ask the prover about each program, and run it if it is accepted."""
    obj = assembled(programs)
    image = load_image(obj)
    fates, accepted = [], []
    for program in programs:
        refutation = prove_image(image, statement(program)).refutation
        fate = Fate(program, refutation)
        if refutation is None:
            missing = sorted(program.needs - features)
            if missing:
                fate = Fate(program, None, lacking=f"this CPU lacks {', '.join(missing)}")
            else:
                accepted.append(program)
        fates.append(fate)
    ran: dict[str, Fate] = {}
    for convention in CONVENTIONS.values():
        ran |= run(obj, [p for p in accepted if p.convention is convention], lengths)
    return [ran.get(fate.program.name, fate) for fate in fates]


def run(obj: bytes, programs: Sequence[Program], lengths: Lengths) -> dict[str, Fate]:
    """Run programs of one convention on this CPU, in a separate process, and compare."""
    laid = load_object(obj)
    code = bytearray(max(s.address + len(s.content) for s in laid.segments) - IMAGE_BASE)
    for segment in laid.segments:
        at = segment.address - IMAGE_BASE
        code[at : at + len(segment.content)] = segment.content
    most = max([max(chosen(lengths, 1), default=0), 1])
    message = hashed(most + 64)
    out: dict[str, Fate] = {}
    todo = list(enumerate(programs))
    while todo:
        job = _job(bytes(code), laid.symbols, todo, lengths, message)
        done, ended = _child(job)
        for number, program in todo:
            line = done.get(number)
            if line is not None:
                wrong = line[1] if line[0] == "wrong" else None
                calls = len(chosen(lengths, program.multiple))
                out[program.name] = Fate(program, None, _words(wrong) if wrong else None, calls)
        todo = [(number, program) for number, program in todo if number not in done]
        if todo and ended is None:
            raise GhashgenError(
                "the process that ran programs did not report all of them", "report this"
            )
        if todo and ended is not None:
            number, length, text = ended
            left = [pair for pair in todo if pair[0] != number]
            if len(left) == len(todo):
                raise GhashgenError(
                    f"the process that runs programs did not start: {text}", "report this"
                )
            program = dict(todo)[number]
            out[program.name] = Fate(program, None, f"{length} bytes: {text}")
            todo = left
    return out


def _words(line: str) -> str:
    length, _, rest = line.partition(" ")
    got, _, expected = rest.rpartition(" ")
    return f"{length} bytes: got {got}, expected {expected}"


def _job(
    code: bytes,
    symbols: object,
    todo: Sequence[tuple[int, Program]],
    lengths: Lengths,
    message: Hashed,
) -> dict[str, object]:
    assert isinstance(symbols, dict)
    needed = {n for _, program in todo for n in chosen(lengths, program.multiple)}
    zeros = [(n, message.after_zeros(n).hex()) for n in lengths.zeros]
    return {
        "code": code,
        "thunk": thunk(todo[0][1].convention),
        "table": table(SUBKEY, POWERS),
        "state": STATE,
        "message": message.message,
        "expected": {n: message.after(n).hex() for n in sorted(needed)},
        "functions": [
            (number, symbols[program.name] - IMAGE_BASE, chosen(lengths, program.multiple))
            for number, program in todo
        ],
        "zeros": {number: zeros for number, _ in todo} if zeros else {},
        "seconds": SECONDS,
    }


def _child(
    job: dict[str, object],
) -> tuple[dict[int, tuple[str, str]], tuple[int, int, str] | None]:
    """Return the child's verdict on each function, and where it ended if it did not finish."""
    with tempfile.TemporaryFile() as mark:
        mark.write(struct.pack("<QQQ", 1 << 40, 0, 0))
        mark.flush()
        os.set_inheritable(mark.fileno(), True)
        done = subprocess.run(
            [sys.executable, length_child.__file__],
            input=pickle.dumps({**job, "mark": mark.fileno()}),
            capture_output=True,
            pass_fds=(mark.fileno(),),
            check=False,
        )
        mark.seek(0)
        number, length, _ = struct.unpack("<QQQ", mark.read(24))
    said: dict[int, tuple[str, str]] = {}
    for line in done.stdout.decode().splitlines():
        word, _, rest = line.partition(" ")
        key, _, what = rest.partition(" ")
        if word == "short":
            continue
        said[int(key)] = (word, what)
    if done.returncode == 0:
        return said, None
    if done.returncode > 0:
        return said, (1 << 40, 0, done.stderr.decode(errors="replace")[-400:])
    text = (
        "it does not return" if done.returncode == -signal.SIGPROF else f"signal {-done.returncode}"
    )
    return said, (number, length, text)
