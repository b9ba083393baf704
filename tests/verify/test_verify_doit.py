"""Intel's list of instructions with operand-independent timing: whole, disjoint, and enforced."""

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from iced_x86 import Instruction, OpCodeInfo, OpKind

from ghashgen.arch.registry import DEFAULT, isas
from ghashgen.check.attack import row_cases as cases
from ghashgen.support.paths import project_root
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.core.term import DATA
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import M64
from ghashgen.verify.x86_64 import dataflow, decoding
from ghashgen.verify.x86_64.rows.table import code_name, rows

TABLE: dict[str, Any] = tomllib.loads(dataflow.DATA_FILE.read_text(encoding="utf-8"))
EXCLUDED = frozenset(TABLE["excluded"]["mnemonics"])
CHECKED = ("jasmin", "spark", "s2n")


def mnemonic(code: int) -> str:
    return decoding._MNEMONICS[OpCodeInfo(code).mnemonic].lower()


def emitted() -> set[str]:
    """Mnemonics of the kernels that are checked in, from their text."""
    found = set()
    for path in sorted((project_root() / "generated").glob("*/*.asm")):
        found |= set(re.findall(r"^    ([a-z]\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return found - {"db", "dd"}


def test_every_row_stands_in_exactly_one_group() -> None:
    groups = (dataflow.listed(), dataflow.no_operands(), EXCLUDED)
    assert sum(map(len, groups)) == len(frozenset().union(*groups))
    assert {mnemonic(code) for code in rows()} == frozenset().union(*groups)


def secrets() -> Any:
    """Return a machine all of whose registers hold secrets, but for the one that addresses."""
    state = cases.random_state(random.Random(1))
    terms = Terms(lambda kind, power: NotImplemented)
    m = cases.machine_of(state, terms)
    for k in range(16):
        if k not in (4, 6):
            m.gpr[k] = terms.keep(terms.variable(f"g{k}", DATA), M64)
    for k in range(32):
        m.vec[k] = tuple(terms.variable(f"v{k}{j}", DATA) for j in range(4))
    return m


def zeroes(instruction: Instruction) -> bool:
    """Whether this is XORPS of a register with itself, which depends on nothing."""
    last = instruction.op_count - 1
    return (
        "xorp" in mnemonic(instruction.code)
        and instruction.op_kind(last) == OpKind.REGISTER
        and instruction.op_register(last) == instruction.op_register(last - 1)
    )


def test_no_row_off_the_list_meets_a_secret() -> None:
    seen = set()
    for code in rows():
        for instruction, _ in cases.instances(code, 4, 3):
            guard = dataflow.guard(instruction)
            if mnemonic(code) not in EXCLUDED:
                assert guard is None
                continue
            assert guard is not None, code_name(code)
            if not zeroes(instruction):
                with pytest.raises(Refutation) as caught:
                    guard(secrets())
                assert caught.value.category is Category.TIMING
                seen.add(mnemonic(code))
    assert seen == EXCLUDED


def test_what_kernels_use_is_listed_or_public() -> None:
    # BZHI makes masks of lengths: the prover refuses it with secrets.
    assert emitted() - dataflow.listed() - dataflow.no_operands() == {"bzhi"} <= EXCLUDED
    written = {row.mnemonic for isa in isas(DEFAULT).values() for row in isa.written.values()}
    # Groups of many messages need them: BZHI for lengths, the other where there is no proof.
    trial = {"bzhi", "vpcmpuq"}
    assert written - trial - dataflow.listed() - dataflow.no_operands() == set()


def test_every_listed_name_stands_in_a_public_copy() -> None:
    found = {name: frozenset(TABLE["cross_check"][name]) for name in (*CHECKED, "perfuzzer_lacks")}
    assert all(names <= dataflow.listed() for names in found.values())
    assert found["perfuzzer_lacks"] == {"xor"} <= found["jasmin"] & found["spark"]


def test_the_source_is_recorded() -> None:
    text = Path(dataflow.DATA_FILE).read_text(encoding="utf-8")
    head = text.partition("[instructions]")[0]
    assert "Data Operand Independent Timing Instructions" in head
    assert "768873" in head
    assert len(re.findall(r"\b[0-9a-f]{40}\b", text)) == 7
