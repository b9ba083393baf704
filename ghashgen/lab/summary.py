"""What the tool proves, counts and has measured: the blocks of README and docs/results.md.

Every figure is computed: kernels and instruction counts from MANIFEST.json, theorems from what
`ghashgen prove --identities` works through, proofs of the bytes from PROOFS.json, the trusted base
from the sources (`ghashgen.check.trusted`), speed from docs/bench (`ghashgen.lab.speed`).
`ghashgen.lab.front` has the wording of README's claims and table.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ghashgen.algebra.identities import theorems
from ghashgen.check.ledger import NAME as PROOFS
from ghashgen.check.ledger import load as load_proofs
from ghashgen.check.ledger import provable, unrecorded
from ghashgen.check.ledger import theorems as proved_theorems
from ghashgen.check.trusted import Part, trusted_parts
from ghashgen.kernels import manifest
from ghashgen.kernels.families import in_order
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.front import adopt_claim, fast_claim, goals_note, proved_claim, table
from ghashgen.lab.host_goals import Trials
from ghashgen.lab.hosts import PAGE as HOSTS
from ghashgen.lab.hosts import host_parts, load_trials
from ghashgen.lab.pages import README, markdown_table, wrapped
from ghashgen.lab.reached import goal_parts
from ghashgen.lab.speed import measured_parts
from ghashgen.lab.speeds.core import Measured, load_measured
from ghashgen.records.goals import Book, load_goals
from ghashgen.support.errors import GhashgenError
from ghashgen.support.wording import counted

OUTPUT = "generated"
"""The checked-in output, below the project's root."""

RESULTS = "docs/results.md"
"""The page of all figures, below the project's root."""

MULTIPLIES = ("schoolbook", "karatsuba", "k", "winograd")
GROUPS = (8, 16)
"""Groups in blocks whose loops the summary compares, by multiply scheme."""

GHASH = "ghash"
"""The operation whose loops are compared; POLYVAL's have no byte swap."""

PAPER = ("paper_baseline", "paper_optimized")
"""The kernels that papers/intel-2023, Table 11, compares."""


@dataclass(frozen=True)
class Shelf:
    """The checked-in kernels of a family for one ISA."""

    family: str
    """Its title."""
    isa: str
    cpu_features: tuple[str, ...]
    """What all of them need."""
    some_features: tuple[str, ...]
    """What only some of them need."""
    kernels: int
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """Theorems with a common beginning of their names; a single theorem gives its whole name."""

    name: str
    theorems: int


@dataclass(frozen=True)
class Cost:
    """The shortest group loop of an ISA, a group size and a multiply scheme, with loop control.

    Counts are for one group of `group_blocks` 16-byte blocks.
    """

    isa: str
    group_blocks: int
    multiply: str
    kernel: str
    instructions: int
    clmul: int


@dataclass(frozen=True)
class Single:
    """One block's multiplication between load and store, by class; classes at 0 are left out."""

    kernel: str
    instructions: int
    classes: Mapping[str, int]


@dataclass(frozen=True)
class Proved:
    """What PROOFS.json says about the bytes in the manifest."""

    kernels: int
    theorems: int
    unrecorded: tuple[str, ...]
    """Checked-in kernels that it does not mention."""


@dataclass(frozen=True)
class Summary:
    """Everything in the blocks; `proved` is None if nothing is stored."""

    shelves: tuple[Shelf, ...]
    families: tuple[Family, ...]
    costs: tuple[Cost, ...]
    singles: tuple[Single, ...]
    proved: Proved | None
    trusted: tuple[Part, ...]
    """The parts of this package that the proofs of the bytes rest on."""
    measured: Mapping[str, Measured]
    """The records of each family, by its name."""
    goals: Book
    """The goals for AES-GCM."""
    hosts: Trials
    """The trials of hosts, by name."""


def gather(root: Path) -> Summary:
    """Compute the summary of the project below `root`.

    Raises:
        GhashgenError: the manifest is missing or empty, or a stored measurement is malformed.
    """
    entries = manifest.load(root / OUTPUT)
    if not entries:
        raise GhashgenError(f"{root / OUTPUT} has no {manifest.NAME}", "run ghashgen generate")
    kernels = [entries[name] for name in sorted(entries)]
    return Summary(
        shelves=tuple(_shelves(kernels)),
        families=_families(theorem.name for theorem in theorems()),
        costs=tuple(_costs(kernels)),
        singles=tuple(_single(entries[name]) for name in PAPER if name in entries),
        proved=_proved(root / OUTPUT / PROOFS, entries),
        trusted=trusted_parts(),
        measured=load_measured(root, kernels),
        goals=load_goals(root / AES_GCM.folder),
        hosts=load_trials(root),
    )


