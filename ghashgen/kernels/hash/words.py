"""What emitted files say about GHASH and POLYVAL kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.hash.definition import DEFINITIONS
from ghashgen.kernels.hash.kernel import Kernel

NOTES = """\
{names} kernels. The state x and the subkey h are 16 bytes, at any alignment, in the byte
order of {sources}.
A table is filled by NAME_init for one h. It has NAME_TABLE_BYTES bytes at an address that is a
multiple of NAME_TABLE_ALIGN; a multiple of NAME_TABLE_BEST_ALIGN serves speed alone. It holds no
address: its bytes may be copied, and the copy serves at any such address.
NAME_update continues the hash over len bytes (any number) and pads the last block with zeros;
it reads no byte outside [in, in + len).

A kernel whose name says segments hashes a message in pieces, for threads: NAME_power gives
y = H^m for any m, NAME_combine x = x*p + y for p = H^m and the hash y, from state 0, of a
segment of m blocks. For POLYVAL the product is RFC 8452's dot, p has the form of h."""

COLUMNS = """\
A kernel whose name says columns hashes a message in rows of so many blocks, n, a column a thread:
NAME_column continues the hash over the first block of each row, by a table that NAME_init filled
from H^n, for whole rows; no block between is read."""


def words(kernel: Kernel) -> Words:
    """Return what a kernel's banner says."""
    of, layout = kernel.definition, kernel.layout
    multiply, reduce = kernel.multiplier, kernel.reducer
    arrays = ", ".join(f"{name} from byte {at}" for name, at in layout.arrays.items())
    return Words(
        title=f"{of.name} ({of.source}, {of.section}), {_group(kernel.blocks)}",
        parts=(
            ("multiply", (f"{multiply.name}: {multiply.title}", multiply.source)),
            ("reduce", (f"{reduce.name}: {reduce.title}", reduce.source)),
            ("order", (kernel.order,)),
        ),
        table=f"16 bytes a power, H^{layout.top} first: {arrays}",
        arguments=(
            ("x, h", f"16 bytes, any alignment, byte order of {of.source}"),
            ("in", "len bytes, any alignment and any len; no byte outside is read"),
        ),
        closing=(
            "Time depends on len alone. Neither table nor x may overlap what the other arguments "
            "point to.",
        ),
    )


def line(values: Values) -> str:
    """Return what a kernel with these values computes, for a header."""
    of = DEFINITIONS[str(values["op"])]
    return f"{of.name} ({of.source}), {_group(int(values['blocks']))}"


def notes(entries: Sequence[Values]) -> tuple[str, ...]:
    """Return a header's notes on its kernels."""
    ops = [DEFINITIONS[op] for op in sorted({str(values["op"]) for values in entries})]
    text = NOTES.format(
        names=" and ".join(of.name for of in ops),
        sources=", of ".join(f"{of.source} for {of.name}" for of in ops),
    )
    if any(int(values["columns"]) > 1 for values in entries):
        text = f"{text}\n\n{COLUMNS}"
    return tuple(text.split("\n"))


def _group(blocks: int) -> str:
    return f"{blocks} block{'s' if blocks > 1 else ''} per group"
