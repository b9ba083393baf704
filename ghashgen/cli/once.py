"""What no option of one value may be: given two values, the last of which would hold, or nothing.

An empty value is mostly a variable of a shell that is not set. As a path it would be the working
folder, and where leaving the option out means something it would mean the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ghashgen.support.errors import GhashgenError


def require_once(
    name: str, command: click.Command, context: click.Context, args: Sequence[str]
) -> None:
    """Refuse the words of a call that give an option of one value two different ones, or none.

    Nothing is a value where it is the default.

    Raises:
        GhashgenError: names the option and the values.
        click.UsageError: the words are no call of this verb.
    """
    inner = click.Context(command, info_name=name, parent=context)
    parser = command.make_parser(inner)
    options = (each for each in command.get_params(inner) if isinstance(each, click.Option))
    single = [option for option in options if not option.multiple and not option.count]
    for option in single:
        _collect(parser, option)
    try:
        given, _, _ = parser.parse_args(list(args))
    except click.UsageError as misuse:
        misuse.ctx = inner
        raise
    for option in single:
        values = _values(option, given)
        if len(values) > 1:
            raise GhashgenError(
                f"{' and '.join(values)} are given, and only one of them can hold", "leave one out"
            )
        if not option.is_flag and "" in given.get(option.name or "", ()) and option.default != "":
            raise GhashgenError(
                f"{option.opts[0]} is given nothing", "give it a value, or leave it out"
            )


def _collect(parser: Any, option: click.Option) -> None:
    """Make the parser keep every value of an option, not the last alone."""
    add, name = parser.add_option, option.name
    if not option.is_flag:
        add(option, opts=option.opts, dest=name, action="append", nargs=option.nargs)
        return
    for words in (option.opts, option.secondary_opts):
        if words:
            add(option, opts=words, dest=name, action="append_const", const=words[0])


def _values(option: click.Option, given: Mapping[str, Any]) -> list[str]:
    """Return the different values of an option as words of the call, each once."""
    values = dict.fromkeys(given.get(option.name or "") or ())
    return [str(value) if option.is_flag else f"{option.opts[0]} {value}" for value in values]
