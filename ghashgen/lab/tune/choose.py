"""The choice: the kernel to take of each instruction set and class of lengths, for each use.

In AES-GCM each key size has its own choice. The rule is that of every choice (`choice.rule`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

from ghashgen.choice.candidate import isa_place
from ghashgen.choice.chosen import MEASURED, Chosen, Pick, Set
from ghashgen.choice.classes import SizeClass, geometric_mean
from ghashgen.choice.questions import Use
from ghashgen.choice.rule import pays_at, take
from ghashgen.kernels.core import Keyed, Value
from ghashgen.lab.store import Figure, Key, Store
from ghashgen.lab.tune.measure import Host, Stage
from ghashgen.lab.tune.scores import best_first, best_peer, cycles, scores, within
from ghashgen.lab.tune.space import Candidate
from ghashgen.lab.tune.sweep import alike
from ghashgen.records.core import TIE

Table = Mapping[Candidate, float]
"""A score by candidate; lower is better."""


@dataclass(frozen=True)
class Decision:
    """The choice for one instruction set and class of lengths, in one use and given."""

    use: Use
    size_class: SizeClass
    basis: str
    """measured or model."""
    on: str
    """The measured CPUs, or the modelled microarchitecture."""
    winner: Candidate
    scored: Table = field(hash=False, repr=False)
    """The score of every candidate."""
    cycles: float
    """The winner's score: core cycles per message on the first machine, or the model's."""
    stage: str = ""
    """The stage whose figures decided; empty for a model."""
    peer: str = ""
    """The best peer; empty if none was measured beside the winner."""
    peer_ratio: float | None = None
    """The peer's score divided by the winner's: above 1, the winner is faster."""
    fill_at: int = 0
    notes: tuple[str, ...] = ()

    @property
    def isa(self) -> str:
        """The instruction set."""
        return self.winner.unit.isa

    @property
    def fastest(self) -> Candidate:
        """The candidate with the lowest score; it may lose a tie."""
        return best_first(self.scored)[0]

    @property
    def behind(self) -> float:
        """The winner's score divided by the lowest: always below 1.05."""
        return self.scored[self.winner] / self.scored[self.fastest]

    @property
    def runner_up(self) -> Candidate | None:
        """The best of the others."""
        return runner_up(self.winner, self.scored)

    @property
    def ratio(self) -> float | None:
        """The runner-up's score divided by the winner's."""
        other = self.runner_up
        return self.scored[other] / self.scored[self.winner] if other else None

    @property
    def given(self) -> Value:
        """The given that is no choice: the operation, or the key size."""
        return self.winner.unit.given

    @property
    def is_noise(self) -> bool:
        """Whether winner and runner-up are too close to distinguish."""
        return self.ratio is not None and 1 / TIE < self.ratio < TIE


def runner_up(winner: Candidate, scored: Table) -> Candidate | None:
    """Return the best of the others."""
    return next((c for c in best_first(scored) if c != winner), None)


def combined(tables: Sequence[Table]) -> Table:
    """Return one table for several kinds of machine: the mean factor above each machine's best.

    It has only candidates that every machine has. With one machine it is that machine's table.
    """
    if len(tables) == 1:
        return tables[0]
    common = set.intersection(*(set(table) for table in tables))
    least = [min(table.values()) for table in tables]
    return {
        c: geometric_mean([table[c] / low for table, low in zip(tables, least, strict=True)])
        for c in tables[0]
        if c in common
    }


def decide(
    candidates: Sequence[Candidate],
    hosts: Sequence[Host],
    store: Store,
    stages: Sequence[Stage],
    uses: Sequence[Use],
    since: int = 0,
) -> list[Decision]:
    """Return a decision for each use, key size, instruction set and class with figures.

    `stages` are in order of preference, the most thorough first; the first with a figure decides.
    """
    figures = {
        (host, stage): store.figures(host, stage, since) for host in hosts for stage in stages
    }
    out: list[Decision] = []
    for use, own in product(uses, alike(candidates)):
        scored: list[tuple[SizeClass, Stage, Table, dict[Host, Mapping[Key, Figure]]]] = []
        for item in use.classes:
            for stage in stages:
                tables = {h: scores(own, figures[h, stage], item, use) for h in hosts}
                tables = {h: table for h, table in tables.items() if table}
                kept = [within(table, figures[h, stage], item, use) for h, table in tables.items()]
                # Where each machine leaves out others, no bound holds for all.
                if table := (combined(kept) or combined([*tables.values()])) if tables else {}:
                    used = {host: figures[host, stage] for host in tables}
                    scored.append((item, stage, table, used))
                    break
        if scored:
            winners = take([table for _, _, table, _ in scored], lambda c: c.simplicity)
            out += [
                _decision(use, *found, winner, winners[0])
                for found, winner in zip(scored, winners, strict=True)
            ]
    return out


