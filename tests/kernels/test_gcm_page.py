"""What docs/gcm.md quotes and says is what there is."""

import re

from helpers.examples import EXAMPLES, HEADER, NAME, PAGE, ROOT

from ghashgen.check.validation.gcm.validator import SUITES
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.gcm import axes
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.verify.statements.gcm import GcmFunction


def test_the_page_quotes_the_header_and_the_examples() -> None:
    """Every piece of C on the page is the header's prototypes of any NAME, or of one example."""
    folder = ROOT / "harness" / "examples"
    sources = {name: (folder / f"{name}.c").read_text(encoding="utf-8") for name in EXAMPLES}
    found = re.findall(r"^\w+ \w+\(.*\);$", HEADER, re.M)
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8)
    assert kernel.name == NAME
    symbols = [f" {NAME}_{function}(" for function in functions_of(kernel)]
    own = [line for line in found if any(symbol in line for symbol in symbols)]
    prototypes = [line.replace(NAME, "NAME") for line in own]
    pieces = re.findall(r"^```c\n(.*?)^```$", PAGE, re.M | re.S)
    (interface,) = [text for text in pieces if "NAME_" in text]
    assert re.sub(r"\s+", " ", interface).strip() == " ".join(prototypes)
    pieces.remove(interface)
    assert pieces
    assert all(any(text in source for source in sources.values()) for text in pieces)


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table of the page, by the first one of each row."""
    text = PAGE.partition(heading)[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_the_page_says_what_is_proved_and_validated() -> None:
    kernel = GcmKernel(128, "avx", "winograd", "clmul1", 8, segments=True, streams=True)
    unproved = [
        name
        for name, function in functions_of(kernel).items()
        if function.statement not in GcmFunction.operations or name not in SUITES
    ]
    said = "Every function of a checked-in kernel is [proved](../SOUNDNESS.md) from its bytes"
    assert (said in PAGE) == (not unproved)


def test_the_page_says_which_groups_there_are() -> None:
    said = {
        name: tuple(map(int, re.findall(r"\d+", cells[-1])))
        for name, cells in rows("| `--isa` | the CPU must have |").items()
    }
    assert axes.ISA.left_open
    assert axes.BLOCKS.left_open
    assert said.keys() == {*axes.ISA.left_open({})}
    for name, (usual, *numbers) in said.items():
        assert (usual,) == axes.BLOCKS.left_open({"isa": name})
        assert [n for n in range(1, 65) if makes_sense(name, n)] == list(
            range(numbers[-2], numbers[-1] + 1, numbers[0])
        )


def makes_sense(isa: str, blocks: int) -> bool:
    try:
        GcmKernel(192, isa, "winograd", "clmul1", blocks)
    except GhashgenError:
        return False
    return True


def test_readers_find_the_examples() -> None:
    """The page of messages in pieces has one more, and that of many messages two."""
    assert {f"{name}.c" for name in (*EXAMPLES, "pieces", "esp_burst", "quic_burst")} == {
        path.name for path in (ROOT / "harness" / "examples").iterdir()
    }
