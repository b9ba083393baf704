"""Prints what `ghashgen vendor --try` found."""

from dataclasses import asdict

from ghashgen.check.trial import Tried
from ghashgen.cli.verbs.options import print_json
from ghashgen.support.tables import Table, say, show


def show_trial(tried: Tried, as_json: bool) -> None:
    """Print times, and on what they rest."""
    if as_json:
        times = [{**asdict(time), "ratio": round(time.ratio, 3)} for time in tried.times]
        print_json({**asdict(tried), "times": times})
        return
    rows = tuple(
        (
            str(time.length),
            "each message" if time.rekeyed else "once",
            *(f"{time.own:.1f}", f"{time.ours:.1f}", f"{time.ratio:.2f}"),
        )
        for time in tried.times
    )
    columns = (">bytes", "key set", ">own ns", ">ours ns", ">own/ours")
    show(Table(f"{tried.host} ({tried.source}) on {tried.cpu}", columns, rows))
    for line in tried.tests:
        say(f"its tests with our kernels: {line}")
    for symbol, count in tried.called.items():
        say(f"called by the timed program: {symbol}, {count} times")
    say(f"when our functions trap, this fails: {tried.trapped}")
    for kernel, how in tried.proofs.items():
        say(f"the object in its library: {kernel}, {how}")
