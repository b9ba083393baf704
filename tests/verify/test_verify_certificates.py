"""Wrong certificates of right kernels: each is refused, whoever wrote it.

One certificate is found by the search and checked. Each wrong one differs from it in one thing.
"""

import copy
import json
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import pytest
from helpers.core_checking import checked, function_of, kernel_object, searched, spec_of

from ghashgen.algebra.field.bitorder import Order
from ghashgen.verify.core.linear import Facts, Linear
from ghashgen.verify.core.moves import moves_of
from ghashgen.verify.core.numbers import unknown
from ghashgen.verify.core.refutation import Refutation, unsupported
from ghashgen.verify.core.terms import Terms
from ghashgen.verify.machine.flags import Open, Why, alike
from ghashgen.verify.machine.image import Image
from ghashgen.verify.machine.memory import Memory
from ghashgen.verify.machine.regions import Access, Region
from ghashgen.verify.meaning import algebra
from ghashgen.verify.meaning.algebra import Algebra
from ghashgen.verify.meaning.hash import meaning_of
from ghashgen.verify.meaning.names import Names
from ghashgen.verify.rules.assertion import read_certificate
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.rules.values import value_of
from ghashgen.verify.x86_64.elf import load_image
from ghashgen.verify.x86_64.target import X86_64

SMALL, FRAMED = "ghash_sse_k_clmul1_x2", "ghash_avx_k_clmul1_x16_stackswap"
STEP = 32
"""Bytes that SMALL hashes in a turn."""

RUNS = 200

Edit = Callable[[dict[str, Any]], None]


@cache
def right(name: str) -> dict[str, Any]:
    """Return the certificate of update that is found."""
    spec = spec_of(name)
    return searched(load_image(kernel_object(name)), spec, function_of(spec, "update"))


def changed(name: str, edit: Edit) -> dict[str, Any]:
    """Return the certificate with its loop edited."""
    data = copy.deepcopy(right(name))
    edit(data["assertions"]["loop"])
    assert data != right(name)
    return data


def check(name: str, data: dict[str, Any]) -> None:
    """Check a certificate of update.

    Raises:
        Refutation: it is refused.
    """
    spec = spec_of(name)
    checked(load_image(kernel_object(name)), spec, function_of(spec, "update"), data)


def put(field: str, key: Any, value: Any) -> Edit:
    """Return an edit that puts one thing into a table or a list of the assertion."""

    def edit(a: dict[str, Any]) -> None:
        a[field][key] = value

    return edit


def field(name: str, value: Any) -> Edit:
    """Return an edit of one field."""
    return lambda a: a.__setitem__(name, value)


def hashed(**changes: Any) -> Edit:
    """Return an edit of what is said of the state."""
    return lambda a: a["ghosts"]["x"].update(changes)


def where(value: Any) -> str:
    """Return the first place of SMALL's loop that holds this."""
    places: dict[str, Any] = right(SMALL)["assertions"]["loop"]["places"]
    return next(name for name, v in places.items() if v == value)


POINTER = ["p", "input", f"{STEP}*t"]

