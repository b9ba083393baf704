"""What families bring to other rooms, and the one message about what they do not bring."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.plugging import plugged

from ghashgen import kernels as package
from ghashgen.kernels.facets import FACETS
from ghashgen.kernels.families import brought, facet_of, families
from ghashgen.kernels.selection import Choice, look_up
from ghashgen.support.errors import GhashgenError
from ghashgen.support.registry import modules_of

ROOT = Path(__file__).parents[2]

PLANTED = """
from dataclasses import replace
from ghashgen.kernels.hash.family import FAMILY as MODEL

FACETS = {{**MODEL.facets, {changes}}}
FACETS = {{k: v for k, v in FACETS.items() if v is not None}}
FAMILY = replace(MODEL, name="{name}", order=90, facets=FACETS)
"""

Plant = Callable[[str, str], None]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """Add a folder of kernels whose module `family` has this text."""

    def add(folder: str, family: str) -> None:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        if family:
            (tmp_path / folder / "family.py").write_text(family, encoding="utf-8")
        importlib.invalidate_caches()

    for _ in plugged(package, tmp_path, monkeypatch):
        yield add


def lacking(facet: str, folder: str) -> str:
    return PLANTED.format(changes=f'"{facet}": None', name=folder)


def test_every_family_brings_every_facet() -> None:
    # Kernels of hosts are in no catalogue: nothing chooses among them.
    of_hosts = families()["given"]
    for facet in FACETS:
        every = ["hash", "gcm", "ctr", *["given"] * (facet in of_hosts.facets)]
        assert list(brought(facet)) == every
    for family in families().values():
        assert family.facets.keys() == FACETS.keys() or family is of_hosts
    assert of_hosts.facets.keys() == {"claims", "validation"}


@pytest.mark.parametrize("facet", FACETS)
def test_a_family_without_a_facet_is_told_so(facet: str, plant: Plant) -> None:
    name = f"toy_no_{facet}"
    plant(name, lacking(facet, name))
    assert name not in brought(facet)
    with pytest.raises(GhashgenError) as refusal:
        facet_of(name, facet)
    told = str(refusal.value)
    assert told.startswith(f"family {name} brings no {facet} (")
    assert f", which {FACETS[facet].verb} needs; name its " in told
    with pytest.raises(GhashgenError) as refusal:
        look_up(Choice(family=(name,)), facet)
    assert str(refusal.value).startswith(f"family {name} does not fit: it brings no {facet}; ")
    for other in FACETS.keys() - {facet}:
        assert facet_of(name, other) is facet_of("hash", other)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (
            "ghashgen.check.claims.toy",
            "the claims of family toy_wrong: there is no module ghashgen.check.claims.toy; "
            "add it; it must export CLAIMS",
        ),
        (
            "ghashgen.check.no.such.folder",
            "the claims of family toy_wrong: there is no module ghashgen.check.no.such.folder; "
            "add it; it must export CLAIMS",
        ),
        (
            "ghashgen.check.claims.core",
            "the claims of family toy_wrong: ghashgen.check.claims.core exports no CLAIMS; "
            "add it, or move the module away",
        ),
    ],
)
def test_a_facet_that_is_named_wrongly_is_refused(module: str, told: str, plant: Plant) -> None:
    plant("toy_wrong", PLANTED.format(changes=f'"claims": "{module}"', name="toy_wrong"))
    with pytest.raises(GhashgenError) as refusal:
        brought("claims")
    assert str(refusal.value) == told


def test_a_facet_that_no_verb_knows_is_refused(plant: Plant) -> None:
    plant("toy_more", PLANTED.format(changes='"claim": "ghashgen"', name="toy_more"))
    with pytest.raises(GhashgenError, match="family toy_more brings 'claim', which no verb knows"):
        facet_of("toy_more", "claims")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no module ghashgen.kernels.toy_none.family; add it; it must export FAMILY"),
        ("family = 1\n", "ghashgen.kernels.toy_none.family exports no FAMILY"),
        (PLANTED.format(changes="", name="gcm"), "ghashgen.kernels has two entries of the name"),
    ],
    ids=["no module", "no value", "two of a name"],
)
def test_a_folder_that_is_no_family_is_not_passed_over(text: str, told: str, plant: Plant) -> None:
    plant("toy_none", text)
    with pytest.raises(GhashgenError) as refusal:
        families()
    assert str(refusal.value).startswith(told)


def test_every_module_of_a_folder_of_facets_is_named_by_a_family() -> None:
    named = {module for family in families().values() for module in family.facets.values()}
    for folder in (
        "ghashgen.choice.families",
        "ghashgen.check.attack.families",
        "ghashgen.lab.bench.families",
        "ghashgen.lab.report.families",
        "ghashgen.lab.tune.families",
    ):
        modules = set(modules_of(importlib.import_module(folder))) - {"registry"}
        assert modules
        assert {f"{folder}.{module}" for module in modules} <= named


def test_every_dispatcher_has_its_templates() -> None:
    for part in brought("dispatcher").values():
        for end in ("c", "h"):
            assert (ROOT / "templates" / f"ghashgen{part}_dispatch.{end}.j2").is_file()


def test_one_module_looks_into_folders() -> None:
    """The folder scan is `support.registry`'s."""
    scanning = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "ghashgen").rglob("*.py")
        if "iter_modules" in path.read_text(encoding="utf-8")
    }
    assert scanning == {"ghashgen/support/registry.py"}
