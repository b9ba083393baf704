"""Key set-up of AES-GCM on the rules: the catalogue's is proved, and a wrong twin of it is not.

It has no loop over a message: its certificate is empty, and nothing is searched.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from helpers.core_checking import emitted
from helpers.verify_objects import assembled

from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.selection import catalogue
from ghashgen.verify.checking import Way, check_function
from ghashgen.verify.core.refutation import Category, Refutation
from ghashgen.verify.search.hash import EMPTY
from ghashgen.verify.statements.aes import ROUND_KEY
from ghashgen.verify.statements.gcm import GcmSpec
from ghashgen.verify.x86_64.elf import load_image

KERNELS = {k.name: k for k in catalogue() if isinstance(k, GcmKernel)}

EACH = [
    next(n for n, k in KERNELS.items() if (k.isa, k.key) == one)
    for one in sorted({(k.isa, k.key) for k in KERNELS.values()})
]
"""A kernel of each set and size of key."""

WIPING = [n for n, k in KERNELS.items() if k.wipe]

FAULTY = (
    "gcm192_sse_winograd_clmul1_x8",
    "gcm128_avx_winograd_clmul1_x8_wipe",
    "gcm256_avx2_winograd_clmul1_x16",
    "gcm128_avx512_winograd_clmul1_x32_wipe",
)
"""The kernels in which faults are planted: every set and size of key is among them."""


@cache
def parts(name: str) -> tuple[str, str, str]:
    """Return what is before a kernel's init, its own text, and what is behind it."""
    head, label, rest = emitted(name).partition(f"\n{name}_init:\n")
    own, end, tail = rest.partition("\n.end:")
    return head + label, own + "\n", end + tail


def stated(name: str) -> GcmSpec:
    """Return a kernel's statement."""
    spec: GcmSpec = statement(KERNELS[name], name, "sysv")
    return spec


def check(name: str, own: str, spec: GcmSpec | None = None) -> Way:
    """Check a kernel whose init has this text.

    Raises:
        Refutation: it is refused.
    """
    spec = spec or stated(name)
    function = next(f for f in spec.functions if f.operation == "init")
    head, _, tail = parts(name)
    image = load_image(assembled(head + own + tail))
    return check_function(image, spec, function, EMPTY)


@pytest.mark.parametrize("name", sorted({*EACH, *WIPING, *FAULTY}))
def test_key_set_up_of_the_catalogue_is_proved(name: str) -> None:
    checked = check(name, parts(name)[1])
    assert (checked.cases, checked.returns) == (1, 1)
    assert checked.steps > 300


BEGUN = "(endbr64\n)"

THIRD = r"(\n +v?movdqu(?:64)? +\[rdi \+ (\d+)\], xmm\d+ +; k_3\n)"
"""What stores round key 3."""

FUNCTION, MEMORY = Category.FUNCTION, Category.MEMORY
TIMING, ABI = Category.CONSTANT_TIME, Category.ABI

SUBKEY, ENTRY = r"no value is E_K\(0\)", r"table entry [A-Z0-9/]+ of H\^\d+"

