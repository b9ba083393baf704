"""The report in a real browser: light and dark, narrow and wide, without a network."""

from pathlib import Path
from typing import Any

import pytest
from helpers.browsing import CONTRAST, OVERFLOW, opened
from helpers.reporting import NAMES, Folder, keep, make_folder, results

from ghashgen.lab.report.gather import gather
from ghashgen.lab.report.page import Links, write
from ghashgen.records.records import write_record
from ghashgen.support.paths import project_root

SCHEMES, WIDTHS = ("light", "dark"), (360, 1600)
TEXTS = (
    *("h1", "h2", ".lede", "nav a", "figcaption", "caption", "p", ".figures dt", ".figures dd"),
    *("thead th", "tbody th a", "tbody td", ".heat td", ".limit", ".model", ".unit", ".ok", ".bad"),
    *("legend", ".chip span", ".search button", "output", ".notes li"),
)
"""Texts whose contrast is computed."""

DRAWINGS = """Array.from(document.querySelectorAll("figure svg"))
  .map((svg) => svg.getBoundingClientRect()).filter((box) => box.width > 0 && box.height > 0)
  .map((box) => [box.width, box.height])"""
SHOWN = """Array.from(document.querySelectorAll("#variants-table tbody tr"))
  .filter((row) => row.offsetHeight > 0).map((row) => row.cells[0].textContent.trim())"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return make_folder(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def address(folder: Folder) -> str:
    """The page of a small folder, every part of it present."""
    keep(results(gather(folder.sources(None))), folder.bench)
    report = gather(folder.sources(folder.bench))
    path, *_ = write(report, Links(folder.root / "out", folder.kernels, project_root()))
    return path.as_uri()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_in_each_setting(
    browser: Any, address: str, tmp_path: Path, scheme: str, width: int
) -> None:
    with opened(browser, address, width, color_scheme=scheme) as (page, seen):
        assert page.evaluate(OVERFLOW) == 0
        found = page.evaluate(CONTRAST, TEXTS)
        assert {name: ratio for name, ratio in found.items() if ratio < 4.5} == {}
        drawings = page.evaluate(DRAWINGS)
        # Speed and instructions, each in the one size that fits the window.
        assert len(drawings) == 2
        assert all(200 < wide <= width and high > 100 for wide, high in drawings)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(252, 252, 250)") == (scheme == "light")
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert (tmp_path / "page.png").stat().st_size > 10_000
        assert seen.requests == [address]
        assert seen.console == []


def test_filters_sorting_and_the_address(browser: Any, address: str) -> None:
    with opened(browser, address) as (page, seen):
        count = page.locator("#count")
        everything = page.evaluate(SHOWN)
        assert sorted(everything) == sorted(NAMES)
        assert count.inner_text() == f"{len(NAMES)} of {len(NAMES)} kernels"

        # By keyboard alone: the label is no control, the box is.
        box = page.get_by_role("group", name="isa").get_by_role("checkbox", name="avx", exact=True)
        box.focus()
        page.keyboard.press("Space")
        avx = [name for name in NAMES if "_avx_" in name or name.startswith("paper")]
        assert sorted(page.evaluate(SHOWN)) == sorted(avx)
        assert count.inner_text() == f"{len(avx)} of {len(NAMES)} kernels"
        page.get_by_label("words in name").fill("winograd wipe")
        assert page.evaluate(SHOWN) == ["ghash_avx_winograd_clmul1_x16_wipe"]
        page.get_by_label("words in name").fill("")

        head = page.locator("th[data-key=code]")
        head.get_by_role("button").click()
        rising = page.evaluate(SHOWN)
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert page.evaluate(SHOWN) == rising[::-1] != rising

        where = page.url
        with opened(browser, where) as (other, _):
            assert other.evaluate(SHOWN) == rising[::-1]
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function("!location.hash.includes('=')")
        assert page.evaluate(SHOWN) == everything
        assert seen.console == []


def test_no_match_is_said_and_can_be_undone(browser: Any, address: str) -> None:
    with opened(browser, address) as (page, _):
        assert not page.locator("#none").is_visible()
        page.get_by_label("words in name").fill("no such kernel")
        assert page.locator("#none").is_visible()
        assert page.get_by_text("No kernel matches").is_visible()
        assert not page.locator("#variants-table").is_visible()
        page.get_by_role("button", name="Show all").click()
        page.wait_for_function("document.getElementById('none').hidden")
        assert sorted(page.evaluate(SHOWN)) == sorted(NAMES)


CLIPPED = """Array.from(document.querySelectorAll(".scroll"))
  .filter((box) => box.offsetHeight > 0 && box.scrollWidth > box.clientWidth + 1)
  .map((box) => getComputedStyle(box, "::before").content)"""


def test_on_a_phone(browser: Any, address: str) -> None:
    with opened(browser, address, 390) as (page, _):
        assert not page.get_by_role("group", name="isa").is_visible()
        page.locator("#fold > summary").click()
        assert page.get_by_role("group", name="isa").is_visible()
        hints = page.evaluate(CLIPPED)
        assert hints
        assert all("scroll" in hint for hint in hints)
        plot = page.locator("#speed figure .narrow svg").bounding_box()
        lines = page.evaluate(
            """Math.max(...Array.from(document.querySelectorAll("#speed figure .narrow svg path"))
            .map((path) => path.getBoundingClientRect().width))"""
        )
        assert plot is not None
        # Labels stand below: the lines have most of the width.
        assert lines > 0.75 * plot["width"] > 200
    with opened(browser, address) as (page, _):
        assert page.get_by_role("group", name="isa").is_visible()


NAMES_CUT = """Array.from(document.querySelectorAll("#take td.mono:nth-of-type(1)"))
  .filter((cell) => cell.offsetHeight > 0)
  .map((cell) => cell.getBoundingClientRect().right - cell.closest(".scroll")
    .getBoundingClientRect().right)"""


def test_no_name_of_a_kernel_is_cut_on_a_phone(browser: Any, address: str) -> None:
    with opened(browser, address, 390) as (page, _):
        beyond = page.evaluate(NAMES_CUT)
        assert beyond
        assert max(beyond) <= 0


def test_one_cpu_at_a_time(browser: Any, tmp_path: Path, folder: Folder) -> None:
    paths = [write_record(results(), slug, tmp_path) for slug in ("cpu-a", "cpu-b")]
    report = gather(folder.sources(*paths))
    write(report, Links(tmp_path / "page", folder.kernels, project_root()))
    address = (tmp_path / "page" / "report.html").as_uri()
    shown = """Array.from(document.querySelectorAll("[data-cpu]"))
      .filter((part) => part.offsetHeight > 0).map((part) => part.dataset.cpu)"""
    with opened(browser, address) as (page, seen):
        assert page.evaluate(shown) == ["cpu-a", "cpu-a"]
        page.locator("#cpus input[value=cpu-b]").check(force=True)
        assert page.evaluate(shown) == ["cpu-b", "cpu-b"]
        assert seen.console == []
    with opened(browser, address, java_script_enabled=False) as (page, _):
        assert sorted(page.evaluate(shown)) == ["cpu-a", "cpu-a", "cpu-b", "cpu-b"]


def test_what_is_not_there_sorts_last_either_way(browser: Any, address: str) -> None:
    with opened(browser, f"{address}#sort=measured-16384") as (page, _):
        rising = page.evaluate(SHOWN)
        page.locator("th[data-key=measured-16384] button").click()
        falling = page.evaluate(SHOWN)
        assert rising[:2] == falling[1::-1] == [NAMES[3], NAMES[5]]
        assert sorted(rising[2:]) == sorted(falling[2:])


def test_the_table_is_whole_without_scripts(browser: Any, address: str) -> None:
    with opened(browser, address, java_script_enabled=False) as (page, _):
        assert page.locator("#variants-table tbody tr").count() == len(NAMES)
        assert page.locator("#variants-table").is_visible()
        assert not page.locator("#filters").is_visible()
        assert page.get_by_text("need JavaScript").is_visible()


def test_faults_are_noticed(browser: Any, address: str, tmp_path: Path) -> None:
    """An outside image, a wide element and a pale text, each with and without the policy."""
    text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    fault = (
        '<img src="http://127.0.0.1:8080/x.png" alt=""><div style="width: 3000px">x</div>'
        '<p id="pale" style="color: #ccc">x</p></body>'
    )
    guarded = text.replace("</body>", fault)
    for name, html in (
        ("guarded", guarded),
        ("open", guarded.replace("Content-Security-Policy", "none")),
    ):
        path = tmp_path / f"{name}.html"
        path.write_text(html, encoding="utf-8")
        with opened(browser, path.as_uri(), color_scheme="light") as (page, seen):
            assert bool(seen.sent) == (name == "open")
            assert len(seen.requests) == 2
            assert seen.console
            assert page.evaluate(OVERFLOW) > 1000
            assert page.evaluate(CONTRAST, ["#pale"])["#pale"] < 2
