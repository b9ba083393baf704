"""Refuses an empty value, an option of one value that is given two different ones, and --csv with
--json.

An empty value is usually an unset shell variable. As a path it would mean the working folder, and
elsewhere the default.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ghashgen.support.errors import GhashgenError


def require_once(
    name: str, command: click.Command, context: click.Context, args: Sequence[str]
) -> None:
    """Refuse a call that gives an option or an argument an empty value, or two different values to
    an option that takes one, and one that asks for two forms of output.

    Raises:
        GhashgenError: names the option or argument, and the values.
        click.UsageError: the words do not parse.
    """
    inner = click.Context(command, info_name=name, parent=context)
    parser = command.make_parser(inner)
    options = [each for each in command.get_params(inner) if isinstance(each, click.Option)]
    single = [option for option in options if not option.multiple and not option.count]
    for option in single:
        _collect(parser, option)
    try:
        given, _, _ = parser.parse_args(list(args))
    except click.UsageError as misuse:
        misuse.ctx = inner
        raise
    if given.get("csv_out") and given.get("as_json"):
        raise GhashgenError("--csv and --json exclude each other", "leave one out")
    for option in single:
        values = _values(option, given)
        if len(values) > 1:
            raise GhashgenError(f"{' and '.join(values)} exclude each other", "leave one out")
    for option in options:
        if not option.is_flag and "" in given.get(option.name or "", ()):
            raise GhashgenError(
                f"{option.opts[0]} has an empty value", "give it a value, or leave it out"
            )
    for argument in command.get_params(inner):
        if isinstance(argument, click.Argument) and given.get(argument.name or "") == "":
            raise GhashgenError(
                f"{argument.human_readable_name} has an empty value", "give it a value"
            )


def _collect(parser: Any, option: click.Option) -> None:
    """Make the parser keep every value of an option, not only the last."""
    add, name = parser.add_option, option.name
    if not option.is_flag:
        add(option, opts=option.opts, dest=name, action="append", nargs=option.nargs)
        return
    for words in (option.opts, option.secondary_opts):
        if words:
            add(option, opts=words, dest=name, action="append_const", const=words[0])


def _values(option: click.Option, given: Mapping[str, Any]) -> list[str]:
    """Return the distinct values of an option, as words of the call."""
    values = dict.fromkeys(given.get(option.name or "") or ())
    return [str(value) if option.is_flag else f"{option.opts[0]} {value}" for value in values]
