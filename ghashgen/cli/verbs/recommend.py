"""ghashgen recommend: name the kernel to take on a CPU, and why."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import click

from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.families.registry import questions
from ghashgen.choice.figures import changed_since
from ghashgen.choice.questions import Question, Use
from ghashgen.choice.recommend import Advice, Machine, Speed, for_every_cpu, machine, recommend
from ghashgen.cli.verbs.options import F, json_option, one_of, print_json
from ghashgen.kernels import manifest
from ghashgen.kernels.core import Point
from ghashgen.kernels.families import DEFAULT, families
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.output.dispatcher import recorded
from ghashgen.records.core import FIXED_SIZES, INIT_MODES, messages_of, size_name
from ghashgen.records.cpus import CORES, title_of
from ghashgen.records.records import FOLDER, load_records
from ghashgen.support.errors import GhashgenError
from ghashgen.support.paths import in_clone, project_root
from ghashgen.support.tables import Table, say, show
from ghashgen.support.wording import choose_one, joined

CATALOGUE = "generated"
"""The catalogue's folder, below the project's root."""


def _each(what: str) -> str:
    """Return the values of every family, in words."""
    return "; ".join(
        f"{name}: {', '.join(getattr(each, what) for each in question.uses)}"
        for name, question in questions().items()
    )


def _given_options(function: F) -> F:
    """Add each option that is a given of some family, not a choice: --op, --key."""
    givens: dict[str, list[Question]] = {}
    for question in questions().values():
        givens.setdefault(question.given, []).append(question)
    out: Any = function
    for given, alike in reversed(givens.items()):
        titles = " and ".join(families()[question.family].title for question in alike)
        asked = dict.fromkeys(str(value) for question in alike for value in question.asked)
        values = dict.fromkeys(str(value) for question in alike for value in question.values)
        out = click.option(
            f"--{given}",
            multiple=True,
            type=click.Choice(tuple(values)),
            help=f"For {titles} (default: {', '.join(asked)}).",
        )(out)
    return out  # type: ignore[no-any-return]


@click.command("recommend")
@click.option(
    "--cpu",
    help="A core ('Zen 4', haswell, znver4), a record, or features (avx,pclmulqdq) (default: this "
    "CPU).",
    shell_complete=one_of(lambda: (core.title for core in CORES)),
)
@click.option(
    "--family",
    type=click.Choice(tuple(questions())),
    help=f"Family of kernels (default: {DEFAULT}, or the first that has the other options).",
)
@_given_options
@click.option(
    "--use",
    "use_name",
    default="",
    help=f"Use, by family: {_each('name')} (default: the first, or with --bytes the one for that "
    "length).",
    shell_complete=one_of(lambda: (use.name for q in questions().values() for use in q.uses)),
)
@click.option("--bytes", "size", type=click.IntRange(0), help="Length of the messages.")
@click.option(
    "--messages-per-key",
    "messages",
    type=click.IntRange(1),
    help="Count each message's share of key set-up; 1 is --use once (default: not counted).",
)
@json_option
def COMMAND(
    cpu: str | None,
    family: str | None,
    use_name: str,
    size: int | None,
    messages: int | None,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Name the kernel to take on a CPU, its speed beside other libraries', its sizes, and why.

    It is the one with the least code among those within 5% of the fastest. The C dispatcher,
    README and the report make the same choice. Nothing is measured or built: the figures are
    recorded ones, for this kind of CPU or the nearest.
    """
    question = _question(family, given, use_name)
    use = _use(question, use_name, messages, size)
    records = load_records(project_root() / question.folder)
    # A core is known if any family has a record of it; this CPU needs none, and they are large.
    others = load_records(project_root() / FOLDER) if cpu else ()
    here = machine(cpu or "", (*records, *others))
    pools = _pools(question, given[question.given])
    if not given[question.given]:
        pools = _serving(question, use, pools)
    found = {
        value: recommend(here, pool, records, question, use, size=size)
        for value, pool in pools.items()
    }
    every = [item for advice in found.values() for item in advice]
    asked = {record.slug: record for item in every for record in item.asked}
    if line := changed_since(asked.values(), [c for pool in pools.values() for c in pool]):
        click.echo(line, err=True)
    if as_json:
        print_json(_plain(here, question, use, found))
        return
    title = title_of(here.cpu, here.features)
    say(here.cpu if title in here.cpu else f"{here.cpu}: {title}")
    show(_table(question, found))
    unknown = ""
    if use not in question.dispatched:
        by_name = use.name in {one.name for one in question.dispatched}
        what = "how many messages a key has" if by_name else "this use"
        unknown = f"; the dispatcher does not know {what}"
    say(f"use {use.name} ({use.title}){unknown}")
    for value, advice in found.items():
        if len(found) > 1:
            say(f"{question.given} {value}:")
        for item in advice:
            say("\n".join([*lines(item), *told_beside(item)]))


