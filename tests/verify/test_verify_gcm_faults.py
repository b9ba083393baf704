"""Faults in AES-GCM kernels that validation tells are refused by the proof."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.gcm_faults import PLANTED, Planted, made

from ghashgen.check.proofs import statement
from ghashgen.support.toolchain import Tool
from ghashgen.verify.prove import prove_object


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_refused(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, nasm: Tool, tmp_path: Path
) -> None:
    built = made(planted, monkeypatch, nasm, tmp_path)
    spec = statement(built.kernel, built.symbol, built.abi, built.table_align)
    chosen = tuple(f for f in spec.functions if f.operation in planted.functions)
    proof = prove_object(built.obj, replace(spec, functions=chosen))
    assert proof.refutation is not None
