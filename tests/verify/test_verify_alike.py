"""Certificates of functions that are alike: found once, and checked for each."""

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.proofs import statement
from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.kernels.target import target
from ghashgen.output.artefact import make
from ghashgen.support.toolchain import assemble_text
from ghashgen.verify.checking import check_function
from ghashgen.verify.machine.image import Image
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.search import kernel as search
from ghashgen.verify.search.alike import Alike
from ghashgen.verify.search.certified import Certified
from ghashgen.verify.search.flow import looks_of
from ghashgen.verify.search.seen import Seen, Sight
from ghashgen.verify.x86_64.elf import load_image

SHORT, LONG = (GcmKernel(bits, "avx", "winograd", "clmul1", 2) for bits in (128, 256))


class Shelf(dict[str, Any]):
    """Data by names, as a file would hold it."""

    def put(self, name: str, data: object) -> None:
        self[name] = json.loads(json.dumps(data))


@cache
def loaded(kernel: GcmKernel) -> Image:
    text = make(kernel, target("sysv", "elf64"), find_nasm()).text
    return load_image(assemble_text(find_nasm(), kernel.name, text, "elf64"))


def meaning_of(kernel: GcmKernel) -> Any:
    """Return the meaning of a kernel's first function."""
    spec = statement(kernel, kernel.name, "sysv")
    return spec.meaning(spec.functions[0])


