"""Renders the files that a host adds to a folder of kernels: build files and glue."""

from collections.abc import Iterable

from ghashgen import __version__
from ghashgen.kernels.target import Target
from ghashgen.output.hosts.core import Host
from ghashgen.support.templates import environment


def render_host(host: Host, files: Iterable[str], target: Target, threads: bool) -> dict[str, str]:
    """Return a host's own files, text by path below the folder.

    `files` are the paths of the folder's other files, `threads` says whether the thread pool is
    among them.
    """
    suffix = f".{target.syntax.suffix}"
    own = sorted(files)
    values = {
        "library": target.library,
        "version": __version__,
        "nasm": suffix == ".asm",
        "format": target.fmt.name,
        "kernels": [file for file in own if file.endswith(suffix)],
        "sources": [file for file in own if file.endswith(".c")],
        "threads": threads,
    }
    return {
        name.format(library=target.library): environment().get_template(template).render(values)
        for name, template in host.files.items()
    }
