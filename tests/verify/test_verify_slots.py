"""Where in its frame a function holds what the certificate of one like it speaks of."""

from types import SimpleNamespace
from typing import Any

from ghashgen.algebra.ops.forms import Form
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.search.slots import placed, said_of, slots

OLD = {
    "rsp": ["p", "stack", "-40"], "v1.0": ["c", "0x7"], "v2.0": ["c", "0x5"],
    "state+0:16": ["v", "x"], "stack+-40:16": ["c", "0x5"], "stack+-24:16": "?",
    "stack+-8:8": ["@", "rbx"],
}  # fmt: skip


def state(**cells: Any) -> Any:
    """Return a state with these values in its frame: their bytes below the entry, and sizes."""
    held = {}
    for name, value in cells.items():
        below, size = map(int, name.removeprefix("at_").split("_"))
        held |= {-below + k: (value, k) for k in range(size)}
    read = lambda region, first, count: held[first][0]  # noqa: E731
    return SimpleNamespace(memory=SimpleNamespace(written={"stack": held}, _read=read))


def literal(held: Any) -> Any:
    return ["@", held] if isinstance(held, str) else ["n", str(held)] if held == 9 else None


def found(moved: int, **cells: Any) -> dict[str, Any]:
    return slots(
        state(**cells), OLD, said_of(OLD), moved,
        lambda held, v: v == ["c", f"{held:#x}"] if isinstance(held, int) else False, literal,
    )  # fmt: skip


def test_a_value_is_found_where_it_lies() -> None:
    """In the same place; in another one, or in a register; else it is a constant, or unknown."""
    assert found(0, at_40_16=5) == {"stack+-40:16": {"stack+-40:16"}}
    assert found(-16, at_56_16=5) == {"stack+-56:16": {"stack+-40:16"}}
    assert found(0, at_24_16=5) == {"stack+-24:16": {"stack+-40:16", "v2.0"}}
    assert found(0, at_40_16=7) == {"stack+-40:16": {"v1.0"}}
    assert found(0, at_40_16=9) == {"stack+-40:16": ["n", "9"]}
    assert found(0, at_40_16=8, at_16_8="rbp") == {
        "stack+-40:16": None,
        "stack+-16:8": ["@", "rbp"],
    }
    assert found(0, at_16_8=9) == {"stack+-16:8": None}


def test_what_cannot_be_followed_is_nowhere_else() -> None:
    terms = Terms(lambda name, number: Form(128))
    lost = terms.lost("a test", secret=True)
    asked = []
    out = slots(
        state(at_24_16=lost), OLD, said_of(OLD), 0,
        lambda held, v: bool(asked.append(v)), lambda held: None,
    )  # fmt: skip
    assert out == {"stack+-24:16": None}
    assert not asked


def test_every_byte_of_the_frame_is_named() -> None:
    out = placed(OLD, {"stack+-32:16": {"v1.0"}, "stack+-16:8": ["@", "rbp"], 3: {2}}, -40)
    assert out == {
        "state+0:16": ["v", "x"], "stack+-32:16": ["c", "0x7"], "stack+-16:8": ["@", "rbp"],
        **{f"stack+{k}:1": "?" for k in (*range(-40, -32), *range(-8, 0))},
    }  # fmt: skip
