"""An AES-GCM kernel: a GHASH kernel and a key size, from which name, context and refusals
derive.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ghashgen.arch.rows import Isa
from ghashgen.kernels.aes.axes import group_refusals
from ghashgen.kernels.aes.cipher import ROUNDS
from ghashgen.kernels.axes import Refusals, name_of, require_valid
from ghashgen.kernels.gcm import axes
from ghashgen.kernels.hash.kernel import ENTRY_BYTES, WORKING_REGISTERS, Layout, table_layout
from ghashgen.kernels.hash.kernel import Kernel as HashKernel

ROUND_KEYS = "key"
"""The array of the round keys, and the prefix of its cells' names."""

LAST_KEY = "last"
"""The cell that says where the last round key stands, in bytes from the first; the number behind
it are the bytes from one key to the next.
"""

STANDARD_TAGS = (4, 8, 12, 13, 14, 15, 16)
"""Bytes of a tag (SP 800-38D, section 5.2.1.2)."""

ANY_TAG = tuple(range(1, 17))
"""Bytes of a tag, for hosts that truncate further."""

MESSAGES_AT_ONCE = 4
"""Messages of a group of `parts.fours`: one for each lane of a register."""

MOST_OF_MANY = {1: 8, 2: 8, MESSAGES_AT_ONCE: 96}
"""Blocks of the longest message in a group, by lanes. One of 1500 bytes has 94. In narrow registers
every number of blocks has code of its own (`parts.columns`).
"""

MOST_STRAIGHT = {1: 8, 2: 16}
"""Blocks of a text on the straight path in narrow registers, at most, by lanes: their states, that
of J_0 and the sums are in 16 registers. More, in two passes, were slower on a Zen 5 than groups."""


@dataclass(frozen=True)
class Hashing(HashKernel):
    """The GHASH part. Its table has as many powers of H as a sum has blocks: those of a group, or
    of the last group (`parts.ending`) or a short text, with S and the length block.
    """

    short: bool = False
    groups: bool = False
    """Whether many messages are processed in groups (`parts.many`)."""
    compact: bool = False

    @cached_property
    def layout(self) -> Layout:
        """The layout of the table."""
        beside = 2
        if self.compact:
            return table_layout(self, self.blocks + 1)
        many = MOST_OF_MANY[self.lane_count] if self.groups else 0
        if self.instruction_set.partial_registers:
            return table_layout(self, max(self.blocks, many) + beside)
        straight = max(self.straight, many)
        return table_layout(self, max(self.blocks, straight and straight + beside))

    @property
    def straight(self) -> int:
        """Blocks of the longest text on the straight path in narrow registers (`parts.narrow`)."""
        if not self.short or self.instruction_set.partial_registers:
            return 0
        return min(self.blocks, MOST_STRAIGHT[self.lane_count])


