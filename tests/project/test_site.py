"""The site: every page in a section, every link and formula right, and readable in a browser."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from helpers.browsing import CONTRAST, OVERFLOW, opened
from markdown_it import MarkdownIt

from ghashgen.support.paths import project_root

ROOT = project_root()
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
CONFIG = "docs/site/mkdocs.yml"
NEEDED = ("mkdocs", "material", "latex2mathml")
FORMULAS = "That is $x^{128} < y$, and `$HOME` or $5 is no formula.\n\n$$\na + b\n$$"
REPORT = '<a href="../../SOUNDNESS.md">a</a> <a href="../../LICENSE">b</a>'

if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
    pytest.skip(f"no {', '.join(missing)}: pip install -e '.[docs]'", allow_module_level=True)


def build(clone: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", clone / CONFIG, "-d", out],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def cloned(clone: Path) -> Path:
    """Copy the pages and what they may link to, with a report."""
    shutil.copytree(ROOT / "docs", clone / "docs")
    for path in (*ROOT.glob("*.md"), ROOT / "LICENSE"):
        shutil.copy(path, clone)
    (clone / "build" / "report").mkdir(parents=True)
    (clone / "build" / "report" / "report.html").write_text(REPORT, encoding="utf-8")
    return clone


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return cloned(tmp_path / "clone")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with a report and with formulas of the test's own."""
    folder = tmp_path_factory.mktemp("site")
    clone = cloned(folder / "clone")
    plant(clone, "docs/glossary.md", FORMULAS)
    done = build(clone, folder / "site")
    assert done.returncode == 0, done.stderr
    return folder / "site"


def shown(page: Path, site: Path) -> Path:
    """Where the site has a page."""
    path = page.relative_to(ROOT)
    if path.name == "README.md":
        return site / path.with_name("index.html")
    return site / path.with_suffix(".html")


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# -- what is built --------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Counts the elements of a page's article, or of all that it is given."""

    def __init__(self, article: bool) -> None:
        super().__init__()
        self.inside = not article
        self.found: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside = self.inside or tag == "article"
        self.found[tag] += self.inside

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "article"


