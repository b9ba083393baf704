"""A proof in words and as JSON data. The prover calls nothing here: it has already decided."""

from dataclasses import asdict
from typing import Any

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.theorems import Proof, Theorem


def shown(theorem: Theorem) -> str:
    """Return in words for which lengths or exponents a theorem is proved, if any, and how."""
    how = f"by {theorem.method}"
    if theorem.lengths == "none":
        return how
    return f"{'' if '=' in theorem.lengths else 'lengths '}{theorem.lengths}, {how}"


def refutation_data(refutation: Refutation | None) -> dict[str, Any] | None:
    """Return a refutation as JSON data."""
    if refutation is None:
        return None
    explanation = refutation.explanation
    return {
        "category": str(refutation.category),
        "symbol": refutation.symbol,
        "length": refutation.numbers.get("length"),
        "exponent": refutation.numbers.get("exponent"),
        "message": refutation.message,
        "address": refutation.at,
        "instruction": refutation.instruction,
        "difference": None if explanation is None else asdict(explanation),
    }


def proof_data(proof: Proof) -> dict[str, Any]:
    """Return a proof as JSON data: what, for which symbol and lengths, by which method."""
    return {
        "kernel": proof.kernel,
        "code_sha256": proof.code_sha256,
        "proved": proof.proved,
        "refutation": refutation_data(proof.refutation),
        "functions": [asdict(function) for function in proof.functions],
        "unstated": list(proof.unstated),
        "seconds": proof.seconds,
    }


def report(proof: Proof) -> str:
    """Return a proof in words, one line for each function and theorem."""
    lines = [f"{proof.kernel}: {'proved' if proof.proved else 'NOT proved'}"]
    lines.append(f"  code sha256 {proof.code_sha256}")
    for function in proof.functions:
        lines.append(
            f"  {function.symbol}: {function.instructions} instructions followed, "
            f"{function.seconds:.2f} s"
        )
        lines += [f"    {t.what}: {shown(t)}" for t in function.theorems]
    if proof.unstated:
        lines.append(f"  nothing is stated or proved about {', '.join(proof.unstated)}")
    if proof.refutation is not None:
        lines.append(f"  {proof.refutation}")
        if proof.refutation.explanation is not None:
            lines += [f"    {line}" for line in proof.refutation.explanation.lines()]
    return "\n".join(lines)
