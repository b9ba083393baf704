"""ghashgen prove: prove named theorems about the algebra and about every kernel's bytes."""

from dataclasses import asdict

import click

from ghashgen.algebra.identities import prove_all, selected
from ghashgen.check import ledger, proofs, ranges
from ghashgen.check.recorded import recorded_target
from ghashgen.check.verdicts import Verdict
from ghashgen.cli.verbs.options import (
    Wanted,
    brief_option,
    build_folder,
    choice_options,
    chosen_kernels,
    default_out,
    json_option,
    print_json,
    progress,
    target_options,
)
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import family_of
from ghashgen.kernels.selection import Choice, catalogue
from ghashgen.output.folder import require_writable
from ghashgen.run.built import build
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.parallel import workers
from ghashgen.support.paths import project_root
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


@click.command("prove")
@choice_options
@target_options
@click.option("--identities", is_flag=True, help="Prove the algebraic identities instead.")
@click.option(
    "--theorem", default=None, help="Prove the identities with this name, prefix or glob."
)
@click.option("--report", is_flag=True, help="List each function's theorems.")
@click.option("--write", is_flag=True, help="Write generated/PROOFS.json; catalogue only.")
@click.option(
    "--check",
    is_flag=True,
    help="Only check the kept certificates; search nothing, use no verdict.",
)
@click.option("--no-cache", is_flag=True, help="Assemble and prove again, ignoring the cache.")
@brief_option
@json_option
def COMMAND(
    choice: Choice,
    wanted: Wanted,
    identities: bool,
    theorem: str | None,
    report: bool,
    write: bool,
    check: bool,
    no_cache: bool,
    brief: bool,
    as_json: bool,
) -> None:
    """Prove kernels correct from their assembled bytes, for every key, state and message.

    The prover decodes each kernel's functions. A search proposes a certificate for each, and a
    checker decides, for every length: result, memory, constant time, calling convention and, where
    the kernel has it, wipe (docs/checker.md).

    The cache keeps certificates, which are used again as long as they are accepted; --check only
    checks them. It also keeps verdicts, sealed with a key of this user. Whatever changed or fails
    its seal is proved again. The theorems about the catalogue must be those that
    docs/expected-theorems.txt lists, for the lengths in docs/expected-lengths.txt, and must match
    generated/PROOFS.json.
    """
    if identities or theorem:
        if choice != Choice() or write or report or check:
            raise GhashgenError(
                "identities belong to no kernel, so --identities and --theorem take no filters, "
                "no --write, no --report and no --check",
                "leave them out",
            )
        _identities(theorem, brief, as_json)
        return
    kernels = chosen_kernels(choice, "claims").kernels
    proofs.require_provable(kernels)
    where = wanted.runnable()
    whole = kernels == _catalogue()
    recorded = whole and where == recorded_target()
    if write and not recorded:
        raise GhashgenError("--write records the whole catalogue", "leave out all other options")
    if write:
        require_writable(default_out(), "clone")
    with progress("assemble", len(kernels)) as advance:
        built = build(kernels, where, default_out(), build_folder("obj"), advance, no_cache)
    folders = build_folder("proofs"), build_folder("certificates")
    with progress("check" if check else "prove", len(built)) as advance:
        proved = proofs.prove(built, *folders, advance, fresh=no_cache, check=check)
    verdicts = proved.verdicts
    if as_json:
        print_json(ledger.as_data(verdicts))
    elif report:
        for verdict in verdicts:
            click.echo(verdict.report)
    else:
        _print(verdicts, brief)
    _say_origin(proved)
    _require(verdicts, whole, check)
    if not recorded:
        return
    path = default_out() / ledger.NAME
    ledger.require_fresh(path, verdicts, ledger.provable(manifest.load(default_out())))
    if write:
        write_whole(path, ledger.dump(verdicts))
    else:
        ledger.require_same(path, verdicts)


def _catalogue() -> tuple[Point, ...]:
    """Return the catalogue's kernels that are to be proved."""
    return tuple(kernel for kernel in catalogue() if "claims" in family_of(kernel).facets)


