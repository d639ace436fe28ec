"""Options of commands from the table of fields, which gives their names, help and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

import typer

from isoplan.engine.planning.scenario.fields import Field

Command = TypeVar("Command", bound=Callable[..., None])


def as_option(field: Field) -> inspect.Parameter:
    """Return the option of a field."""
    default = inspect.Parameter.empty if field.required else field.kind(field.default)
    return parameter(field.name, Annotated[field.kind, typer.Option(help=field.help)], default)


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return a parameter of a command; ``annotation`` is its type with its ``typer.Option`` or ``typer.Argument``."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def with_fields(fields: Iterable[Field], before: str = "") -> Callable[[Command], Command]:
    """Return a decorator that gives a command an option for each of ``fields``, before its option ``before``."""
    return with_parameters(map(as_option, fields), before)


def with_parameters(parameters: Iterable[inspect.Parameter], before: str = "") -> Callable[[Command], Command]:
    """Return a decorator that gives a command further ``parameters``, before its option ``before``.

    The command receives their values as ``**texts`` by name. Without ``before`` they come last.
    """
    options = list(parameters)

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        at = next((i for i, one in enumerate(own) if one.name == before), len(own))
        wanted: Any = command  # A function has both attributes, which its type does not declare.
        wanted.__signature__ = signature.replace(parameters=[*own[:at], *options, *own[at:]])
        kept = {name: x for name, x in command.__annotations__.items() if name != "texts"}
        wanted.__annotations__ = {**kept, **{one.name: one.annotation for one in options}}
        return command

    return add


def as_texts(values: dict[str, Any]) -> dict[str, str]:
    """Return the values of options as text, without those that are None."""
    return {name: str(value) for name, value in values.items() if value is not None}
