"""What the tests of the checker's rows share: instances, and what this CPU can run of them."""

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from iced_x86 import CpuidFeature, Instruction

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.arch.x86_64.features import FEATURES
from ghashgen.check.attack import row_cases as cases
from ghashgen.check.attack import row_child as native
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.x86_64.rows.table import code_name, step_of
from helpers.cpus import cpuinfo, features, lacking

CPUINFO = {"SSE3": "pni", "SSE4_2": "sse4_2"}
"""iced's name of a feature that no kernel needs -> the name in /proc/cpuinfo."""

WIDEST = {"zmm": ("avx512f", "avx512vl", "avx512bw", "avx512dq"), "ymm": ("avx",), "xmm": ()}
"""What the code around an instruction needs, to load and store registers of each kind."""

INSTANCES = 5

REFUSED = ("EVEX_VEXTRACT", "EVEX_VGF2P8AFFINEQB")
"""Forms of which masked instances are refused: an extraction to memory, and the affine map, which
Bochs masks by qword where the manual, and the type of its intrinsic, say by byte."""


def vectors() -> str:
    """The widest vector registers with which instructions can be compared on this CPU."""
    return next(kind for kind, needs in WIDEST.items() if not lacking(needs))


@cache
def feature_names() -> dict[int, str]:
    return {getattr(CpuidFeature, n): n for n in dir(CpuidFeature) if n[0].isupper()}


def runs_here(needs: list[str]) -> bool:
    """Whether this CPU can run it with the registers that it works on loaded and stored."""
    if any(f.startswith("AVX512") for f in needs) and vectors() != "zmm":
        return False
    known = {f.lower() for f in needs} & set(FEATURES)
    return known <= features() and {CPUINFO[f] for f in needs if f in CPUINFO} <= cpuinfo()


def features_of(code: int) -> list[str]:
    found = next(iter(cases.instances(code, 0, 1)), None)
    return [feature_names()[f] for f in found[0].cpuid_features()] if found else []


def checkable(code: int, seed: int, count: int) -> list[tuple[Instruction, bytes]]:
    """Return `count` instances that the row does not refuse on purpose."""
    out = []
    for instruction, data in cases.instances(code, seed, 4 * count):
        try:
            step_of(instruction)
        except Refutation:
            if code_name(code).startswith(REFUSED) and instruction.has_op_mask:
                continue
        out.append((instruction, data))
    return out[:count]


@lru_cache(maxsize=4)
def context_of(state: cases.State) -> bytes:
    words = [*state.gpr, cases.initial_flags(state), *state.mask]
    head = b"".join(word.to_bytes(8, "little") for word in words).ljust(256, b"\0")
    return head + b"".join(lane.to_bytes(16, "little") for z in state.vec for lane in z)


After = tuple[list[int], int, list[int], list[int], bytes, int]
"""What code leaves: general registers, flags, mask and vector registers, memory, where it lay."""


def natively(todo: Sequence[tuple[bytes, cases.State]], folder: Path) -> Iterator[After]:
    """Run pieces of code, each from its state, on this CPU."""
    source, blob = folder / "row.asm", folder / "row.bin"
    source.write_text(native.source(vectors()))
    nasm = [*find_nasm().command, "-f", "bin", str(source), "-o", str(blob)]
    subprocess.run(nasm, check=True)
    sent = [(data, context_of(state), state.memory) for data, state in todo]
    child = [sys.executable, native.__file__, str(blob)]
    done = subprocess.run(child, input=pickle.dumps(sent), capture_output=True, check=True)
    found = pickle.loads(done.stdout)
    assert len(found) == len(todo)
    for context, memory, at in found:
        words = [int.from_bytes(context[k : k + 8], "little") for k in range(0, 200, 8)]
        vec = [int.from_bytes(context[k : k + 64], "little") for k in range(256, len(context), 64)]
        yield words[:16], words[16], words[17:25], vec, memory, at
