"""Prints what `ghashgen vendor --try` found."""

from dataclasses import asdict

from ghashgen.check.trial import Tried
from ghashgen.cli.verbs.options import print_json
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import counted


def show_trial(tried: Tried, as_json: bool) -> None:
    """Print times, and on what they rest."""
    if as_json:
        times = [{**asdict(time), "ratio": time.ratio} for time in tried.times]
        print_json({**asdict(tried), "times": times})
        return
    rivals = [*tried.times[0].own]
    rows = tuple(
        (
            *(str(time.length), "each message" if time.rekeyed else "once", f"{time.ours:.1f}"),
            *(f"{time.own[name]:.1f} ({time.ratio[name]:.2f})" for name in rivals),
        )
        for time in tried.times
    )
    columns = (">bytes", "key set", ">ours ns", *(f">{name} ns (times ours)" for name in rivals))
    show(Table(f"{tried.host} ({tried.source}) on {tried.cpu}", columns, rows))
    for line in tried.tests:
        say(f"its tests with our kernels: {line}")
    for command, calls in tried.called.items():
        for symbol, count in calls.items():
            say(f"called by {command}: {symbol}, {counted(count, 'time')}")
    for kernel, how in tried.proofs.items():
        say(f"the object of its build: {kernel}, {how}")