def found(kernel: GcmKernel, shelf: Shelf, operation: str = "encrypt") -> Certified:
    """Have a function's certificates checked until one is accepted."""
    spec = statement(kernel, kernel.name, "sysv")
    (function,) = (f for f in spec.functions if f.operation == operation)
    certified = Certified(like=shelf)
    certified.search(
        loaded(kernel), spec, function,
        lambda one: check_function(loaded(kernel), spec, function, one),
    )  # fmt: skip
    return certified


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of which certificates are searched."""
    out: list[str] = []
    real = search.proposed

    def noted(image: Any, spec: Any, meaning: Any) -> Any:
        out.append(meaning().symbol)
        return real(image, spec, meaning)

    monkeypatch.setattr(search, "proposed", noted)
    return out


def test_a_longer_key_needs_no_search(searches: list[str]) -> None:
    shelf = Shelf()
    first = found(SHORT, shelf).found[f"{SHORT.name}_encrypt"]
    second = found(LONG, shelf).found[f"{LONG.name}_encrypt"]
    assert searches == [f"{SHORT.name}_encrypt"]
    # More rounds: the same is so, elsewhere.
    places = [[a["at"] for a in one["assertions"].values()] for one in (first, second)]
    assert places[0] != places[1]
    assert len(places[0]) == len(places[1])


@pytest.mark.parametrize(
    ("change", "operation"), [({"key": 256}, "encrypt"), ({"wipe": True}, "open")]
)
def test_other_registers_are_fitted(
    searches: list[str], change: dict[str, Any], operation: str
) -> None:
    shelf, plain = Shelf(), GcmKernel(128, "avx512", "k", "clmul1", 4)
    other = replace(plain, **change)
    first = found(plain, shelf, operation).found[f"{plain.name}_{operation}"]
    second = found(other, shelf, operation).found[f"{other.name}_{operation}"]
    assert searches == [f"{plain.name}_{operation}"]
    assert first["assertions"].keys() == second["assertions"].keys()
    told = [[a["places"] for a in one["assertions"].values()] for one in (first, second)]
    assert told[0] != told[1]


def test_constants_may_lie_elsewhere(searches: list[str]) -> None:
    shelf, plain = Shelf(), GcmKernel(128, "avx512", "winograd", "clmul1", 4)
    streams = replace(plain, streams=True)
    first = found(plain, shelf).found[f"{plain.name}_encrypt"]
    second = found(streams, shelf).found[f"{streams.name}_encrypt"]
    assert searches == [f"{plain.name}_encrypt"]
    told = [re.findall(r'"section .rodata", "[^"]*"', json.dumps(one)) for one in (first, second)]
    assert told[0] != told[1]
    assert len(told[0]) == len(told[1])


def test_a_wrong_one_is_refused_and_searched(searches: list[str]) -> None:
    shelf = Shelf()
    found(SHORT, shelf)
    (name,) = shelf
    for one in shelf[name]["assertions"].values():
        one["falls"] = "0"
    assert f"{LONG.name}_encrypt" in found(LONG, shelf).found
    assert searches == [f"{kernel.name}_encrypt" for kernel in (SHORT, LONG)]


def test_only_code_that_is_alike_has_the_same_name() -> None:
    def name(kernel: GcmKernel, operation: str) -> str:
        spec = statement(kernel, kernel.name, "sysv")
        (function,) = (f for f in spec.functions if f.operation == operation)
        return Alike(loaded(kernel), spec, function).name

    assert name(SHORT, "encrypt") == name(LONG, "encrypt")
    assert name(SHORT, "encrypt") != name(SHORT, "decrypt")
    assert name(SHORT, "seal") != name(SHORT, "open")


def test_instructions_between_jumps_may_stand_in_another_order() -> None:
    """The name of code tells what stands between two jumps, and not in which order."""
    spec = statement(SHORT, SHORT.name, "sysv")
    (function,) = (f for f in spec.functions if f.operation == "encrypt")
    image = loaded(SHORT)
    plain = Alike(image, spec, function)
    # Two neighbours of one block, of different kinds.
    pairs = zip(plain.marks, plain.marks[1:], strict=False)
    looks = looks_of(image, plain.entry)
    targets = {to for look in looks.values() for to in (look.ways or ())[1:]}
    j, k = next(
        (j, k) for j, k in pairs
        if plain.words[j] != plain.words[k] and not {plain.all[j], plain.all[k]} & targets
        and all(looks[plain.all[n]].ways == (looks[plain.all[n]].following,) for n in (j, k))
    )  # fmt: skip
    other = {plain.all[j]: plain.all[k], plain.all[k]: plain.all[j]}
    real = image.target.text
    image = replace(
        image, target=replace(image.target, text=lambda one, at: real(one, other.get(at, at)))
    )
    assert Alike(image, spec, function).name == plain.name
    del other[plain.all[k]]
    assert Alike(image, spec, function).name != plain.name


def test_a_place_is_counted_from_the_constant_that_it_is_near() -> None:
    """What it may be tells: its constant alone may be near another, as where a length is large."""
    one = Alike.__new__(Alike)
    one.entry, one.all, one.words, one.marks = 0, [0], ["mov"], [0]
    one.data = [("section .rodata", 576), ("section .rodata", 1504)]
    assertion = {
        "at": 0, "unknowns": {"length": [961, 976]}, "among": {}, "facts": [],
        "places": {"rdx": ["p", "section .rodata", "-1*length+1536"]}, "ghosts": {},
        "flags": "secret", "dirty": False, "level": 0, "falls": "0", "from": {},
    }  # fmt: skip
    lifted = one.lifted({"assertions": {"a": assertion}})
    assert lifted["assertions"]["a"]["places"]["rdx"] == ["p", "section 0", "-1*length+960"]
    one.data = [("section .rodata", 64), ("section .rodata", 128)]
    placed = one.placed(lifted)
    assert placed["assertions"]["a"]["places"]["rdx"] == ["p", "section .rodata", "-1*length+1024"]


@pytest.mark.parametrize("zeros", [False, True])
def test_a_number_that_is_0_may_be_unlike_any_other(zeros: bool) -> None:
    sight, seen = Sight.__new__(Sight), Seen.__new__(Seen)
    sight.zeros, seen.sums = zeros, {}
    seen.state = Checker(loaded(SHORT), meaning_of(SHORT), {}).begin()
    assert sight._kind(seen, "rax", 7) == "number"
    assert sight._kind(seen, "rax", 0) == (0 if zeros else "number")