def _decision(
    use: Use,
    item: SizeClass,
    stage: Stage,
    scored: Table,
    used: Mapping[Host, Mapping[Key, Figure]],
    winner: Candidate,
    base: Candidate,
) -> Decision:
    first = next(iter(used.values()))
    score = scores([winner], first, item, use)[winner]
    peer = best_peer(first, item, use, _key_bits(winner))
    return Decision(
        use,
        item,
        MEASURED,
        "; ".join(dict.fromkeys(host.cpu for host in used)),
        winner,
        scored,
        score,
        stage=stage.name,
        peer=peer[0] if peer else "",
        peer_ratio=peer[1] / score if peer else None,
        fill_at=_fill_at(first, item, use.modes[0][0], winner, base) if use.fills else 0,
        notes=tuple(_notes(used, item, use, winner, runner_up(winner, scored))),
    )


def _key_bits(item: Candidate) -> int:
    """Return a kernel's key size in bits, as in records: 0 for GHASH."""
    kernel = item.kernel
    return 8 * kernel.key_bytes if isinstance(kernel, Keyed) else 0


def _notes(
    used: Mapping[Host, Mapping[Key, Figure]],
    item: SizeClass,
    use: Use,
    winner: Candidate,
    second: Candidate | None,
) -> list[str]:
    """Return what weakens a comparison."""
    out = []
    if len(used) > 1:
        out.append(f"mean over {len(used)} kinds of machine; cycles and peer are the first's")
    if second is not None:
        keys = [
            (c.unit.code, mode, size)
            for c in (winner, second)
            for mode, size in product(use.modes[0], item.sizes)
        ]
        if any(len({figures[key].session for key in keys}) > 1 for figures in used.values()):
            out.append("winner and runner-up were not measured in turns")
    return out


def _fill_at(
    figures: Mapping[Key, Figure], item: SizeClass, mode: str, winner: Candidate, base: Candidate
) -> int:
    """Return the bytes of messages after which filling the winner's table pays; 0 if unknown.

    `base` is the kernel of the smallest class, whose table is always filled.
    """
    if base == winner:
        return 0
    own = [partial(cycles, figures, one.unit.code, mode) for one in (base, winner)]
    return pays_at(cycles(figures, winner.unit.code, "init", 0), item.sizes, own)


def chosen(decisions: Sequence[Decision]) -> Chosen:
    """Return the chosen set, of instruction sets with a decision for every class of a use.

    Uses and key sizes are in the order of the decisions. Within one of them, sets follow the
    dispatcher's convention, wider registers first; measured sets are ordered among each other by
    speed, the fastest first.
    """
    groups: dict[tuple[str, Value], list[Decision]] = {}
    for item in decisions:
        groups.setdefault((item.use.name, item.given), []).append(item)
    return Chosen(tuple(found for group in groups.values() for found in _sets(group)))


def _sets(decisions: Sequence[Decision]) -> list[Set]:
    """Return the sets of one use and given."""
    by_isa: dict[str, list[Decision]] = {}
    for item in decisions:
        by_isa.setdefault(item.isa, []).append(item)
    use, family = decisions[0].use, decisions[0].winner.kernel.family
    whole = {isa: rows for isa, rows in by_isa.items() if len(rows) == len(use.classes)}
    order = sorted(whole, key=lambda isa: isa_place(isa, family))
    measured = [isa for isa in order if whole[isa][0].basis == MEASURED]
    same = len({row.on for isa in measured for row in whole[isa]}) == 1
    speed = {isa: geometric_mean([row.cycles for row in whole[isa]]) for isa in measured}
    # A tie keeps the convention's order; only figures of one machine can be compared.
    fastest = iter(_by_speed(measured, speed) if same else measured)
    order = [next(fastest) if isa in speed else isa for isa in order]
    return [_set(isa, whole[isa]) for isa in order]


def _by_speed(isas: Sequence[str], speed: Mapping[str, float]) -> list[str]:
    left, out = list(isas), []
    while left:
        least = min(speed[isa] for isa in left)
        out.append(next(isa for isa in left if speed[isa] < TIE * least or speed[isa] == least))
        left.remove(out[-1])
    return out


def _set(isa: str, rows: Sequence[Decision]) -> Set:
    return Set(
        isa,
        rows[0].basis,
        rows[0].on,
        tuple(
            Pick(row.size_class.up_to, row.winner.kernel, row.winner.unit.code, row.fill_at)
            for row in rows
        ),
        rows[0].use.name,
    )
