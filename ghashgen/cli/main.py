"""The command line, `ghashgen VERB`. Each module of `ghashgen.cli.verbs` exports a verb as COMMAND.

A verb's module is imported when the verb is called, so no verb waits for another's imports.

Exit status: 0: done. 2: refused, or a proof, validation or comparison failed (one line says which).
130: interrupted, also by SIGTERM. 141: the reader of the output went away (`| head`), as after
SIGPIPE.
"""

import gc
import importlib
import importlib.util
import os
import re
import select
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ghashgen import __version__
from ghashgen.cli import verbs as commands
from ghashgen.cli.entry import INTERRUPTED
from ghashgen.cli.once import require_once
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import FULL, UNUSABLE, unwritten
from ghashgen.support.paths import CACHE, cache_folder, kernels_folder
from ghashgen.support.registry import modules_of
from ghashgen.support.termination import heed
from ghashgen.support.wording import did_you_mean

REFUSED, UNREAD = 2, 141

_WHOLE = 400
"""More characters than any verb's first sentence has."""

_OPTIONS = "options"
"""The module of `ghashgen.cli.verbs` that is not a verb."""


class Verbs(click.Group):
    """The modules of `ghashgen.cli.verbs` by name, with - for _."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in alphabetical order."""
        names = modules_of(commands)
        return sorted(name.replace("_", "-") for name in names if name != _OPTIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, or None if there is no such module."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(_module(cmd_name))
        command: click.Command = module.COMMAND
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs, each with its whole first sentence, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _sentence(name)) for name in self.list_commands(ctx)])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the folders that verbs write to, as resolved now."""
        # Not wrapped: nobody can copy a wrapped path.
        with formatter.section("Files"):
            for line in (
                f"{kernels_folder()}: kernels, unless --out names another folder",
                f"{cache_folder()}: objects, programs, verdicts, measurements",
                "You may delete the second at any time.",
                f"To move it, set {CACHE} in the environment.",
            ):
                formatter.write(f"  {line}\n")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or refuse and name similar ones."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            remedy = did_you_mean(args[0], known, "see ghashgen --help")
            raise GhashgenError(f"no verb is called {args[0]!r}", remedy)
        if ctx.resilient_parsing and args[0] in known:
            outline = _outline(args[0], args[-1])
            if outline is not None:
                return args[0], outline, args[1:]
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            require_once(name or "", command, ctx, rest)
        return name, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the verbs with this beginning, without importing them."""
        verbs = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(verb) for verb in verbs] + click.Command.shell_complete(
            self, ctx, incomplete
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb and flush what it printed."""
        try:
            done = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            if not _unread():
                raise
            raise _UnreadError from None
        return done


class _UnreadError(Exception):
    """Standard output or standard error has no reader any more."""


def _unread() -> bool:
    """Return whether our own reader went away, rather than a child's."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _module(verb: str) -> str:
    return f"{commands.__name__}.{verb.replace('-', '_')}"


def _source(verb: str) -> str:
    loader = getattr(importlib.util.find_spec(_module(verb)), "loader", None)
    return str(loader.get_source(_module(verb))) if loader else ""


def _sentence(verb: str) -> str:
    """Return the first sentence of a verb's help, from its source."""
    found = re.search(r'^def COMMAND\(.*?"""(.*?)"""', _source(verb), re.DOTALL | re.MULTILINE)
    return click.Command(verb, help=found and found[1]).get_short_help_str(_WHOLE)


def _outline(verb: str, option: str) -> click.Command | None:
    """Return a command with only a verb's choice options, if the verb has them and `option` is one.

    Importing a whole verb would make completion slow.
    """
    from ghashgen.cli.verbs.options import choice_options

    command = click.command(
        verb, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
    )(choice_options(lambda choice: None))
    options = {name for parameter in command.params for name in parameter.opts}
    return command if option in options and f"@{choice_options.__name__}" in _source(verb) else None


@click.command(
    cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="ghashgen")
def cli() -> None:
    """Generate, prove, validate and measure kernels of AES-GCM, AES-CTR, GHASH and POLYVAL."""


def main() -> None:
    """Run the command line and exit."""
    heed()
    # Python has none where the caller has closed it.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    # A verb makes millions of small values that are there to stay, or go by themselves.
    gc.set_threshold(100_000, 20, 100)
    try:
        # In standalone mode click would end an interrupted verb with status 1.
        sys.exit(cli(prog_name="ghashgen", standalone_mode=False))
    except GhashgenError as refusal:
        from ghashgen.verify.advice import advised

        click.echo(f"ghashgen: {advised(refusal)}", err=True)
        sys.exit(REFUSED)
    except click.ClickException as misuse:
        # Without a verb, click's message is the whole help.
        told = misuse.format_message()
        click.echo(told if "\n" in told else f"ghashgen: {_remedied(told, misuse)}", err=True)
        sys.exit(misuse.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ghashgen: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except _UnreadError:
        _discard_output()
        sys.exit(UNREAD)
    except OSError as error:
        if error.errno in UNUSABLE and error.filename is not None:
            click.echo(f"ghashgen: {unwritten(Path(error.filename), error)}", err=True)
            sys.exit(REFUSED)
        if error.errno not in FULL:
            raise
        _discard_output()
        where = error.filename or "output"
        click.echo(f"ghashgen: {where}: {error.strerror}; make room and run it again", err=True)
        sys.exit(REFUSED)


def _remedied(told: str, misuse: click.ClickException) -> str:
    """Return click's message about a wrong call, with a pointer to the verb's help."""
    path = getattr(getattr(misuse, "ctx", None), "command_path", "ghashgen")
    said = f"{told[:1].lower()}{told[1:]}".removesuffix(".")
    return f"{said}{'' if said.endswith('?') else ';'} see {path} --help"


def _discard_output() -> None:
    """Discard pending output, which Python would otherwise complain about at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
