"""Command line of Isoplan: ``isoplan app``, ``isoplan fit``, ``isoplan plan`` and the other commands.

Each command has its own module in ``app/commands``. The module is imported only when the command is called, which
keeps the start of every command fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import find_commands


@dataclass(frozen=True)
class Command:
    """A command of the terminal: the name of its module in ``app/commands``, and the first line of its help text."""

    module: str
    summary: str


COMMANDS = {
    "app": Command("serve", "Open the pages in the browser."),
    "import": Command("tracked_runs", "Read the runs of an experiment tracker into a table."),
    "append": Command("append", "Add rows to a run table of a workspace."),
    "columns": Command("columns", "Print the role of each column of a table, and the reason."),
    "laws": Command("laws", "List the laws that can be fitted."),
    "fit": Command("fit", "Fit a law to a table of runs."),
    "compare": Command("compare", "Rank the laws by how well they predict the largest budgets."),
    "agreement": Command("agreement", "Check whether loss and metrics rank the runs in the same order."),
    "plan": Command("plan", "Find the best model for a budget, or the cheapest way to a target."),
    "amplitude": Command("amplitude", "Plan N, D and C of an amplitude surrogate, or find its precision."),
    "recipe": Command("recipe", "Recommend the settings of a recommender for a budget."),
    "plans": Command("plans", "Compare saved plans under one scenario of prices."),
    "actual": Command("actual", "Compare actual results with the plans that predicted them."),
    "report": Command("report", "Write a saved answer as an HTML file or as a PDF."),
    "export": Command("export", "Write planned cells for W&B, Optuna or Slurm, or as CSV."),
    "train": Command("train", "Train the cells of a grid."),
    "autopilot": Command("autopilot", "Train cells of a grid until an answer is known well enough."),
    "cells": Command("cells", "List, hold, resume, cancel, retry or delete cells."),
    "backup": Command("backup", "Write a checked copy of a workspace to one file."),
    "restore": Command("backup", "Make a workspace from a backup."),
    "simulate": Command("simulate", "Simulate jets, or events with their squared amplitudes."),
}
"""Commands of the terminal by name.

The function ``commands`` adds the commands of the planner questions, such as ``smaller``.
"""
BEFORE_QUESTIONS = "plan"


def commands() -> dict[str, Command]:
    """Return all commands by name, in the order of the help text. Planner questions come directly after ``plan``."""
    asked = {name: Command("questions", question.summary) for name, question in find_commands().items()}
    listed: dict[str, Command] = {}
    for name, command in COMMANDS.items():
        listed |= {name: command, **(asked if name == BEFORE_QUESTIONS else {})}
    return listed


def command_module(name: str) -> ModuleType:
    """Import the module of the command ``name`` and return it."""
    return import_module(f"isoplan.app.commands.{commands()[name].module}")


def command_function(name: str) -> Callable[..., None]:
    """Return the function of the command ``name``: it has this name, with "_" appended to a keyword of Python."""
    function: Callable[..., None] = getattr(command_module(name), f"{name}_" if iskeyword(name) else name)
    return function


class LazyGroup(TyperGroup):
    """Group of commands that imports the module of a command only when this command is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command ``cmd_name``, read from its module; None if there is no command with this name."""
        if cmd_name not in commands():
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=cmd_name)(command_function(cmd_name))
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands for the help text. No module of a command is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in commands().items()])


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
    """Print the name and the installed version."""
    from importlib.metadata import version

    print(f"isoplan {version('isoplan')}")


def main() -> None:
    """Run the command line. For invalid input, print one sentence to standard error and exit with code 2."""
    try:
        sys.exit(cli(prog_name="isoplan", standalone_mode=False))
    except (PlannerError, TyperException) as error:
        text = error.format_message() if isinstance(error, TyperException) else str(error)
        print(f"isoplan: {' '.join(text.split())}", file=sys.stderr)
        sys.exit(2)
