"""What emitted files say about GHASH and POLYVAL kernels."""

from collections.abc import Sequence

from ghashgen.kernels.core import Values, Words
from ghashgen.kernels.hash.definition import DEFINITIONS
from ghashgen.kernels.hash.kernel import Kernel

NOTES = """\
{names} kernels. The state x and the subkey h are 16 bytes at any alignment, in the byte
order of {sources}.

NAME_init fills a table from h. The table takes NAME_TABLE_BYTES bytes at a multiple of
NAME_TABLE_ALIGN; NAME_TABLE_BEST_ALIGN affects only speed. It holds no address, so you may copy it
as bytes to another such place. NAME_update continues the hash x over len bytes (any number) and
pads the last block with zeros. It reads no byte outside [in, in + len).

Kernels with segments in their name hash one message in several threads. NAME_power computes
y = H^m for any m. NAME_combine computes x = x*p + y, where p is H^m and y is the hash, from state
0, of a segment of m blocks. For POLYVAL the product is RFC 8452's dot, and p has the form of h."""

COLUMNS = """\
Kernels with columns in their name hash a message in rows of n blocks, one column for each thread.
NAME_column continues the hash over the first block of each row and reads no other block. It needs
whole rows, and a table that NAME_init filled from H^n."""


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
        table=f"16 bytes for each power, H^{layout.top} first: {arrays}",
        arguments=(
            ("x, h", f"16 bytes, any alignment, byte order of {of.source}"),
            ("in", "len bytes, any len, any alignment; no byte outside is read"),
        ),
        closing=(
            f"Time depends only on len{' and m' if kernel.segments else ''}. The table and x must",
            "not overlap another argument's memory.",
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
