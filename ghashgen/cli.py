"""The command line: `ghashgen VERB`; every module of `ghashgen.commands` exports a verb as COMMAND.

Exit status: 0 done; 2 refused, or a proof, validation or comparison failed (one line says which);
130 interrupted.
"""

import importlib
import pkgutil
import sys

import click

from ghashgen import __version__, commands
from ghashgen.errors import GhashgenError

REFUSED, INTERRUPTED = 2, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ghashgen")
def cli() -> None:
    """Generate, prove, validate and audit GHASH kernels."""


def _register() -> None:
    names = sorted(info.name for info in pkgutil.iter_modules(commands.__path__))
    for name in names:
        module = importlib.import_module(f"{commands.__name__}.{name}")
        if hasattr(module, "COMMAND"):
            cli.add_command(module.COMMAND)


def main() -> None:
    """Run the command line and exit."""
    _register()
    try:
        cli(standalone_mode=True)
    except GhashgenError as refusal:
        click.echo(f"ghashgen: {refusal}", err=True)
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        click.echo("ghashgen: interrupted", err=True)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
