"""An option that takes one value is given once: another value after it would replace it unseen."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ghashgen.support.errors import GhashgenError


def require_once(
    name: str, command: click.Command, context: click.Context, args: Sequence[str]
) -> None:
    """Refuse the words of a call that give an option of one value two different ones.

    Raises:
        GhashgenError: names the option and the values.
        click.UsageError: the words are no call of this verb.
    """
    inner = click.Context(command, info_name=name, parent=context)
    parser = command.make_parser(inner)
    single = [option for option in command.get_params(inner) if _is_single(option)]
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


def _is_single(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.multiple and not option.count


def _collect(parser: Any, option: click.Parameter) -> None:
    """Make the parser keep every value of an option, not the last alone."""
    add, name = parser.add_option, option.name
    if not getattr(option, "is_flag", False):
        add(option, opts=option.opts, dest=name, action="append", nargs=option.nargs)
        return
    for words in (option.opts, option.secondary_opts):
        if words:
            add(option, opts=words, dest=name, action="append_const", const=words[0])


def _values(option: click.Parameter, given: Mapping[str, Any]) -> list[str]:
    """Return the different values of an option as words of the call, each once."""
    is_flag = getattr(option, "is_flag", False)
    values = dict.fromkeys(given.get(option.name or "") or ())
    return [str(value) if is_flag else f"{option.opts[0]} {value}" for value in values]
