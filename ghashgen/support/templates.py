"""The templates: envelopes of assembly, headers and tables. None contains an instruction."""

from functools import cache

import jinja2

from ghashgen.support.paths import project_root


@cache
def environment() -> jinja2.Environment:
    """Return the template environment over templates/."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(project_root() / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # assembly and C, never HTML
    )
