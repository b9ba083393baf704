"""Which kernel to take: every place that says it says the same, in the same words."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.dispatching_gcm import build
from helpers.tuning import FINE, host

from ghashgen.check.vendoring import IDLE
from ghashgen.choice.candidate import Candidate, candidates
from ghashgen.choice.choice import Chooser
from ghashgen.choice.cores import host_of, record_features, vendor_of
from ghashgen.choice.families.registry import questions
from ghashgen.choice.questions import Use
from ghashgen.choice.recommend import Advice, machine, recommend
from ghashgen.choice.rule import RULE
from ghashgen.cli.verbs import tune
from ghashgen.cli.verbs.recommend import COMMAND
from ghashgen.kernels import manifest
from ghashgen.lab.report.gather import Sources, _speeds
from ghashgen.lab.report.topics import topics
from ghashgen.lab.standing import Standing, load_standings
from ghashgen.lab.store import open_store
from ghashgen.lab.tune.choose import decide
from ghashgen.lab.tune.goals import goals
from ghashgen.lab.tune.space import Candidate as Tuned
from ghashgen.lab.tune.space import Unit
from ghashgen.output.dispatcher import names_of, recorded
from ghashgen.records.records import folder_of
from ghashgen.support.paths import project_root

ROOT = project_root()
ENTRIES = manifest.load(ROOT / "generated").values()
LENGTHS = (16, 64, 256, 1024, 1500, 16384, 65536, 1 << 20)
FAMILIES = sorted(family for family in questions() if recorded(family))


@cache
def standings(family: str) -> tuple[Standing, ...]:
    return load_standings(ROOT, ENTRIES, family)


def pool(family: str, key: int) -> list[Candidate]:
    given = key or questions()[family].asked[0]
    return [c for c in candidates(ENTRIES, family) if (c.given, c.abi) == (given, "sysv")]


def asked(family: str) -> Iterator[tuple[Standing, int, int]]:
    """Every record, key size and length, the latter if the record has a kernel's figure there."""
    mode = topics()[family].mode
    for one in standings(family):
        for key in one.record.results.keys:
            for size in LENGTHS:
                if one.record.results.of_kind(("kernel",), size, mode, key):
                    yield one, key, size


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_and_recommend_take_the_same(family: str) -> None:
    """What README, results, charts and the model's page are made of, beside the command."""
    checked, question = 0, questions()[family]

    @cache
    def advised(slug: str, key: int, use: Use) -> tuple[Advice, ...]:
        here = machine(slug, recorded(family))
        return recommend(here, pool(family, key), recorded(family), question, use)

    for one, key, size in asked(family):
        advice = advised(one.record.slug, key, question.use_at(size))
        item = next(item for item in advice if item.up_to is None or size <= item.up_to)
        name = one.takes(size, topics()[family].mode, key)
        assert item.candidate.name == name, (one.record.slug, key, size)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("family", FAMILIES)
def test_the_report_takes_the_same(family: str) -> None:
    paths = tuple(sorted((ROOT / folder_of(family)).glob("*.json")))
    sources = Sources(ROOT, ROOT / "generated", ROOT, paths, topic=topics()[family])
    own = [entry for entry in ENTRIES if entry.family == family]
    takes = {(speed.slug, size): name for speed in _speeds(sources, own)
             for size, name in speed.takes.items()}  # fmt: skip
    for one, key, size in asked(family):
        slug = f"{one.record.slug}-{key}" if key else one.record.slug
        assert takes[slug, size] == one.takes(size, topics()[family].mode, key)


def test_the_page_of_results_names_what_is_taken() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    checked = 0
    for one, key, size in asked("gcm"):
        part = page.partition(f"\n## Speed of AES-GCM on {one.record.title}\n")[2]
        single = part.partition("\n## ")[0].partition("one by one")[0]
        rows = re.findall(rf"\| {key} \| (\d+)(?:–(\d+))? \| `(\w+)`", single)
        named = {name for low, high, name in rows if int(low) <= size <= int(high or low)}
        assert named == {one.takes(size, "seal", key)}, (one.record.title, key, size)
        checked += 1
    assert checked > 40


