"""The same questions from a terminal: ``isoplan app``, ``fit``, ``plan`` and the other ``COMMANDS``.

Each command lives in a module of its own that is imported when it is called, so none waits for what another needs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from isoplan.engine.errors import PlannerError

COMMANDS = {
    "app": "isoplan.app.commands.serve",
    "laws": "isoplan.app.commands.laws",
    "fit": "isoplan.app.commands.fit",
    "compare": "isoplan.app.commands.compare",
    "agreement": "isoplan.app.commands.agreement",
    "plan": "isoplan.app.commands.plan",
    "smaller": "isoplan.app.commands.smaller",
    "repeat": "isoplan.app.commands.repeat",
    "amplitude": "isoplan.app.commands.amplitude",
    "recipe": "isoplan.app.commands.recipe",
    "plans": "isoplan.app.commands.plans",
    "actual": "isoplan.app.commands.actual",
    "train": "isoplan.app.commands.train",
    "cells": "isoplan.app.commands.cells",
    "backup": "isoplan.app.commands.backup",
    "restore": "isoplan.app.commands.restore",
    "simulate": "isoplan.app.commands.simulate",
}


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The function of that name in its module, as a command; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=cmd_name)(getattr(import_module(COMMANDS[cmd_name]), cmd_name))
        return typer.main.get_command(single)


cli = typer.Typer(name="isoplan", cls=LazyGroup, add_completion=False, rich_markup_mode=None)


@cli.callback(invoke_without_command=True)
def isoplan(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """From a table of training runs to a compute budget."""
    if version:
        print_version()
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def print_version() -> None:
    """Print the name and version of this copy."""
    print(f"isoplan {version_of('isoplan')}")


def main() -> None:
    """Run the command line: bad input is one sentence on standard error and exit code 2."""
    try:
        sys.exit(cli(prog_name="isoplan", standalone_mode=False))
    except (PlannerError, TyperException) as error:
        text = error.format_message() if isinstance(error, TyperException) else str(error)
        print(f"isoplan: {' '.join(text.split())}", file=sys.stderr)
        sys.exit(2)
