"""The page: the report's data as text for the template, and writing its folder."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from ghashgen.arch.decoder import CLASSES
from ghashgen.arch.registry import arches
from ghashgen.check.ledger import NAME as PROOFS
from ghashgen.choice.rule import RULE
from ghashgen.kernels import manifest
from ghashgen.lab.report.choice import (
    bound_rows,
    constants,
    costs,
    filters,
    of_lengths,
    proof_table,
    tabled,
    unrunnable,
    used_ports,
)
from ghashgen.lab.report.data import Report
from ghashgen.lab.report.gather import relative
from ghashgen.lab.report.plots import SPEED, Plot, plots, speed_plot
from ghashgen.lab.report.told import taken, told
from ghashgen.lab.report.topics import Topic
from ghashgen.lab.report.variants import columns, measured_elsewhere, rows
from ghashgen.support.files import make_folder, unwritten
from ghashgen.support.paths import project_root
from ghashgen.support.wording import counted, joined

PLOTS = ("instructions", "ports")
"""PNG files besides those of speed, without suffix; one without data is not written."""

SECTIONS = (
    ("take", "Which kernel"),
    ("proved", "Proved"),
    ("speed", "Speed"),
    ("instructions", "Instructions"),
    ("ports", "Ports"),
    ("variants", "Every kernel"),
    ("sources", "Sources"),
)


@dataclass(frozen=True)
class Links:
    """Where the page is, and what it links to."""

    out: Path
    kernels: Path
    root: Path
    pages: tuple[Topic, ...] = ()
    """The pages written together, including this one."""

    def to(self, path: Path) -> str:
        """Return the link from the page to a path."""
        return quote(relative(path, self.out))


@cache
def _table_source(name: str) -> str:
    """Return the file of a microarchitecture's table."""
    arch = next(arch.name for arch in arches().values() if name in arch.uarches())
    return f"ghashgen/arch/{arch}/uarch/{name.replace('-', '_')}.toml"


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(project_root() / "templates" / "report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )


def policy(script: str) -> str:
    """Return the content security policy: nothing from anywhere, except this one script."""
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def page(report: Report, drawn: Mapping[str, Plot], links: Links) -> str:
    """Return the page's HTML; `drawn` comes from `plots`."""
    folder = project_root() / "templates" / "report"
    script = (folder / "page.js").read_text(encoding="utf-8")
    style = (folder / "style.css").read_text(encoding="utf-8")
    svg = {
        name: {width: Markup(text) for width, text in plot.svg.items()}
        for name, plot in drawn.items()
    }
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            plots=svg,
            policy=policy(script),
            style=Markup(style),
            script=Markup(script),
            sections=SECTIONS,
            figures=_figures(report),
            proofs=proof_table(report),
            topic=replace(report.topic, way=f"{report.topic.way}: of kernels, {RULE}"),
            others=[topic for topic in links.pages if topic != report.topic],
            compared=any(variant.examined for variant in report.variants),
            proof_links=_proof_links(links),
            speeds=[told(speed) for speed in report.speeds],
            taken=[taken(speed, report) for speed in report.speeds],
            of_lengths=of_lengths,
            classes=CLASSES,
            costs=_costs(report),
            panels=_panels(report),
            table_sources=joined([_table_source(name) for name in report.uarches]),
            filters=filters(report.variants),
            constants=constants(report.variants),
            tabled=[speed.title for speed in tabled(report)],
            columns=columns(report),
            dagger=any(measured_elsewhere(report).values()),
            rows=rows(report, links.kernels, links.to),
            source_links=_source_links(report, links),
        )
    )  # fmt: skip


def _figures(report: Report) -> list[dict[str, str]]:
    """Return the figures in the headline."""
    proofs = proof_table(report)
    out = [
        {
            "figure": f"{proofs.kernels}",
            "unit": f"of {counted(len(report.variants), 'kernel')}",
            "what": "proved from their bytes, for every key, state, message and length",
        },
        {
            "figure": f"{proofs.theorems}",
            "unit": "theorems",
            "what": f"{joined([row.what for row in proofs.rows] or ['of no kind'])}; "
            f"assembled by {joined(report.assemblers)}",
        },
    ]
    kernels = [v for v in report.variants if report.topic.compares(v.axes)]
    if kernels:
        least = min(kernels, key=lambda v: (v.total_per_block, v.name))
        out.append(
            {
                "figure": f"{float(least.total_per_block):.2f}",
                "unit": "instructions per block",
                "what": f"the fewest of {_article(report.topic.title)} kernel: {least.name}",
            }
        )
    return out


