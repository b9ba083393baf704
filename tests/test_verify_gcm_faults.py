"""Faults in AES-GCM kernels that validation tells are refused by the proof, each by its word."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from gcm_faults import PLANTED, Planted, made

from ghashgen.check.proofs import statement
from ghashgen.kernels.families import functions_of
from ghashgen.support.toolchain import Tool
from ghashgen.verify.gcm.spec import GcmFunction
from ghashgen.verify.prove import prove_object

PROVED = [planted for planted in PLANTED if planted.refused]


def test_all_but_faults_in_what_the_prover_does_not_know_are_refused() -> None:
    known = GcmFunction.operations.keys()
    assert all(planted.refused or not known & {*planted.functions} for planted in PLANTED)
    assert len(PROVED) > 35


@pytest.mark.parametrize("planted", PROVED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_refused(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    built = made(planted, monkeypatch, nasm, tmp_path)
    kernel, functions = built.kernel, functions_of(built.kernel)
    spec = statement(replace(kernel, streams=False), built.symbol, built.abi, built.table_align)
    chosen = tuple(
        GcmFunction(name, f"{built.symbol}_{name}", functions[name].roles)
        for name in functions
        if name in planted.functions
    )
    refutation = prove_object(built.obj, replace(spec, functions=chosen)).refutation
    assert refutation is not None
    said = f"{refutation.category}: {refutation}"
    assert re.search(planted.refused, said), said
