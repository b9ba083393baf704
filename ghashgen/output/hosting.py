"""Renders the files that a host adds to a folder of kernels: build files, glue, a test, a page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ghashgen import __version__
from ghashgen.kernels.core import Point
from ghashgen.kernels.target import Target
from ghashgen.output.hosts.core import Host
from ghashgen.support.templates import environment


def named(templates: Mapping[str, str], target: Target) -> dict[str, str]:
    """Return a host's templates by their paths for a target."""
    return {name.format(library=target.library): each for name, each in templates.items()}


def values_of(host: Host, target: Target, kernels: Sequence[Point]) -> dict[str, Any]:
    """Return what every template of a host may use."""
    return {"library": target.library, "version": __version__, **host.values(kernels)}


def render_host(
    host: Host,
    files: Iterable[str],
    targets: Sequence[Target],
    kernels: Sequence[Point],
    *,
    threads: bool,
    build_files: bool = True,
) -> dict[str, str]:
    """Return a host's own files, text by path below the folder.

    `files` are the paths of the folder's other files, those of kernels below a folder for each
    format if there are several `targets`. `threads` says whether the thread pool is
    among them, `build_files` whether the host's build files are wanted.
    """
    target = targets[0]
    suffix = f".{target.syntax.suffix}"
    own = sorted(files)
    assembly = [file for file in own if file.endswith(suffix)]
    several = len(targets) > 1
    if several:
        assembly = sorted({file.partition("/")[2] for file in assembly})
    values = {
        **values_of(host, target, kernels),
        "nasm": suffix == ".asm",
        "format": target.fmt.name,
        "several": several,
        "kernels": assembly,
        "sources": [file for file in own if file.endswith(".c")],
        "threads": threads,
        "test": host.test.format(library=target.library),
        "build_files": build_files,
    }
    wanted = {**host.files, **(host.build_files if build_files else {})}
    return {
        name: environment().get_template(template).render(values)
        for name, template in named(wanted, target).items()
    }