def _print(verdicts: list[Verdict], brief: bool) -> None:
    rows = []
    for verdict in verdicts:
        if not verdict.proved:
            rows.append((verdict.kernel, "", "", "NOT PROVED", "", f"{verdict.seconds:.1f}"))
        for function in verdict.functions:
            whats = list(dict.fromkeys(item.what for item in function.theorems))
            lengths = list(dict.fromkeys(item.lengths for item in function.theorems))
            row = (
                verdict.kernel, function.operation, " and ".join(lengths),
                " ".join(whats), str(function.instructions), f"{function.seconds:.1f}",
            )  # fmt: skip
            rows.append(row)
    kernels = counted(len(verdicts), "kernel")
    title = f"{kernels}, from their bytes, for every key, state and message"
    columns = ("kernel", "function", "lengths", "theorems", ">instructions", ">seconds")
    if not brief:
        show(Table(title, columns, tuple(rows), spare=("seconds", "instructions"), prose="lengths"))
    proved = sum(verdict.proved for verdict in verdicts)
    theorems = counted(len(ledger.theorems(verdicts)), "theorem")
    say(f"{proved} of {kernels} proved, {theorems}")


def _say_origin(proved: proofs.Proved) -> None:
    """Say on standard error which verdicts came from the cache, and which failed their seal."""
    if proved.reused:
        total = counted(len(proved.verdicts), "verdict")
        click.echo(f"{proved.reused} of {total} from an earlier run", err=True)
    if proved.disbelieved:
        names = ledger.some(proved.disbelieved)
        click.echo(f"the seal does not fit, proved again: {names}", err=True)
    if proved.unsealed:
        click.echo(f"verdicts are not cached: {proved.unsealed}", err=True)


def _require(verdicts: list[Verdict], whole: bool, check: bool) -> None:
    failed = [verdict for verdict in verdicts if not verdict.proved]
    if failed:
        for verdict in failed:
            click.echo(verdict.report, err=True)
        anew = "run ghashgen prove --no-cache, which searches for new ones"
        raise GhashgenError(
            f"not proved: {len(failed)} of {counted(len(verdicts), 'kernel')}, "
            f"first {failed[0].kernel}",
            anew if check else "do not use them",
        )
    names = [kernel.name for kernel in _catalogue()]
    differ = ledger.mismatches(verdicts, project_root() / ledger.EXPECTED, names, whole)
    if differ:
        for item in differ:
            click.echo(item.report(), err=True)
        raise GhashgenError(
            f"{ledger.EXPECTED} lists other theorems than were proved for "
            f"{ledger.some([item.kernel for item in differ])}",
            "if the proved theorems are right, change the lines above",
        )
    if other := ranges.others(verdicts, project_root() / ranges.EXPECTED):
        for line in other:
            click.echo(line, err=True)
        raise GhashgenError(
            f"{counted(len(other), 'theorem')} for other lengths than {ranges.EXPECTED} lists, the "
            f"first: {other[0].partition(':')[0]}",
            "if the proved lengths are right, change the list",
        )


def _identities(theorem: str | None, brief: bool, as_json: bool) -> None:
    total = len(selected(theorem))
    with progress("prove", total) as advance:
        found = prove_all(theorem, advance, workers=workers())
    failed = [proof for proof in found if not proof.ok]
    if as_json:
        print_json([asdict(proof) for proof in found])
    elif not brief:
        rows = tuple(
            (p.name, p.covers, f"{p.seconds:.2f}", "yes" if p.ok else f"NO: {p.detail}")
            for p in found
        )
        title = counted(len(found), "identity", "identities")
        columns = ("theorem", "covers", ">seconds", "proved")
        show(Table(title, columns, rows, prose="covers"))
    if failed:
        raise GhashgenError(
            f"not proved: {len(failed)} of {counted(len(found), 'identity', 'identities')}, "
            f"first {failed[0].name}: {failed[0].detail}",
            "compare the scheme's file with the claim that it states",
        )
    if brief:
        say(f"{counted(len(found), 'identity', 'identities')} proved")