FAULTS = {
    # The key expansion.
    "another round constant": (
        r"(psllq +[^\n]*)0x01( +; Rcon)|(\[rax \+) 16(\] +; \+ Rcon)", r"\1\3 0x02\2\4", FUNCTION,
        r"round key \d is wrong",
    ),
    "a word that is not rotated": (
        r"v?pshufb +xmm[^\n]*; (RotWord|rotated back)\n", "nop\n", FUNCTION,
        r"round key [12] is wrong",
    ),
    "two words of a key exchanged": (
        THIRD,
        r"\1mov r10d, [rdi + \2]\nmov r11d, [rdi + \2 + 4]\n"
        r"mov [rdi + \2], r11d\nmov [rdi + \2 + 4], r10d\n",
        FUNCTION, "round key 3 is wrong",
    ),
    "a round key that is one bit another": (
        THIRD, r"\1mov r10d, [rdi + \2]\nxor r10d, 1\nmov [rdi + \2], r10d\n", FUNCTION,
        "round key 3 is wrong",
    ),
    "a round key in another's place": (
        r"\[rdi \+ (\d+)\](, xmm\d+ +; k_3\n)", r"[rdi + \1 + 16]\2", FUNCTION,
        "round key 3 is not written",
    ),
    "a round key that is not written": (THIRD, "\n", FUNCTION, "round key 3 is not written"),
    # H.
    "a round less": (r"\n[^\n]*aesenc [^\n]*; H: round 3\n", "\n", FUNCTION, SUBKEY),
    "a last round early": ("aesenc ", "aesenclast ", FUNCTION, SUBKEY),
    "a last round that mixes columns": (
        r"aesenclast( [^\n]*; H = E_K\(0\))", r"aesenc    \1", FUNCTION, SUBKEY
    ),
    "a subkey as it stands in memory": (
        r"\n[^\n]*_byte_swap\]  ; H\n", "\n", FUNCTION, ENTRY
    ),
    # The table.
    "a product of other halves": (
        r"(pclmulqdq [^\n]*, 0x1)0(?!.*pclmulqdq [^\n]*, 0x10)", r"\g<1>1", FUNCTION, ENTRY
    ),
    "a cell that is not written": (
        r"\n[^\n]*\[rdi[^\n]*[BV]_1: (C1|C2|B)\n|\n[^\n]*\[rdi[^\n]*; C1\n", "\n", FUNCTION,
        f"{ENTRY} is not written",
    ),
    # What is no result.
    "a store behind the table": (
        BEGUN, r"\1mov byte [rdi + TABLE], 0\n", MEMORY, "1 bytes of table that end 1 beyond"
    ),
    "a key that is read too far": (
        BEGUN, r"\1movdqu xmm0, [rsi + KEY - 8]\n", MEMORY, "16 bytes of key"
    ),
    "a key that is written": (BEGUN, r"\1mov byte [rsi], 0\n", MEMORY, "store to key"),
    "an address that depends on the key": (
        BEGUN, r"\1movzx eax, byte [rsi]\nmov al, [rdi + rax]\n", TIMING, "address"
    ),
    "a condition on the key": (
        BEGUN, r"\1cmp byte [rsi], 0\nje .none\n.none:\n", TIMING, "condition"
    ),
    "a register that the caller keeps": (BEGUN, r"\1xor ebx, ebx\n", ABI, "rbx"),
}  # fmt: skip
"""What is found, what stands there instead, and how it is refused."""


def faulty(name: str, found: str, other: str) -> str:
    """Return a kernel's init with a fault."""
    spec, own = stated(name), parts(name)[1]
    planted = {"TABLE": spec.table_bytes, "KEY": spec.key_bytes}
    for word, size in planted.items():
        other = other.replace(word, str(size))
    text, count = re.subn(found, other, own, count=1, flags=re.DOTALL)
    assert count == 1
    assert text != own
    return text


@pytest.mark.parametrize("name", FAULTY)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refused(fault: str, name: str) -> None:
    found, other, category, said = FAULTS[fault]
    with pytest.raises(Refutation, match=said) as refused:
        check(name, faulty(name, found, other))
    assert refused.value.category is category, str(refused.value)


def others(spec: GcmSpec) -> Iterator[tuple[str, GcmSpec]]:
    """Yield statements that say something else of one cell, or of two keys, and the refusal."""
    for k, cell in enumerate(spec.cells):
        if cell is None:
            continue
        changed = list(spec.cells)
        if cell[0] == ROUND_KEY:
            other = spec.cells.index((ROUND_KEY, (cell[1] + 1) % len(spec.round_keys)))
            changed[k], changed[other] = spec.cells[other], cell
            said = "round key [0-9]+ is wrong"
        else:
            kind, power = changed[k] = (cell[0], cell[1] + 1) if cell[1] else ("B", 1)
            said = rf"table entry {kind} of H\^{power} is wrong"
        yield said, replace(spec, cells=tuple(changed))


@pytest.mark.parametrize("name", FAULTY)
def test_a_cell_that_is_stated_otherwise_is_refused(name: str) -> None:
    several = list(others(stated(name)))
    assert len(several) > 30
    for said, spec in several[:: 1 + len(several) // 25]:
        with pytest.raises(Refutation, match=said):
            check(name, parts(name)[1], spec)


@pytest.mark.parametrize("name", WIPING)
def test_a_secret_that_is_left_in_a_register_is_refused(name: str) -> None:
    with pytest.raises(Refutation) as refused:
        check(name, re.sub(r"\n[^\n]*; wipe(?=\n)", "", parts(name)[1]))
    assert refused.value.category is Category.WIPE
