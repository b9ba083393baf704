"""Every number of bytes has one way, and no kernel of AVX-512 accesses memory with a mask."""

import re

import pytest

from ghashgen.kernels.bytes.exact import cut, numbers_left, ways
from ghashgen.support.paths import kernels_folder

NUMBERS = (
    range(16), range(17), range(1, 17), range(4, 17), range(33), range(49), range(49, 65),
    range(1, 65), range(1, 33), numbers_left(2, False), numbers_left(4, False),
    numbers_left(2, True), numbers_left(4, True),
)  # fmt: skip


@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
@pytest.mark.parametrize("behind", [False, True])
def test_every_number_has_one_way(numbers: range, behind: bool) -> None:
    if behind and numbers[0] == 0:
        pytest.skip("behind a register there is a byte")
    found = ways(numbers, 4, behind)
    for n in numbers:
        assert sum(n in way.numbers for way in found) == 1
    assert [way.numbers[0] for way in found] == sorted(
        (way.numbers[0] for way in found), reverse=True
    )


@pytest.mark.parametrize("numbers", [n for n in NUMBERS if n.step == 1], ids=str)
def test_parts_are_the_numbers_and_have_one_way_from_a_block_on(numbers: range) -> None:
    parts = cut(numbers, 4)
    assert [n for part in parts for n in part] == list(range(numbers[0], numbers[-1] + 1))
    assert all(len(ways(part, 4)) == 1 for part in parts if part[0] >= 16)


MASKED = re.compile(r"\{k\d\}.*\[|\].*\{k\d\}")


def masked(text: str) -> list[str]:
    """The lines of an assembly file that access memory with a mask, but for groups of messages."""
    code = [line.partition(";")[0] for line in text.splitlines()]
    functions = [line for line in code if re.match(r"\w+:", line)]
    many = [line for line in functions if line.endswith("_many:")]
    now, found = "", list[str]()
    for line in code:
        now = line if line in functions else now
        found += [line] if MASKED.search(line) and now not in many else []
    return found


def test_no_checked_in_kernel_accesses_memory_with_a_mask() -> None:
    """A masked access may name bytes outside a buffer, and is slow there on some CPUs.

    Groups of messages need masks: docs/gcm-many.md says so.
    """
    files = [*kernels_folder().glob("avx512*/*.asm")]
    assert len(files) > 100
    assert [line for file in files for line in masked(file.read_text())] == []


@pytest.mark.parametrize("line", ["vmovdqu8    zmm0{k1}{z}, [rsi]", "vmovdqu8 [rdi]{k3}, zmm1"])
def test_a_planted_mask_is_seen(line: str) -> None:
    file = sorted(kernels_folder().glob("avx512/gcm*.asm"))[0]
    planted = file.read_text().replace("    ret\n", f"    {line} ; planted\n    ret\n", 1)
    assert [found.strip() for found in masked(planted)] == [line]