def _table(question: Question, found: Mapping[Any, tuple[Advice, ...]]) -> Table:
    """Return what is recommended, with its sizes in bytes and its times in core cycles."""
    rows = [
        (
            *(item.lengths, item.candidate.name, str(value)),
            *((f"{item.speed.cycles:.1f}", _ratio(item.speed)) if item.speed else ("-", "-")),
            *(item.on or "-", str(item.candidate.code_bytes), str(item.candidate.table.bytes)),
            "-" if item.init is None else f"{item.init:.0f}",
            " ".join(sorted(item.candidate.entry.cpu_features)),
        )
        for value, advice in found.items()
        for item in advice
    ]
    names = ("length", "kernel", question.given, ">cycles", ">peer's time", "measured on")
    table = families()[question.family].table
    columns = (*names, ">code bytes", f">{table} bytes", ">key set-up", "needs")
    return Table("kernels to take; times in core cycles", columns, tuple(rows), prose="needs")


def _ratio(speed: Speed) -> str:
    return "-" if speed.ratio is None else f"{speed.ratio:.2f}"


def _question(family: str | None, given: Mapping[str, tuple[str, ...]], use_name: str) -> Question:
    """Return the question of the named family, or of the first that has the given options and use,
    if one has both.
    """
    asked = [name for name, values in given.items() if values]
    fitting = [
        question
        for question in questions().values()
        if family in (None, question.family) and all(name == question.given for name in asked)
    ]
    if not fitting:
        raise GhashgenError(
            f"no family of kernels has both {' and '.join(f'--{name}' for name in asked)}"
            if family is None
            else f"family {family} has no --{asked[0]}",
            "leave out one of the options",
        )
    with_use = [q for q in fitting if any(use.name == use_name for use in q.uses)]
    if use_name and not with_use and len(fitting) > 1:
        every = dict.fromkeys(use.name for q in fitting for use in q.uses)
        raise GhashgenError(f"no family has a use {use_name!r}", choose_one(use_name, every))
    return (with_use or fitting)[0]


def _use(question: Question, name: str, messages: int | None, size: int | None) -> Use:
    known = [use.name for use in question.uses]
    if size is not None and messages != 1:
        name = name or question.use_at(size).name
    wanted = name or ("once" if messages == 1 else known[0])
    if wanted not in known:
        raise GhashgenError(
            f"family {question.family} has no use {wanted!r}", choose_one(wanted, known)
        )
    use = question.use(wanted)
    if messages is None:
        return use
    if all(INIT_MODES.issuperset(modes) for modes in use.modes):
        raise GhashgenError(
            f"use {use.name} is decided by key set-up alone", "leave out --messages-per-key"
        )
    return replace(use, messages=messages)


def _pools(question: Question, values: tuple[str, ...]) -> dict[Any, list[Candidate]]:
    """Return the kernels to choose from, for each given value."""
    folder = project_root() / CATALOGUE
    every = candidates(manifest.load(folder).values(), question.family)
    wanted = [v for v in question.values if str(v) in values] if values else question.asked
    found = {v: [c for c in every if c.given == v and c.abi == "sysv"] for v in wanted}
    if lacking := [str(value) for value, pool in found.items() if not pool]:
        raise GhashgenError(
            f"{folder} lists no kernel for {question.given} {lacking[0]}", "run ghashgen generate"
        )
    return found


def _serving(
    question: Question, use: Use, pools: Mapping[Any, list[Candidate]]
) -> dict[Any, list[Candidate]]:
    """Return the pools that serve a use, and name the others; return all, if none serves it."""
    able = {
        value: pool for value, pool in pools.items() if any(c.exports(use.exports) for c in pool)
    }
    for value in [value for value in pools if able and value not in able]:
        line = f"left out: {question.given} {value}, for which no kernel serves use {use.name}"
        click.echo(line, err=True)
    return able or dict(pools)


def kernels_for_every_cpu(choice: Choice, use_name: str) -> tuple[Point, ...]:
    """Return those of the chosen kernels that a use takes on CPUs of no known kind.

    Raises:
        GhashgenError: the choice names several families, or kernels that are not in the catalogue;
            the dispatcher does not know the use; or no chosen kernel has the functions it needs.
    """
    if len(choice.family) > 1:
        raise GhashgenError("--recommended takes one family of kernels", "give one --family")
    given = {q.given: choice.axes.get(q.given, ()) for q in questions().values()}
    options = {k: tuple(v) for k, v in given.items()}
    question = _question(next(iter(choice.family), None), options, use_name)
    use = _use(question, use_name, None, None)
    if use not in question.dispatched:
        known = [each.name for each in question.dispatched]
        raise GhashgenError(
            f"the dispatcher does not know use {use.name}", f"choose {', '.join(known)}"
        )
    found = look_up(choice.of(question.family))
    if found.made:
        raise GhashgenError(
            f"--recommended takes kernels of the catalogue, and {found.made[0].name} is not there",
            "leave out --recommended, or some of the other options",
        )
    own = {kernel.name: kernel for kernel in found.kernels}
    names: list[str] = []
    asked = tuple(map(str, given[question.given]))
    pools = {
        value: [each for each in pool if each.name in own]
        for value, pool in _pools(question, asked).items()
    }
    for value, pool in (pools if asked else _serving(question, use, pools)).items():
        able = [each for each in pool if each.exports(use.exports)]
        if not able:
            raise GhashgenError(
                f"no kernel that you chose for {question.given} {value} has "
                f"{joined(sorted(use.exports))}, which use {use.name} needs",
                "choose another --use, or fewer restrictions",
            )
        names += [
            candidate.name for candidate in for_every_cpu(able, recorded(question.family), use)
        ]
    return tuple(own[name] for name in names)


