"""The command line: `ghashgen VERB`; every module of `ghashgen.commands` exports a verb as COMMAND.

A verb's module is imported when it is called, so that no verb waits for what another one needs.
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


class Verbs(click.Group):
    """The modules of `ghashgen.commands`, by name, with - for _."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in alphabetical order."""
        names = (info.name for info in pkgutil.iter_modules(commands.__path__))
        return sorted(name.replace("_", "-") for name in names if name != "options")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, or None if there is no such module."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.COMMAND
        return command


@click.command(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="ghashgen")
def cli() -> None:
    """Generate, prove, validate and audit GHASH kernels."""


def main() -> None:
    """Run the command line and exit."""
    try:
        # Standalone, click would end an interrupted verb with status 1.
        sys.exit(cli(standalone_mode=False))
    except GhashgenError as refusal:
        click.echo(f"ghashgen: {refusal}", err=True)
        sys.exit(REFUSED)
    except click.ClickException as misuse:
        misuse.show()
        sys.exit(misuse.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ghashgen: interrupted", err=True)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