def _proved(path: Path, entries: Mapping[str, manifest.Entry]) -> Proved | None:
    if not path.exists():
        return None
    verdicts = load_proofs(path)
    missing = unrecorded(path, verdicts, provable(entries))
    good = [verdict for verdict in verdicts if verdict.proved]
    return Proved(len(good), len(proved_theorems(good)), missing)


def _shelves(kernels: list[manifest.Entry]) -> Iterable[Shelf]:
    titles = {family.name: family.title for family in in_order()}
    rank = list(titles)
    places = {(entry.family, entry.isa) for entry in kernels}
    for place in sorted(places, key=lambda place: (rank.index(place[0]), place[1])):
        family, isa = place
        own = [entry for entry in kernels if (entry.family, entry.isa) == place]
        needs = [frozenset(entry.cpu_features) for entry in own]
        every, some = frozenset.intersection(*needs), frozenset.union(*needs)
        blocks = sorted({int(entry.axes["blocks"]) for entry in own})
        needed, rest = tuple(sorted(every)), tuple(sorted(some - every))
        yield Shelf(titles[family], isa, needed, rest, len(own), tuple(blocks))


def _families(names: Iterable[str]) -> tuple[Family, ...]:
    """Group names by their first word, in the given order; a group is named by a glob."""
    every = list(names)
    sizes = Counter(name.partition("-")[0] for name in every)
    found: dict[str, int] = {}
    for name in every:
        word = name.partition("-")[0]
        found[f"{word}*" if sizes[word] > 1 else name] = sizes[word]
    return tuple(Family(name, size) for name, size in found.items())


def _costs(kernels: list[manifest.Entry]) -> Iterable[Cost]:
    found: dict[tuple[str, int, str], Cost] = {}
    for entry in kernels:
        axes, group = entry.axes, entry.counts.group
        if axes.get("op") != GHASH:
            continue
        key = entry.isa, int(axes["blocks"]), str(axes["multiply"])
        if axes["blocks"] not in GROUPS or axes["multiply"] not in MULTIPLIES:
            continue
        cost = Cost(*key, entry.name, group.instructions, group.classes["clmul"])
        if key not in found or cost.instructions < found[key].instructions:
            found[key] = cost
    for key in sorted(found, key=lambda key: (key[0], key[1], MULTIPLIES.index(key[2]))):
        yield found[key]


def _single(entry: manifest.Entry) -> Single:
    region = entry.counts.single_block
    classes = {name: count for name, count in region.classes.items() if count}
    return Single(entry.name, region.instructions, classes)


# -- Markdown -------------------------------------------------------------------------------------


def blocks(summary: Summary) -> dict[str, str]:
    """Return the text between the markers of each page, without them, ending with a newline."""
    unrecorded = summary.proved.unrecorded if summary.proved else ()
    measured = tuple(summary.measured.values())
    messages = summary.measured[AES_GCM.family].standings
    names = f", {', '.join(f'`{name}`' for name in unrecorded)}"
    claims = (
        proved_claim(
            _proved_text(summary.proved, f", which {RESULTS} names"),
            sum(part.code for part in summary.trusted),
        ),
        fast_claim(measured),
        adopt_claim(
            sum(shelf.kernels for shelf in summary.shelves),
            (shelf.isa for shelf in summary.shelves),
        ),
    )
    short = ["\n".join(claims), table(measured), goals_note(messages, summary.goals)]
    long = [
        "## Kernels",
        _kernels_table(summary.shelves),
        "## Theorems",
        wrapped(_proved_text(summary.proved, names)),
        _theorems_text(summary.families),
        _trusted_text(summary.trusted),
        "## Instructions",
        _costs_text(summary.costs),
        _singles_text(summary.singles),
        *measured_parts(measured, goal_parts(messages, summary.goals)),
    ]
    hosts = host_parts(summary.hosts, summary.measured)
    return {
        page: "\n\n".join(part for part in parts if part) + "\n"
        for page, parts in ((README, short), (RESULTS, long), (HOSTS, hosts))
    }


