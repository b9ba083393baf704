"""Memory as the caller declares it: regions with bounds, permissions and known alignment.

The object's constants are regions too, one for each section. An address is a region and an offset.

Every access names a region and an offset. Refutations are: an access outside the region, a store to
a read-only region, and an aligned access whose alignment does not follow from the declaration.
Distinct regions do not overlap: that is the caller's part of the contract.
"""

from collections.abc import Callable, Mapping, Sequence

from ghashgen.verify.core.linear import Facts
from ghashgen.verify.core.numbers import Number, combined, parts, replaced
from ghashgen.verify.core.refutation import Category, Refutation, unsupported
from ghashgen.verify.core.term import Lane, Term, same_value, secret
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.core.values import Linear, Pointer, UndecidedError, Value
from ghashgen.verify.machine.image import Image, Kind
from ghashgen.verify.machine.regions import Access, Region

STACK, RETURN_BYTES = "stack", 8
"""The stack's region, and the bytes of a return address in it. Offset 0 is the entry's stack
pointer."""

BASE, HALF = 80, 1 << 79
"""Bits of a place's number. Above them is the number of its part with unknowns."""

FAR = "a place so far away that its number is another's"

RELEASED = "what was below the stack pointer"

RETURN_ADDRESS = "a return address"
"""What a CALL pushes. Only RET may consume it, and nothing may read it, then or later."""


def is_return_address(value: Value) -> bool:
    """Return whether a value is what a CALL pushed."""
    return isinstance(value, Term) and value.op == "opaque" and value.args[0] == RETURN_ADDRESS