def test_the_checked_in_dispatcher_takes_the_same(tmp_path: Path) -> None:
    """Compiled, and asked by CPU, key size and the use that each length has."""
    files = {
        name: (ROOT / "generated" / name).read_text(encoding="utf-8") for name in names_of("gcm")
    }
    symbols = {symbol for e in ENTRIES if e.family == "gcm" for symbol in e.symbols.values()}
    program = build(files, tmp_path / "dispatcher", stubs=sorted(symbols))
    known = Chooser((), recorded("gcm")).hosts
    for one, key, size in asked("gcm"):
        cpu = one.record.results.machine.cpu
        number = known.index(host_of(known, cpu, vendor_of(one.record)))
        (answer,) = program.found([(number, record_features(one.record))])
        name = one.takes(size, "seal", key)
        assert answer[key, questions()["gcm"].use_at(size).name] == name
        # So vendor does not call it idle.
        assert name in files["ghashgen_gcm_dispatch.c"]


def test_tune_takes_the_same_from_the_same_figures(tmp_path: Path) -> None:
    """A record's figures as if this machine had measured them; one instruction set at a time."""
    (record,) = (r for r in recorded("gcm") if r.title == "Zen 4")
    goal, where = goals()["gcm"], host(record.results.machine.cpu)
    same = [
        c
        for c in candidates(ENTRIES, "gcm")
        if c.name in record.results.subjects
        and all(getattr(c.entry.kernel, axis) == value for axis, value in goal.fixed.items())
    ]
    tuned = [
        Tuned(Unit(c.entry.kernel, (), 0, b"", c.entry.object.text_sha256), c.code_bytes)
        for c in same
    ]
    machine = replace(record.results.machine, cpu=where.cpu, features=where.features)
    with open_store(tmp_path / "store.sqlite") as store:
        store.add(replace(record.results, machine=machine), where.method, FINE.key)
        found = decide(tuned, [where], store, (FINE,), goal.uses)
    known = Chooser((), [record]).hosts[0]
    for item in found:
        own = [c for c in same if (c.given, c.isa) == (item.given, item.isa)]
        picks = Chooser(own, [record]).picks(known, record_features(record), item.use)
        pick = picks[item.use.classes.index(item.size_class)]
        assert item.winner.unit.name == pick.candidate.name, (item.use.name, item.isa)
    assert len(found) > 30


def test_sixteen_kibibytes_on_zen_5() -> None:
    """Where five places once gave four answers, and none of them the smaller code."""
    answer = json.loads(ask("--cpu", "zen5", "--key", "128", "--bytes", "16384", "--json").stdout)
    assert [kernel["kernel"] for kernel in answer["kernels"]] == [
        "gcm128_avx512_winograd_clmul1_x32"
    ]
    default = json.loads(ask("--cpu", "zen5", "--key", "128", "--json").stdout)
    assert default["use"] == "mixed"
    assert default["kernels"][0]["kernel"] == answer["kernels"][0]["kernel"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_dispatcher_knows_the_default_use_and_one_for_each_length(family: str) -> None:
    question = questions()[family]
    assert {question.uses[0], *question.by_length} <= set(question.dispatched)
    *ends, last = [use.up_to for use in question.by_length]
    assert last is None
    assert ends == sorted(end for end in ends if end is not None)


def test_the_rule_is_in_the_same_words_everywhere() -> None:
    assert RULE in IDLE
    helps = (COMMAND.help or "", tune.COMMAND.help or "")
    pages = [
        ROOT / "docs" / name for name in ("results.md", "dispatch.md", "tuning.md", "../README.md")
    ]
    for text in (*(page.read_text(encoding="utf-8") for page in pages), *helps):
        assert RULE in " ".join(text.split())


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(COMMAND, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (("--cpu", "zen5", "--key", "128"), 1),
        (("--cpu", "zen5"), 1),
        (("--cpu", "zen4", "--key", "128"), 0),
        (("--cpu", "Cascade Lake"), 0),
        (("--cpu", "haswell", "--key", "128"), 1),
        (("--cpu", "zen3", "--key", "128"), 1),
    ],
)
def test_a_stale_record_is_said_once_and_only_where_it_was_asked(
    arguments: tuple[str, ...], lines: int
) -> None:
    done = ask(*arguments)
    said = [line for line in done.stderr.splitlines() if "has changed" in line]
    assert len(said) == lines
    # Nothing else of Zen 5 decides.
    assert ("figures of older code count too" in done.stderr) is ("zen5" in arguments)
    assert all(len(line) < 130 for line in said)