WRONG: dict[str, Callable[[], Edit]] = {
    # Numbers.
    "a range that does not cover": lambda: put("unknowns", "length", [STEP + 1, 1 << 60]),
    "turns that begin later": lambda: put("unknowns", "t", [1, 1 << 57]),
    "a fact that is not so at the entry": lambda: field("facts", [f"length-{STEP}*t-{STEP + 1}"]),
    "a fact that is not so after a turn": lambda: field("facts", [f"length-{STEP}", "0-t"]),
    "no facts": lambda: field("facts", []),
    "facts that contradict": lambda: field("facts", ["t-5", "3-t"]),
    "a turn that is none": lambda: put("from", "loop", [{"length": "length", "t": "t"}]),
    "two turns for one": lambda: put("from", "loop", [{"length": "length", "t": "t+2"}]),
    "a length that shrinks": lambda: put(
        "from", "loop", [{"length": f"length-{STEP}", "t": "t+1"}]
    ),
    "another number at the entry": lambda: put("from", "entry", [{"length": "length", "t": "1"}]),
    "no way from the entry": lambda: field("from", {"loop": [{"length": "length", "t": "t+1"}]}),
    "no way round": lambda: field("from", {"entry": [{"length": "length", "t": "0"}]}),
    "a number that is left out": lambda: put("from", "entry", [{"t": "0"}]),
    "a number too many": lambda: put(
        "from", "entry", [{"length": "length", "t": "0", "s": "0"}]
    ),
    "an unknown of nobody": lambda: put("from", "loop", [{"length": "length", "t": "s+1"}]),
    "a parameter that is no unknown": lambda: lambda a: (
        a["unknowns"].pop("length"),
        a.update({"facts": [], "falls": "0-t"}),
        [one.pop("length") for ways in a["from"].values() for one in ways],
    )[0],
    # Places.
    "a pointer that stays": lambda: put("places", where(POINTER), ["p", "input", "0"]),
    "a pointer into another buffer": lambda: put(
        "places", where(POINTER), ["p", "table", f"{STEP}*t"]
    ),
    "a pointer that is anything": lambda: put("places", where(POINTER), "?"),
    "a count that stays": lambda: put("places", where(["n", f"length-{STEP}*t"]), ["n", "length"]),
    "a count that is anything public": lambda: put(
        "places", where(["n", f"length-{STEP}*t"]), "!"
    ),
    "a stack pointer elsewhere": lambda: put("places", "rsp", ["p", "stack", "-8"]),
    "a stack pointer that is anything": lambda: put("places", "rsp", "?"),
    "a register to be kept that is anything": lambda: put("places", "rbx", "?"),
    "a register to be kept that is public": lambda: put("places", "rbx", "!"),
    "another register's value": lambda: put("places", "rbx", ["@", "rbp"]),
    "another constant": lambda: put("places", "v1.0", ["c", "0xc2000000000000000000000000000000"]),
    "a negative number in a vector": lambda: put(
        "places", where(["v", "x0"]), ["n", "0-1"]
    ),
    "a secret that is called public": lambda: put("places", "v2.0", "!"),
    "the state that is called public": lambda: put("places", where(["v", "x0"]), "!"),
    "the state that is anything": lambda: put("places", where(["v", "x0"]), "?"),
    "one unknown in two places that differ": lambda: put("places", "v2.0", ["v", "x0"]),
    "a block that is the next one's": lambda: put(
        "places", "v2.0", ["t", "block", "C", ["n", f"{STEP}*t"]]
    ),
    "bytes of the state, said to be written": lambda: put("places", "state+0:16", ["v", "x0"]),
    "a byte behind a buffer": lambda: put("places", "table+4096:16", "?"),
    "a place in no buffer": lambda: put("places", "elsewhere+0:16", "?"),
    "a place by another's number": lambda: put("places", f"input+{1 << 80}:16", ["v", "y"]),
    # What is hashed.
    "hashed one group too far": lambda: hashed(hashed=f"{STEP}*t+{STEP}"),
    "hashed one block too far": lambda: hashed(hashed=f"{STEP}*t+16"),
    "hashed within a block": lambda: hashed(hashed=f"{STEP}*t+8"),
    "hashed at the entry, and no more": lambda: hashed(hashed="0"),
    "a power ahead": lambda: hashed(ahead=1),
    "a power behind": lambda: hashed(ahead=-1),
    "a power of the value": lambda: hashed(sum=[["x0", 1]]),
    "the value twice": lambda: hashed(sum=[["x0", 0], ["x0", 0]]),
    "no value": lambda: hashed(sum=[]),
    "a value of nobody": lambda: hashed(sum=[["x1", 0]]),
    "the state on entry": lambda: hashed(sum=[["X", 0]]),
    "another buffer": lambda: hashed(of="table"),
    "nothing of what is hashed": lambda: put("ghosts", "x", None),
    "ghosts of another function": lambda: put("ghosts", "text", {"done": "0"}),
    # The loop.
    "a number that does not fall": lambda: field("falls", "t"),
    "a number that stays": lambda: field("falls", "length"),
    "a number that falls without end": lambda: field("falls", "0-t"),
    "an address elsewhere": lambda: field("at", right(SMALL)["assertions"]["loop"]["at"] + 5),
    "an address within an instruction": lambda: field(
        "at", right(SMALL)["assertions"]["loop"]["at"] + 1
    ),
    # Form.
    "a field that there is not": lambda: field("also", 1),
    "a field that is missing": lambda: lambda a: a.pop("dirty"),
    "flags of another kind": lambda: field("flags", "none"),
    "a truth that is a number": lambda: field("dirty", 1),
    "a range that is empty": lambda: put("unknowns", "t", [3, 2]),
    "an unknown with the name of a case": lambda: put("unknowns", "length_16", [0, 9]),
    "a register that there is not": lambda: put("places", "r16", "?"),
    "a value of another form": lambda: put("places", "rax", ["?"]),
    "a value that is null": lambda: put("places", "rax", None),
    "a name that is a list": lambda: put("places", "v2.0", ["v", ["x0"]]),
    "a constant of too many bits": lambda: put("places", "v2.0", ["c", "0x1" + "0" * 32]),
    "a constant of no digits": lambda: put("places", "v2.0", ["c", "0x"]),
    "a number of too many digits": lambda: put("places", "rax", ["n", "9" * 5000]),
    "a number of words": lambda: put("places", "rax", ["n", "length t"]),
    "a term of no kind": lambda: put("places", "v2.0", ["t", "product", 1]),
    "an entry of no kind": lambda: put("places", "v2.0", ["t", "entry", "Q", 1]),
    "an entry of no power": lambda: put("places", "v2.0", ["t", "entry", "B", 0]),
    "an entry that it is not": lambda: put("places", "v2.0", ["t", "entry", "B", 1]),
    "moves by too much": lambda: put(
        "places", "v2.0", ["t", "moves", ["v", "x0"], [[128, "0x1"]]]
    ),
    "a value of another form in memory": lambda: put("places", "stack+-8:8", ["?"]),
    "a place of no size": lambda: put("places", "state+0:0", "?"),
    "a place of 17 bytes": lambda: put("places", "state+0:17", "?"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up after twice the cases that the right certificate of SMALL needs.

    A wrong certificate may let a loop be followed without end.
    """
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", RUNS)


def test_the_right_ones_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 1000)
    for name in (SMALL, FRAMED):
        check(name, right(name))


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_wrong_certificate_is_refused(name: str) -> None:
    with pytest.raises(Refutation):
        check(SMALL, changed(SMALL, WRONG[name]()))


NO_CERTIFICATES: tuple[Any, ...] = (
    None,
    [],
    {},
    {"assertions": []},
    {"assertions": {}, "also": 1},
    {"assertions": {"entry": {}}},
    {"assertions": {"loop": {}}},
)


@pytest.mark.parametrize("data", NO_CERTIFICATES)
def test_what_is_no_certificate_is_refused(data: Any) -> None:
    with pytest.raises(Refutation):
        read_certificate(data)


PARTS: tuple[Any, ...] = (
    None, True, 1, 1.5, "", "?", "x", "0x", [], {}, ["x"], ["n", 1], ["n", "x"], ["c", "0x1"],
    [[0]], [[0, "0x"]], [[128, "0x1"]], [[1.5, "0x1"]],
)  # fmt: skip


@pytest.mark.parametrize("tag", ["n", "p", "c", "v", "@", "t", "?", None, []])
def test_a_value_of_another_form_is_refused_and_no_other_error(tag: Any) -> None:
    meaning = meaning_of(spec_of(SMALL), function_of(spec_of(SMALL), "update"))

    def nobody(name: str, bits: int) -> Any:
        raise unsupported(name)

    first = ("xor", "moves", "entry", "block", *PARTS) if tag == "t" else PARTS
    several = ((), *product(first), *product(first, PARTS), *product(first, PARTS, PARTS))
    one = ["c", "0x1"]
    for rest in (*several, ("entry", "B", 0), ("block", "C", "x")):
        if rest in (("xor", one, one), ("moves", one, [])):
            continue
        with pytest.raises(Refutation):
            value_of([tag, *rest], {}, 128, nobody, meaning, {})


def test_a_loop_without_an_assertion_is_followed_without_end_and_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 40)
    with pytest.raises(Refutation, match="more cases"):
        check(SMALL, {"assertions": {}})


def test_two_loops_that_wait_for_each_other_are_refused() -> None:
    """Each falls to the other's lower level: there is no lower level both ways."""
    data = copy.deepcopy(right(SMALL))
    one = data["assertions"]["loop"]
    other = copy.deepcopy(one)
    one["level"], other["level"] = 2, 1
    one["from"] = {k: one["from"][w] for k, w in (("entry", "entry"), ("other", "loop"))}
    other["from"] = {"loop": one["from"]["other"]}
    data["assertions"]["other"] = other
    rest = data["assertions"]["rest"]["from"]
    rest["other"] = rest["loop"]
    with pytest.raises(Refutation, match="does not fall"):
        check(SMALL, data)


def test_a_byte_of_the_frame_that_is_left_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghashgen.verify.rules.check.MOST_RUNS", 1000)
    places = right(FRAMED)["assertions"]["loop"]["places"]
    frame = [name for name in places if name.startswith("stack")]
    assert frame
    for name in (frame[0], frame[-1]):
        with pytest.raises(Refutation, match="is written and left out"):
            check(FRAMED, changed(FRAMED, lambda a, name=name: a["places"].pop(name)))


@pytest.mark.parametrize("what", ["flags", "dirty"])
def test_what_a_state_has_and_an_assertion_denies_is_refused(what: str) -> None:
    spec = spec_of(SMALL)
    assertions = read_certificate(json.loads(json.dumps(right(SMALL))))
    image: Image = load_image(kernel_object(SMALL))
    loop = assertions["loop"]
    checker = Checker(image, meaning_of(spec, function_of(spec, "update")), assertions)
    checker.begin()
    ways = {"length": unknown("length"), "t": unknown("t")}
    state = checker.state(loop)
    checker._instance(state, loop, None, ways)
    if what == "flags":
        state.machine.flags = alike(Open(Why.UNDEFINED, True))
    else:
        state.machine.upper_dirty = True
    with pytest.raises(Refutation, match=r"flags may hold a secret|upper halves"):
        checker._instance(state, loop, None, ways)


# Holes that rules had, each by itself.


def test_a_place_far_away_is_not_anothers() -> None:
    terms = Terms(lambda kind, power: NotImplemented)
    region = Region("input", 0, Linear(0, (("length", 1),)), Access.READ, lambda memory, at: 0)
    memory = Memory(terms, Image(X86_64, (), {}), [region])
    memory.facts = Facts({"length": (0, 1 << 60)})
    assert memory.key(Linear(0, (("length", 16),))) == 1 << 80
    for far in (1 << 80, 1 << 79, -(1 << 80)):
        with pytest.raises(Refutation, match="another's"):
            memory.key(far)


def test_the_factor_of_combine_is_no_power_of_h() -> None:
    names = Names(Algebra(Order.REFLECTED))
    terms = names.terms
    basis = algebra._basis_products(Order.REFLECTED)
    squared = moves_of(lambda value: algebra._diagonal(basis, value))
    first, factor = (terms.moves(terms.entry("B", k), squared) for k in (1, 0))
    assert names.power(first) is terms.entry("B", 2)
    assert names.power(factor) is factor