def elements(text: str, article: bool) -> dict[str, int]:
    parser = Elements(article)
    parser.feed(text)
    return {tag: parser.found[tag] for tag in ("h1", "h2", "h3", "ul", "ol", "li", "td", "pre")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_the_lists_and_tables_that_github_shows(page: Path, site: Path) -> None:
    theirs = MarkdownIt("commonmark").enable("table").render(page.read_text(encoding="utf-8"))
    ours = shown(page, site).read_text(encoding="utf-8")
    assert elements(ours, article=True) == elements(theirs, article=False)


def test_the_same_pages_give_the_same_bytes(clone: Path, tmp_path: Path) -> None:
    for out in ("a", "b"):
        assert build(clone, tmp_path / out).returncode == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_the_report_is_of_the_site_and_its_links_lead_there(site: Path) -> None:
    report = (site / "report" / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', report)
    assert links == ["../SOUNDNESS.html", "../LICENSE"]
    assert all((site / "report" / link).is_file() for link in links)
    page = (site / "docs" / "report.html").read_text(encoding="utf-8")
    assert 'href="../report/report.html"' in page


def test_a_formula_is_mathml(site: Path) -> None:
    text = (site / "docs" / "glossary.html").read_text(encoding="utf-8")
    assert text.count("<math") == 2
    assert "<msup>" in text
    assert "<code>$HOME</code> or $5 is no formula" in text


def plant(clone: Path, name: str, line: str) -> None:
    page = clone / name
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    page.write_text(f"{before}\n{line}\n", encoding="utf-8")


WARNED = (
    ("docs/glossary.md", "[x](none.md)", "contains a link 'none.md'"),
    ("docs/glossary.md", "[x](gcm.md#none)", "does not contain an anchor '#none'"),
    ("README.md", "[x](docs/none.c)", "contains a link 'docs/none.c'"),
    ("docs/astray.md", "# Astray", "docs/astray.md"),
)


def test_every_fault_of_a_link_fails_the_build(clone: Path, tmp_path: Path) -> None:
    """All in one build, which counts the warnings for which it fails: one for each."""
    for name, line, _ in WARNED:
        plant(clone, name, line)
    done = build(clone, tmp_path / "site")
    assert done.returncode != 0
    assert f"Aborted with {len(WARNED)} warnings in strict mode" in done.stdout + done.stderr
    assert all(why in done.stderr for _, _, why in WARNED), done.stderr


@pytest.mark.parametrize("tex", ["\\fracture{1}", "x^{1", "\\left( x"])
def test_a_wrong_formula_fails_the_build(clone: Path, tmp_path: Path, tex: str) -> None:
    plant(clone, "docs/glossary.md", f"So ${tex}$ is no formula.")
    done = build(clone, tmp_path / "site")
    assert done.returncode != 0
    assert f"no formula: {tex}" in done.stderr


# -- in a browser ---------------------------------------------------------------------------------

TEXTS = (
    *(".md-typeset h1", ".md-typeset p", ".md-typeset li", ".md-typeset :is(p, li, td) a"),
    *(".md-typeset th", ".md-typeset td", ".md-typeset code", ".md-typeset pre span"),
    *(".md-tabs__link", ".md-nav--primary .md-nav__link", ".md-header__topic span"),
)
"""Texts whose contrast is computed."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def look(
    browser: Any, address: str, pages: Sequence[Path], width: int, scheme: str
) -> dict[str, dict[str, Any]]:
    """What is wrong with each page, by name."""
    wrong = {}
    with opened(browser, "about:blank", width, address, color_scheme=scheme) as (found, seen):
        for page in pages:
            for noted in (seen.sent, seen.failed, seen.console):
                noted.clear()
            found.goto(address + shown(page, ROOT).relative_to(ROOT).as_posix())
            contrast = found.evaluate(CONTRAST, TEXTS)
            state = {
                "overflow": found.evaluate(OVERFLOW),
                "pale": {name: ratio for name, ratio in contrast.items() if 0 < ratio < 4.5},
                "sent outside": list(seen.sent),
                "failed": list(seen.failed),
                "console": list(seen.console),
                "images": found.evaluate(BROKEN),
                "torn": found.evaluate(TORN),
            }
            if state != GOOD:
                wrong[page.name] = state
    return wrong


SHARES = 16
"""The pages are looked at in so many shares, one after the other."""

BROKEN = "Array.from(document.images).filter((image) => !image.naturalWidth).map((i) => i.src)"
TORN = """Array.from(document.querySelectorAll("td code"))
  .filter((code) => /^\\w+$/.test(code.textContent) && code.getClientRects().length > 1)
  .map((code) => code.textContent)"""
"""Names in tables that stand on several lines."""

GOOD = {
    "overflow": 0,
    "pale": {},
    "sent outside": [],
    "failed": [],
    "console": [],
    "images": [],
    "torn": [],
}


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (1280, "dark")])
def test_every_page_in_a_browser(
    browser: Any, address: str, width: int, scheme: str, share: int
) -> None:
    assert look(browser, address, PAGES[share::SHARES], width, scheme) == {}


def test_faults_are_seen(browser: Any, address: str, site: Path) -> None:
    page = ROOT / "docs" / "astray.md"
    fault = (
        '<article class="md-typeset"><p style="color: #ccc">x</p><div style="width: 3000px">x'
        '</div><table><td style="word-break: break-all; width: 1px"><code>ab</code></table>'
        '<img src="none.svg"><img src="http://192.0.2.1/x.png"></article>'
    )
    shown(page, site).write_text(fault, encoding="utf-8")
    found = look(browser, address, [page], 390, "light")[page.name]
    shown(page, site).unlink()
    assert all(found[what] != good for what, good in GOOD.items())


@pytest.mark.parametrize("disk", [False, True], ids=["served", "from disk"])
def test_a_search_finds_a_page_and_the_scheme_can_be_chosen(
    browser: Any, address: str, site: Path, disk: bool
) -> None:
    base = f"{site.as_uri()}/" if disk else address
    with opened(browser, f"{base}index.html", 1280, base, color_scheme="light") as (page, seen):
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.locator("label[for=__palette_1]:visible").click()
        page.wait_for_function("document.body.dataset.mdColorScheme === 'slate'")
        assert page.evaluate(ground) != light
        page.locator("input[name=query]").click()
        page.keyboard.type("accumulator")
        result = page.locator(".md-search-result__link").first
        result.wait_for()
        assert (result.get_attribute("href") or "").startswith(base)
        assert (seen.console, seen.sent, seen.failed) == ([], [], [])