def lines(item: Advice) -> list[str]:
    """Return a recommendation in words: its speed, and why."""
    candidate = item.candidate
    other = "" if item.own else f" on {item.on}"
    out = [f"{item.lengths}: {candidate.name} ({_source(candidate)})"]
    for speed in item.speeds:
        out += _said(speed, other, candidate.question.ways)
    if not item.speeds:
        out.append("  its speed is not on record")
    place = _stored(f"{candidate.question.folder}/{item.record}.json")
    out.append(f"  {item.why}" + (f" ({place})" if item.record else ""))
    return out


def told_beside(item: Advice) -> list[str]:
    """Return what is said of the kernel of another use."""
    if item.beside is None:
        return []
    use, other = item.beside.use, item.beside.advice
    out = [f"use {use.name} ({use.title}):", *lines(other)]
    if item.beside.ratio is not None:
        times = f"{item.beside.ratio:.2f} times as long there"
        out.append(f"  {item.candidate.name}, called for each message, takes {times}")
    return out


def _source(candidate: Candidate) -> str:
    """Return where a kernel's file is; only a clone has the files."""
    if in_clone():
        return f"{CATALOGUE}/{candidate.isa}/"
    return f"ghashgen vendor --into FOLDER --name {candidate.name}"


def _stored(record: str) -> str:
    """Return a path of a record that the reader can open from here."""
    return record if in_clone() else str(project_root() / record)


def _said(speed: Speed, other: str, ways: Mapping[str, str]) -> list[str]:
    """Return a figure in words; `other` names another CPU that it was measured on."""
    with_setup = ""
    if speed.messages:
        keys = Fraction(messages_of(speed.mode), speed.messages)
        share = f"{keys} key set-ups" if keys.denominator == 1 else f"{keys} of key set-up"
        with_setup = f"{'key set-up' if keys == 1 else share} and "
    cycles = f"{speed.cycles:.{0 if speed.cycles >= 100 else 1}f}"
    fixed = speed.mode in FIXED_SIZES
    at = "" if fixed else f" at {size_name(speed.size)}"
    per_byte = f" ({speed.cycles / speed.size:.3f} per byte)" if speed.size else ""
    return [
        f"  {cycles} core cycles{other}{per_byte}{at}, {with_setup}{ways[speed.mode]}",
        f"  the best peer{other or ' there'}, {speed.peer}, takes {speed.ratio:.2f} times as long"
        f"{' there' if other else ''}"
        if speed.ratio is not None
        else f"  no peer was measured{other or ' there'} that took only what this CPU has",
    ]


def _plain(
    here: Machine, question: Question, use: Use, found: Mapping[Any, tuple[Advice, ...]]
) -> dict[str, Any]:
    def plain(value: Any, item: Advice) -> dict[str, Any]:
        beside = item.beside
        more = (
            {}
            if beside is None
            else {
                "use": beside.use.name,
                "instead_ratio": beside.ratio and round(beside.ratio, 4),
                **plain(value, beside.advice),
            }
        )
        return {
            question.given: value,
            "above": item.above if item.above >= 0 else None,
            "up_to": item.up_to,
            "kernel": item.candidate.name,
            "isa": item.candidate.isa,
            "cpu_features": sorted(item.candidate.entry.cpu_features),
            "code_bytes": item.candidate.code_bytes,
            "table_bytes": item.candidate.table.bytes,
            "init_cycles": item.init,
            "record": f"{question.folder}/{item.record}.json" if item.record else None,
            "own_record": item.own,
            "speed": _plain_speed(item.speeds[0]) if item.speeds else None,
            "also": [_plain_speed(speed) for speed in item.speeds[1:]],
            "why": item.why,
            **({"beside": more} if more else {}),
        }

    return {
        "cpu": here.cpu,
        "core": here.core or None,
        "features": sorted(here.features),
        "family": question.family,
        "use": use.name,
        "kernels": [plain(value, item) for value, advice in found.items() for item in advice],
    }


def _plain_speed(speed: Speed) -> dict[str, Any]:
    return {
        "mode": speed.mode,
        "bytes": speed.size,
        "cycles": round(speed.cycles, 2),
        "with_key_setup": speed.messages is not None,
        "peer": speed.peer or None,
        "peer_ratio": speed.ratio and round(speed.ratio, 4),
    }
