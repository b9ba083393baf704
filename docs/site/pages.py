"""MkDocs' hook: every page lies where it lies in the project, so that a link works here and there.

MkDocs wants its pages in one folder. The project's are README.md and its neighbours, and docs/; the
hook hands MkDocs those files under their own paths, and with them each file that they link to.
"""

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

REPORT = "build/report"
"""Where `ghashgen report` writes; the site has its pages in report/."""

LINK = re.compile(r"\]\(([^)\s#]+)|(?:src|srcset|href)=\"([^\"#]+)")
UP = re.compile(r'href="\.\./\.\./([^"#]+)')
ITEM, FENCE = re.compile(r"(?:[-*]|\d+\.) +"), re.compile(r"\s*(```+|~~~+)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def pages(root: Path = ROOT) -> dict[str, Path]:
    """Return every page by its path in the project."""
    found = [*root.glob("*.md"), *(root / "docs").glob("*.md")]
    return {path.relative_to(root).as_posix(): path for path in sorted(found)}


def linked(path: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield the paths of the files in the project that a page links to."""
    for groups in LINK.findall(path.read_text(encoding="utf-8")):
        target = Path(os.path.normpath(path.parent / "".join(groups)))
        if target.is_file() and target.is_relative_to(root):
            yield target.relative_to(root).as_posix()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the same input give the same bytes: no page says when it was built."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, what they link to, and the report where it was written."""
    own = pages()
    beside = {uri for path in own.values() for uri in linked(path)}
    texts = dict(_report(set(own)))
    beside |= {uri for text in texts.values() for uri in UP.findall(text) if (ROOT / uri).is_file()}
    for uri in sorted(own.keys() | beside):
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / uri)))
    for uri, text in texts.items():
        content = text.replace('href="../../', 'href="../')
        files.append(File.generated(config, uri, content=content))
    return files


def _report(own: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the report's pages; a link of theirs to a page of the project leads to the site's."""

    def to_page(found: re.Match[str]) -> str:
        page = found[0].replace(".md", ".html")
        return page if found[1] in own else found[0]

    for path in sorted((ROOT / REPORT).glob("*.html")):
        yield f"report/{path.name}", UP.sub(to_page, path.read_text(encoding="utf-8"))


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Put the report into the section of the page that describes it."""
    for section in nav.items:
        if isinstance(section, Section) and any(_describes(item) for item in section.children):
            for file in files:
                if file.src_uri.startswith("report/"):
                    title = "Report, AES-GCM" if "gcm" in file.name else "Report, GHASH"
                    section.children.append(Link(title, file.url))
    return nav


def _describes(item: object) -> bool:
    return isinstance(item, Page) and item.file.src_uri == "docs/report.md"


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Indent what belongs to an item of a list by four, as MkDocs asks; GitHub takes less."""
    return "\n".join(indented(text.splitlines())) + "\n"


def indented(lines: list[str]) -> list[str]:
    """Return Markdown with the content of each item of a list behind four spaces."""
    found: list[str] = []
    at, fence = 0, ""
    while at < len(lines):
        line = lines[at]
        at += 1
        found.append(line)
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        item = None if fence else ITEM.match(line)
        if item is None:
            continue
        width, start = item.end(), at
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith(" " * width)):
            at += 1
        inside = indented([inner[width:] for inner in lines[start:at]])
        found += [f"    {inner}" if inner else "" for inner in inside]
    return found


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn TeX between dollars, as GitHub shows it too, into MathML: browsers need no script."""

    def formula(found: re.Match[str]) -> str:
        return mathml(html.unescape(found[2]), "block" if found[1] == "div" else "inline", page)

    return FORMULA.sub(formula, text)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the index of the search as a script too: a page opened from disk may read no JSON."""
    index = Path(config.site_dir, "search", "search_index.json")
    text = f"var __index = {index.read_text(encoding='utf-8')}"
    index.with_suffix(".js").write_text(text, encoding="utf-8")


def mathml(tex: str, display: str, page: Page) -> str:
    """Return a formula as MathML; refuse what the converter does not know and would print."""
    try:
        made = convert(tex, display=display)
    except Exception as error:
        raise PluginError(f"{page.file.src_uri}: no formula: {tex}: {error!r}") from error
    if "\\" in made or tex.count("{") != tex.count("}"):
        raise PluginError(f"{page.file.src_uri}: no formula: {tex}")
    return f'<div class="formula">{made}</div>' if display == "block" else made
