"""The sections of CONTRIBUTING.md that add something, each followed to its end in a copy."""

import re
import sys
from collections.abc import Iterator

import pytest
from helpers.cpus import AS_FOUND
from helpers.following import FENCE, Follower

from ghashgen.arch.registry import uarches
from ghashgen.check.additions import lacks
from ghashgen.support.paths import project_root

PAGE = (project_root() / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (An? .*)\n((?:(?!^## ).*\n)*)", PAGE, re.MULTILINE))


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> Follower:
    return Follower(tmp_path_factory.mktemp("stories"), {"pytest": f"{sys.executable} -m pytest"})


@pytest.fixture
def clean(follower: Follower) -> Iterator[Follower]:
    """The copy, which is as it was afterwards."""
    before = follower.files()
    yield follower
    follower.restore(before)


def test_the_stories_are_these() -> None:
    assert list(SECTIONS) == [
        "A reduction", "A multiply scheme", "A function", "An instruction", "An instruction set",
        "A syntax", "A microarchitecture", "A family",
    ]  # fmt: skip


ON_TRIAL = ("instruction vpcmpuq",)
"""What only groups of messages of different lengths need: no kernel of the catalogue has them."""

OUTSIDE = ("family given",)
"""Families without a kernel in the catalogue: nothing measures, tunes or recommends theirs."""


def test_the_tree_lacks_only_what_no_loop_has() -> None:
    """Cores without numbers for the edges of functions and for partial blocks."""
    found = [lack for lack in lacks() if lack.addition not in ON_TRIAL + OUTSIDE]
    assert [lack.addition for lack in found] == [f"core {name}" for name in uarches()]
    for lack in found:
        forms = lack.lacks.removeprefix("uops and latency of ").split("; ")
        edges = ("endbr64", "ret", "mov", "vmov", "pextr", "vpextr", "pcmpgtb", "vpcmpgtb")
        many = ("kmov", "vpcmpuq", "vextracti64x2 m128")
        assert all(form.startswith((*edges, *many, "vextracti128 m128")) for form in forms)


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("title", SECTIONS)
def test_a_story_is_true_to_its_end(title: str, clean: Follower) -> None:
    assert "text" in {kind for kind, _ in FENCE.findall(SECTIONS[title])}
    clean.follow(SECTIONS[title])