@dataclass(frozen=True)
class GcmKernel:
    """One variant of AES-GCM: a valid combination of axes.

    Raises:
        GhashgenError: the combination is invalid; names the axis, the reason and what to choose
            instead.
    """

    family: ClassVar[str] = "gcm"
    """See `kernels.gcm.family`."""

    key: int
    isa: str
    multiply: str
    reduce: str
    blocks: int
    order: str = axes.ORDER.default
    wipe: bool = axes.WIPE.default
    schedule: str = axes.SCHEDULE.default
    messages: bool = axes.MESSAGES.default
    streams: bool = axes.STREAMS.default
    roundkeys: str = axes.ROUND_KEYS.default
    stitch: bool = axes.STITCH.default
    short: bool = axes.SHORT.default
    segments: bool = axes.SEGMENTS.default
    many: str = axes.MANY.default
    compact: bool = axes.COMPACT.default
    on_failure: str = axes.ON_FAILURE.default
    tags: str = axes.TAGS.default

    def __post_init__(self) -> None:
        require_valid(axes.AXES, self, _refusals(self))

    @cached_property
    def hash(self) -> Hashing:
        """The GHASH part; whatever it refuses is refused."""
        return Hashing(
            isa=self.isa,
            multiply=self.multiply,
            reduce=self.reduce,
            blocks=self.blocks,
            order=self.order,
            wipe=self.wipe,
            schedule=self.schedule,
            short=self.short,
            groups=self.many == "groups",
            compact=self.compact,
        )

    @cached_property
    def name(self) -> str:
        """The GHASH part's name with AES-GCM's own axes."""
        text = (axes.ROUND_KEYS, axes.STITCH, axes.MESSAGES, axes.SHORT, axes.COMPACT)
        own = (*text, axes.STREAMS, axes.SEGMENTS, axes.MANY, axes.ON_FAILURE, axes.TAGS)
        hashing = self.hash.name.partition("_")[2]
        size = "" if self.compact else self.key
        return "_".join(filter(None, (f"gcm{size}", hashing, name_of(own, self))))

    @property
    def instruction_set(self) -> Isa:
        """The instruction set."""
        return self.hash.instruction_set

    @property
    def groups(self) -> bool:
        """Whether its functions on many messages process some side by side."""
        return self.hash.groups

    @property
    def alike(self) -> bool:
        """Whether these functions process messages alike side by side, if they are short."""
        return self.many == "alike"

    @property
    def lane_count(self) -> int:
        """Blocks in one register."""
        return self.hash.lane_count

    @property
    def widest(self) -> int:
        """Lanes of the widest register in use."""
        return self.hash.widest

    @property
    def registers(self) -> int:
        """Registers that hold the blocks of a group."""
        return self.blocks // self.lane_count

    @property
    def key_bytes(self) -> int:
        """Bytes of an AES key."""
        return self.key // 8

    @property
    def key_sizes(self) -> tuple[int, ...]:
        """Sizes in bytes of the keys that it takes."""
        return tuple(bits // 8 for bits in ROUNDS) if self.compact else (self.key_bytes,)

    @property
    def rounds(self) -> int:
        """Number of AES rounds; there is one round key more."""
        return ROUNDS[self.key]

    @property
    def keys_at(self) -> int:
        """Bytes of the context before the round keys."""
        return self.layout.arrays[ROUND_KEYS]

    @property
    def key_lanes(self) -> int:
        """How many times the context holds each round key: once for every lane of a register if
        loops read it, or short paths of four lanes. Zen 4 spreads 16 bytes in its vector pipes.
        """
        return self.lane_count if self.compact or (self.short and self.lane_count > 2) else 1

    @property
    def tag_sizes(self) -> tuple[int, ...]:
        """Bytes of the tags that it compares."""
        return ANY_TAG if self.tags == "any" else STANDARD_TAGS

    @property
    def keeps_output(self) -> bool:
        """Whether open leaves its output alone if the tag is wrong."""
        return self.on_failure == "untouched"

    @property
    def held_keys(self) -> int:
        """Round keys in registers: as many as are free beside a group, GHASH and the counters.

        Counters of more than eight registers take a third register of numbers.
        """
        if self.compact or self.roundkeys == "memory":
            return 0
        third = self.instruction_set.partial_registers and self.registers > 8
        return max(0, self.room - third)

    @property
    def room(self) -> int:
        """Registers that are free for round keys."""
        taken = self.registers + WORKING_REGISTERS + 1
        return max(0, min(self.instruction_set.vector_registers - taken, self.rounds + 1))

    @cached_property
    def layout(self) -> Layout:
        """The layout of the context: the hash table, then the round keys in memory order."""
        table = self.hash.layout
        rounds = range(self.rounds + 1)
        keys = tuple(f"{ROUND_KEYS}{i}" for i in rounds for _ in range(self.key_lanes))
        if self.compact:
            keys += (f"{LAST_KEY}{ENTRY_BYTES * self.key_lanes}",)
        at = ENTRY_BYTES * len(table.cells)
        return Layout((*table.cells, *keys), table.top, {**table.arrays, ROUND_KEYS: at})

    @property
    def best_align(self) -> int:
        """Alignment of the context, in bytes, at which no load of a group crosses a cache line."""
        return self.hash.best_align


def _refusals(kernel: GcmKernel) -> Refusals:
    isa, lanes = kernel.instruction_set, kernel.lane_count
    yield from group_refusals(isa, kernel.blocks, kernel.roundkeys, kernel.room)
    yield (
        kernel.compact and kernel.key != 256,
        f"compact kernels take keys of every size, so theirs is the longest, not {kernel.key} bits",
        "choose key 256",
    )
    many = kernel.many != "none"
    more = kernel.short, kernel.streams, kernel.segments, many
    yield (
        kernel.compact and any((*more, not kernel.messages, not kernel.stitch)),
        "compact kernels have init, encrypt, decrypt, seal and open, and one code for them",
        "leave out short, streams, segments, many, no messages and no stitch",
    )
    yield (
        kernel.compact and kernel.registers not in range(4, 11, 2),
        f"compact hashes two of a group's registers beside two of at least 9 inner rounds, and "
        f"{kernel.blocks} blocks fill {kernel.registers} registers",
        f"choose {', '.join(str(n * lanes) for n in (4, 6, 8))} or {10 * lanes} blocks",
    )
    yield (
        kernel.short and not kernel.messages,
        "short is a path of seal and open, which kernels without messages lack",
        "choose messages, or no short",
    )
    yield (
        kernel.short and isa.partial_registers and kernel.blocks < 4,
        f"short hashes a text and two blocks beside it at once, and blocks {kernel.blocks} leave "
        "no powers for a text",
        "choose at least 4 blocks, or no short",
    )
    yield (
        many and not kernel.messages,
        "many processes whole messages, which this kernel lacks",
        "choose messages, or no many",
    )
    least = MESSAGES_AT_ONCE + (0 if isa.partial_registers else 2)
    yield (
        kernel.alike and kernel.blocks < least,
        f"many alike with isa {isa.name} takes {least} powers of H or more",
        f"choose at least {least} blocks, or many each",
    )
    yield (
        (kernel.groups or kernel.alike) and isa.partial_registers and lanes < MESSAGES_AT_ONCE,
        "many groups and many alike have no code for isa avx512vl",
        "choose isa avx512 or avx2, or many each",
    )
    yield (
        (kernel.groups or kernel.alike) and kernel.order != "reflected",
        "many groups and many alike need order reflected",
        "choose order reflected, or many each",
    )
    yield (
        (kernel.groups or kernel.alike)
        and lanes == MESSAGES_AT_ONCE
        and kernel.hash.multiplier.key_term is not None,
        "many groups and many alike with isa avx512 need products without key terms",
        "choose multiply k, another isa, or many each",
    )
    yield (
        kernel.keeps_output and (kernel.compact or many or not kernel.messages),
        "an untouched output takes an open of its own, which compact, many and no messages lack",
        "leave them out, or choose on-failure zero",
    )
    yield (
        kernel.tags != "standard" and not (kernel.messages or kernel.streams),
        "tags are those of open and verify, which this kernel lacks",
        "choose messages or streams, or standard tags",
    )
    most = isa.vector_registers // 2
    yield (
        kernel.registers > most,
        f"a group of {kernel.blocks} blocks would take {kernel.registers} of "
        f"{isa.vector_registers} vector registers, and may take half (docs/gcm-design.md)",
        f"choose at most {most * lanes} blocks",
    )


__all__ = ["ENTRY_BYTES", "ROUNDS", "GcmKernel"]