def _kernels_table(shelves: tuple[Shelf, ...]) -> str:
    rows = [
        (s.family, s.isa, _features(s), ", ".join(map(str, s.blocks)), str(s.kernels))
        for s in shelves
    ]
    rows.append(("all", "", "", "", str(sum(s.kernels for s in shelves))))
    heads = ("family", "ISA", "CPU features needed", "blocks per group", ">kernels")
    return markdown_table(heads, rows)


def _features(shelf: Shelf) -> str:
    some = f"; some {' '.join(shelf.some_features)}" if shelf.some_features else ""
    return f"{' '.join(shelf.cpu_features)}{some}"


def _proved_text(proved: Proved | None, which: str) -> str:
    """Return what is proved, and how many kernels (`which`) have no record."""
    if proved is None:
        return "Proof of the bytes: not recorded yet: `ghashgen prove --write`."
    text = (
        f"`ghashgen prove` proves {proved.kernels} kernels from their assembled bytes, for every "
        "key, state, message and length. Each exported function has one theorem about each of "
        "these: result, memory accesses, constant time, calling convention and, with `--wipe`, "
        f"secrets left behind. That makes {proved.theorems} theorems."
    )
    if proved.unrecorded:
        more = counted(len(proved.unrecorded), "more checked-in kernel")
        text += f" No proof is recorded yet of {more}{which}: `ghashgen prove --write`."
    return text


def _theorems_text(families: tuple[Family, ...]) -> str:
    names = ", ".join(f"{f.name} ({f.theorems})" if f.theorems > 1 else f.name for f in families)
    total = sum(family.theorems for family in families)
    return wrapped(
        f"`ghashgen prove --identities` proves {total} theorems, each for every input of the "
        f"range that it names: {names}."
    )


def _trusted_text(parts: tuple[Part, ...]) -> str:
    title = wrapped(
        "The table counts the Python that the prover imports, without the search. Lines of code "
        "are without comments, docstrings and blank lines. A proof also rests on `check/claims/` "
        "and on the packages and tools that SOUNDNESS.md, section 5, names."
    )
    aes, *shared = parts
    of_hash = _sum_of("what a proof of a hash rests on", *shared)
    rests = _sum_of("what a proof of AES-CTR or AES-GCM rests on", of_hash, aes)
    rows = [
        (
            p.name,
            ", ".join(f"`{place}`" for place in p.where),
            *map(str, (p.files, p.code, p.lines)),
        )
        for p in (*shared, of_hash, aes, rests)
    ]
    columns = ("part", "files", ">number", ">lines of code", ">all lines")
    return f"{title}\n\n" + markdown_table(columns, rows)


def _sum_of(name: str, *parts: Part) -> Part:
    files, code = sum(p.files for p in parts), sum(p.code for p in parts)
    return Part(name, (), files, code, sum(p.lines for p in parts))


def _costs_text(costs: tuple[Cost, ...]) -> str:
    if not costs:
        return ""
    found = {(c.isa, c.group_blocks, c.multiply): c for c in costs}
    rows = []
    for isa, blocks in dict.fromkeys((c.isa, c.group_blocks) for c in costs):
        cells = [found.get((isa, blocks, multiply)) for multiply in MULTIPLIES]
        rows.append((isa, str(blocks), *("–" if c is None else _cell(c) for c in cells)))
    title = wrapped(
        "Instructions per 16-byte block of the group loop, counted in the bytes; in brackets, the "
        "carry-less products among them. Each cell shows the checked-in GHASH kernel of its kind "
        "that has the fewest instructions:"
    )
    columns = ("ISA", ">blocks per group", *(f">{name}" for name in MULTIPLIES))
    return f"{title}\n\n" + markdown_table(columns, rows)


def _cell(cost: Cost) -> str:
    return f"{_each(cost.instructions, cost)} ({_each(cost.clmul, cost)})"


def _each(count: int, cost: Cost) -> str:
    """Return a group's count per block, to two digits, rounded half to even in decimals."""
    return f"{float(round(Fraction(count, cost.group_blocks), 2)):.2f}"


def _singles_text(singles: tuple[Single, ...]) -> str:
    if not singles:
        return ""
    texts = [
        f"`{s.kernel}` {s.instructions} = "
        + " + ".join(f"{count} {name}" for name, count in s.classes.items())
        for s in singles
    ]
    return wrapped(
        "One block's multiplication between load and store, as papers/intel-2023 Table 11 counts: "
        f"{'; '.join(texts)}."
    )
