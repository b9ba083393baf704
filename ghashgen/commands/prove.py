"""ghashgen prove: named theorems, each with what it covers."""

from dataclasses import asdict

import click

from ghashgen.commands.options import console, json_option, print_json, progress, table
from ghashgen.errors import GhashgenError
from ghashgen.identities import prove_all, selected
from ghashgen.parallel import workers


@click.command("prove")
@click.option("--identities", is_flag=True, help="Prove the algebraic identities (the default).")
@click.option("--theorem", default=None, help="Only theorems with this name, prefix or glob.")
@json_option
def COMMAND(identities: bool, theorem: str | None, as_json: bool) -> None:
    """Prove the identities that the kernels rest on, for all inputs, by exact GF(2) forms."""
    total = len(selected(theorem))
    with progress("prove", total) as advance:
        proofs = prove_all(theorem, advance, workers=workers())
    failed = [proof for proof in proofs if not proof.ok]
    if as_json:
        print_json([asdict(proof) for proof in proofs])
    else:
        out = table(f"{len(proofs)} theorems", "theorem", "covers", ">seconds", "proved")
        for proof in proofs:
            verdict = "yes" if proof.ok else f"NO: {proof.detail}"
            out.add_row(proof.name, proof.covers, f"{proof.seconds:.2f}", verdict)
        console().print(out)
    if failed:
        raise GhashgenError(
            f"{len(failed)} of {len(proofs)} theorems fail, first {failed[0].name}: "
            f"{failed[0].detail}",
            "the scheme's file states its claim",
        )