class Memory:
    """Regions, their initial contents, and the bytes written since."""

    def __init__(self, terms: Terms, image: Image, regions: list[Region]) -> None:
        self.terms = terms
        self.image = image
        constants = (s for s in image.sections if s.kind is Kind.CONSTANTS)
        regions = regions + [
            Region(s.region, 0, len(s.data), Access.READ, s.content, s.align, 0, s.unresolved)
            for s in constants
        ]
        self.regions = {region.name: region for region in regions}
        # Per region: byte offset -> (value stored, which byte of it).
        self.written: dict[str, dict[int, tuple[Value, int]]] = {r.name: {} for r in regions}
        self.floor: Callable[[], int] = lambda: 0
        """The lowest offset of the stack that may be used now."""
        self.returns: list[tuple[Pointer, int]] = []
        """What a shadow stack holds: where on the stack each return address is, and what it is."""
        self.page = 0
        """Bytes of the stack by which it grows, if it must be touched in order, else 0."""
        self.touched = 0
        """The lowest offset of the stack that was accessed, if `page` is not 0."""
        self.facts = Facts()
        """What is known of the unknowns in numbers."""
        self.bases: list[tuple[tuple[str, int], ...]] = [()]
        """The unknown parts of offsets at which something has been accessed (`key`)."""
        self.scattered: frozenset[str] = frozenset()
        """The buffers in which bytes have been written at a place with unknowns."""
        self.stores = self.accesses = 0
        """How many stores there have been, and how many accesses have been checked."""

    def _refute(self, what: str) -> Refutation:
        return Refutation(Category.MEMORY, what, at=self.terms.at)

    def locate(self, address: Value, size: int, align: int, store: bool) -> tuple[str, int]:
        """Check an access and return its region, and the number of its place (`key`).

        Raises:
            Fork: the place is one of a few, or where it is within 16 bytes depends on the unknowns.
            Refutation: the access is not allowed.
        """
        self.accesses += 1
        at = self.terms.at
        kind = "store to" if store else "load from"
        if secret(address):
            raise Refutation(Category.CONSTANT_TIME, "an address depends on a secret", at=at)
        if not isinstance(address, Pointer) or address.region not in self.regions:
            place = address.region if isinstance(address, Pointer) else f"address {address}"
            raise self._refute(f"{kind} {place}, which is no buffer and no constants")
        region = self.regions[address.region]
        if region.access is Access.ANOTHER:
            return region.name, 0
        region.promised()
        offset = address.offset
        if isinstance(offset, Linear):
            self.facts.near(offset)
            if isinstance(region.size, int):
                raise UndecidedError(f"{region.name} at an offset with an unknown")
        self._require_inside(region, offset, size, kind)
        if isinstance(offset, int):
            if region.name == STACK:
                if offset < self.floor():
                    raise self._refute(f"{kind} the stack below what may be used")
                self._touch(offset, size, store)
            for byte, why in region.unresolved.items():
                if offset <= byte < offset + size:
                    raise unsupported(f"a constant that is {why}", at)
        if store:
            if region.access is Access.READ:
                raise self._refute(f"store to {region.name}, which is read-only")
            done = region.done
            if done is not None and not self.facts.shows(combined(offset, done, -1)):
                raise self._refute(f"store to {region.name} before {done}, which is done")
        if align > 1:
            c, k = parts(offset)
            if any(n % align for _, n in k):
                raise self._refute(f"{kind} {region.name} at a place of unknown alignment")
            self._check_align(region, c, align, kind)
        return region.name, self.key(offset)

    def _require_inside(self, region: Region, offset: Number, size: int, kind: str) -> None:
        """Refuse an access that is not certainly in a region."""
        first = combined(offset, region.low, -1)
        left = combined(combined(region.size, offset, -1), size, -1)
        if self.facts.shows(first) and self.facts.shows(left):
            return
        if isinstance(first, int) and first < 0:
            where = f"that start {-first} before it"
        elif isinstance(left, int) and left < 0:
            where = f"that end {-left} beyond it"
        else:
            where = f"at {offset}, not known to be in it"
        raise self._refute(f"{kind} {size} bytes of {region.name} {where}")

    def key(self, at: Number) -> int:
        """Return a place's number. The numbers of places that differ by c differ by c.

        Raises:
            Fork: its place within 16 bytes depends on the unknowns.
        """
        c, k = parts(at)
        if abs(c) >= HALF:
            raise unsupported(FAR, self.terms.at)
        if not k:
            return c
        self.facts.low_bits(at, 4)
        if k not in self.bases:
            self.bases.append(k)
        return c + (self.bases.index(k) << BASE)

    def place(self, key: int) -> Number:
        """Return the place with a number."""
        c, k = key - (key + HALF >> BASE << BASE), self.bases[key + HALF >> BASE]
        return Linear(c, k) if k else c

    def _require_apart(self, name: str, key: int, size: int) -> None:
        """Refuse an access that may overlap bytes written at an unknown place."""
        facts, keys, mine = self.facts, self.written[name], key + HALF >> BASE
        if not keys or (not mine and name not in self.scattered):
            return
        # Numbers of places with the same unknowns differ as the places do.
        ends: dict[int, tuple[int, int]] = {}
        lowest, highest = min(keys), max(keys)
        one = lowest + HALF >> BASE == highest + HALF >> BASE
        for k in (lowest, highest) if one else keys:
            low, high = ends.get(k + HALF >> BASE, (k, k))
            ends[k + HALF >> BASE] = min(low, k), max(high, k)
        ends.pop(mine, None)
        for low, high in ends.values():
            offset, first = self.place(key), self.place(low)
            before = combined(combined(first, offset, -1), size, -1)
            after = combined(combined(offset, first, -1), high - low + 1, -1)
            if not facts.shows(before) and not facts.shows(after):
                raise unsupported(f"{name} at {offset}, where {first} is written", self.terms.at)

    def renamed(self, values: Mapping[str, Number]) -> None:
        """Replace unknowns by numbers, in all places.

        Raises:
            Refutation: two places become one.
        """
        if not any(u in values for k in self.bases for u, _ in k):
            return
        # What a number of a place becomes is told by its part with unknowns.
        was, to = {n: self.place(n << BASE) for n in range(len(self.bases))}, dict[int, int]()
        self.bases = [()]
        for name, cells in self.written.items():
            out: dict[int, tuple[Value, int]] = {}
            for key, what in cells.items():
                n = key + HALF >> BASE
                if n not in to:
                    to[n] = self.key(replaced(was[n], values))
                place = key - (n << BASE) + to[n]
                if place + HALF >> BASE != to[n] + HALF >> BASE:
                    raise unsupported(FAR, self.terms.at)
                out[place] = what
            if len(out) != len(cells):
                raise unsupported(f"two written places of {name} that are one", self.terms.at)
            self.written[name] = out

    def _touch(self, offset: int, size: int, store: bool) -> None:
        """Check that an access to the stack leaves return addresses alone; note how far it went."""
        for pointer, _ in self.returns:
            slot = pointer.offset
            assert isinstance(slot, int)
            if slot - size < offset < slot + RETURN_BYTES:
                if store:
                    raise self._refute("store to a return address")
                raise self._read_return()
        if self.page and offset < self.touched:
            self.touched = offset

    def _read_return(self) -> Refutation:
        return Refutation(Category.ABI, "a return address is read: only RET may", at=self.terms.at)

    def require_aligned(self, address: Value, align: int) -> None:
        """Check the alignment of an access that may touch nothing, such as a masked one.

        Raises:
            Refutation: it is not assured.
        """
        if align == 1:
            return
        at = address.offset if isinstance(address, Pointer) else None
        if isinstance(address, Pointer) and address.region in self.regions and isinstance(at, int):
            self._check_align(self.regions[address.region], at, align, "masked access to")
            return
        raise unsupported("the alignment of a masked access", self.terms.at)

    def _check_align(self, region: Region, offset: int, align: int, kind: str) -> None:
        if align > 1 and (region.align % align or (offset + region.residue) % align):
            what = f"{kind} {region.name} needs {align}-byte alignment"
            raise self._refute(f"{what}, which is not assured")

    def load(self, address: Value, size: int, align: int = 1) -> Value:
        """Return `size` <= 16 bytes, zero-extended; a stored pointer or length comes back whole."""
        name, offset = self.locate(address, size, align, store=False)
        return self._read(name, offset, size)

    def _other(self, name: str, offset: int, size: int, store: bool) -> Value | None:
        """Return what bytes hold if they are another message's, else None."""
        other = self.regions[name].other
        return None if other is None else other(self, self.place(offset), size, store)

    def _read(self, name: str, offset: int, size: int) -> Value:
        if (another := self._other(name, offset, size, store=False)) is not None:
            return another
        written = self.written[name]
        self._require_apart(name, offset, size)
        places = range(offset, offset + size)
        if over := self.regions[name].over:
            self._require_apart(over, offset, size)
            if not self.written[over].keys().isdisjoint(places):
                raise unsupported(f"{name} read where {over} has been written", self.terms.at)
        if size == 16 and not offset % 16 and written.keys().isdisjoint(places):
            return self._cell(name, offset)
        if written.keys() >= set(places):
            return self._compose([written[k] for k in places], size)
        # A byte that has not been written has its initial content.
        unwritten = sorted({k - k % 16 for k in places if k not in written})
        first = {k: self._cell(name, k) for k in unwritten}
        pieces = [written.get(k) or (first[k - k % 16], k % 16) for k in places]
        return self._compose(pieces, size)

    def load_lanes(self, address: Value, lanes: int, align: int) -> list[Value]:
        """Return 16·lanes bytes as values of 16 bytes, checked as a single access."""
        name, offset = self.locate(address, 16 * lanes, align, store=False)
        return [self._read(name, offset + 16 * k, 16) for k in range(lanes)]

    def _cell(self, name: str, offset: int) -> Lane:
        """Return the initial 16 bytes of a region that contain this one."""
        lane = self.regions[name].content(self, self.place(offset - offset % 16))
        if lane is None:
            raise self._refute(f"load from {name}, which has no initial content")
        return lane

    def _compose(self, pieces: list[tuple[Value, int]], size: int) -> Value:
        value = pieces[0][0]
        for k, (v, i) in enumerate(pieces):
            if v is not value or i != k:
                break
        else:
            if isinstance(value, Pointer | Linear):
                if size == 8:
                    return value
                raise unsupported("part of a pointer or a length loaded", self.terms.at)
            if size == 16:
                return value
        groups: dict[int, tuple[Lane, list[int]]] = {}
        for k, (v, i) in enumerate(pieces):
            if is_return_address(v):
                # Of a finished call: the slot still holds it.
                raise self._read_return()
            if isinstance(v, Pointer | Linear):
                raise unsupported("bytes of a pointer or a length loaded", self.terms.at)
            _, sources = groups.setdefault(id(v), (v, [-1] * 16))
            sources[k] = i
        out: Lane = 0
        for lane, sources in groups.values():
            # A last block's byte beside others may look like the whole block in register form.
            out = self.terms.xor(out, self.terms.bytes(lane, tuple(sources)), settled=False)
        return out

    def store(self, address: Value, value: Value, size: int, align: int = 1) -> None:
        """Store a value of `size` <= 16 bytes.

        Raises:
            Refutation: the access is not allowed, or the value may be wider.
        """
        self._write(*self.locate(address, size, align, store=True), value, size)

    def store_lanes(self, address: Value, lanes: Sequence[Lane], align: int = 1) -> None:
        """Store values of 16 bytes, checked as a single access."""
        name, offset = self.locate(address, 16 * len(lanes), align, store=True)
        for k, lane in enumerate(lanes):
            self._write(name, offset + 16 * k, lane, 16)

    def _write(self, name: str, offset: int, value: Value, size: int) -> None:
        if not self.facts.fits(value, 8 * size):
            raise unsupported(f"a value that may not fit into {size} bytes: {value}")
        if self._other(name, offset, size, store=True) is not None:
            self.stores += 1
            return
        if self.regions[name].access is Access.OUTPUT:
            self._require_same(name, offset, value, size)
        self._require_apart(name, offset, size)
        self.stores += 1
        self.put(name, offset, value, size)

    def put(self, name: str, key: int, value: Value, size: int) -> None:
        """Note that a value has been written at the place with a number."""
        if key >= HALF:
            self.scattered |= {name}
        written = self.written[name]
        for k in range(size):
            written[key + k] = (value, k)

    def _require_same(self, name: str, offset: int, value: Value, size: int) -> None:
        """Refuse to write a byte again unless its value is certainly the same.

        Then an earlier comparison of the byte remains valid.
        """
        written = self.written[name]
        again = [k for k in range(size) if offset + k in written]
        if not again:
            return
        places, terms = tuple(again) + (-1,) * (16 - len(again)), self.terms
        old = self._compose([written[offset + k] for k in again], len(again))
        if isinstance(value, int | Term) and isinstance(old, int | Term):
            new = terms.bytes(value, places)
            if same_value(old, new):
                return
            form = terms.try_form(new)
            if form is not None and form == terms.try_form(old):
                return
        what = f"store to bytes of {name} that are written already, and not as they are"
        raise self._refute(what)

    def release(self) -> None:
        """Forget the stack's bytes below the usable part: a signal may overwrite them.

        Or may not: a later reader may still see the old bytes. So a byte stays as secret as it was.
        """
        floor, written = self.floor(), self.written[STACK]
        for offset in [k for k in written if k < floor]:
            value, k = written[offset]
            if not (isinstance(value, Term) and value.op == "opaque"):
                written[offset] = (self.terms.lost(RELEASED, secret(value)), k)

    def inside(self, pointer: Pointer) -> bool:
        """Return whether an address certainly lies in its buffer, or just after it.

        Such addresses do not wrap around: the caller promises that of a buffer and of its end.
        """
        region = self.regions.get(pointer.region)
        if region is None:
            return False
        region.promised()
        beyond = combined(pointer.offset, region.size, -1)
        within = combined(pointer.offset, region.low, -1)
        return self.facts.below(within, 0) is False and self.facts.below(beyond, 1) is True