def _article(title: str) -> str:
    """Return a title with its article, as pronounced."""
    return f"{'an' if title[0] in 'AEIOU' else 'a'} {title}"


# -- sections -------------------------------------------------------------------------------------


def _costs(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "name": variant.name,
            "figures": [
                *(f"{float(variant.per_block[cls]):.2f}" for cls in CLASSES),
                f"{float(variant.total_per_block):.2f}",
            ],
        }
        for variant in costs(report)
    ]


def _panels(report: Report) -> list[dict[str, Any]]:
    panels = []
    for name, title in report.uarches.items():
        found, ports = bound_rows(report, name), used_ports(report, name)
        if not found:
            continue
        panel_rows = []
        for variant, bound in found:
            limit = set(bound.limit.split())
            loads = [(bound.load.get(alike[0], 0.0), alike[0] in limit) for alike in ports]
            loads.append((bound.front_end, bound.limit == "front end"))
            panel_rows.append(
                {
                    "isa": variant.axes["isa"],
                    "name": variant.name,
                    "bound": f"{bound.per_block:.2f}",
                    "cells": [
                        {
                            "figure": f"{load:.2f}",
                            "part": f"{load / bound.per_block:.3f}",
                            "limit": limiting,
                        }
                        for load, limiting in loads
                    ],
                }
            )
        used = {port for alike in ports for port in alike}
        panels.append(
            {
                "name": name,
                "title": title,
                "ports": [" ".join(alike) for alike in ports],
                "unused": [port for port in report.ports[name] if port not in used],
                "rows": panel_rows,
                "notes": _panel_notes(report, name),
            }
        )
    return panels


def _panel_notes(report: Report, uarch: str) -> list[str]:
    lacks = unrunnable(report, uarch)
    no_data = sorted({form for _, bound in bound_rows(report, uarch) for form in bound.no_data})
    out = [f"{isa}: this CPU lacks {joined(missing)}." for isa, missing in lacks.items()]
    if no_data:
        out.append(f"The bound leaves out forms without data: {'; '.join(no_data)}.")
    return out


# -- links ----------------------------------------------------------------------------------------


def _proof_links(links: Links) -> list[dict[str, str]]:
    wanted = (
        (links.kernels / PROOFS, f"{PROOFS}, every theorem"),
        (links.root / "SOUNDNESS.md", "SOUNDNESS.md, what “proved” means and what is trusted"),
        (links.root / "docs" / "expected-theorems.txt", "the hand-kept list of expected theorems"),
    )
    return [{"href": links.to(path), "text": text} for path, text in wanted if path.exists()]


def _source_links(report: Report, links: Links) -> list[dict[str, str]]:
    wanted = [
        (links.kernels / manifest.NAME, "axes, counts, tables, hashes, commands that regenerate"),
        (links.kernels / PROOFS, "theorems by kernel, function, lengths and method"),
        (links.root / "ghashgen" / "uarch", "tables of ports and latencies"),
        (links.root / "README.md", "how to generate, check and vendor a kernel"),
    ]
    out = [
        {"href": links.to(path), "text": path.name, "what": what}
        for path, what in wanted
        if path.exists()
    ]
    for name in (*(speed_plot(speed) for speed in report.speeds), *PLOTS):
        file = f"{report.topic.prefix}{name}.png"
        out.append({"href": file, "text": file, "what": "the plot alone"})
    return out


# -- files ----------------------------------------------------------------------------------------


def write(report: Report, links: Links) -> tuple[Path, ...]:
    """Draw, then write the page and the PNG files, all or none; return their paths.

    Raises:
        GhashgenError: the folder cannot be written; nothing has changed then.
    """
    # Checked before anything that takes time.
    make_folder(links.out, "choose another --out")
    drawn = plots(report)
    prefix = report.topic.prefix
    files = {report.topic.page: page(report, drawn, links).encode()}
    files |= {f"{prefix}{name}.png": plot.png for name, plot in drawn.items()}
    pending = {links.out / f".{name}.new": links.out / name for name in files}
    try:
        for unfinished, path in pending.items():
            unfinished.write_bytes(files[path.name])
        for unfinished, path in pending.items():
            unfinished.replace(path)
        for path in links.out.glob("*.png"):
            # What an earlier report drew and this one does not.
            own = path.stem.startswith(tuple(prefix + name for name in (SPEED, *PLOTS)))
            if own and path.name not in files:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritten(links.out, error, "choose another --out") from None
    finally:
        for unfinished in pending:
            unfinished.unlink(missing_ok=True)
    return tuple(pending.values())
