"""Commands of planner questions, one per declared question, such as `isoplan smaller` and `isoplan repeat`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared import fit_inputs, listed_cells, reading
from isoplan.app.commands.shared.options import (
    AsJson,
    Form,
    Format,
    OtherRule,
    PlannedGroup,
    RunMap,
    RunTable,
    TokensPerSample,
    as_option,
    as_texts,
    parameter,
    with_parameters,
)
from isoplan.app.commands.shared.output import note, say, say_as
from isoplan.app.commands.shared.rules import Behind, check_runs, read_used
from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import PlannerQuestion, find_commands
from isoplan.engine.planning.questions.reading import CURVES, read_given
from isoplan.engine.schema import OVERFITS, Curves

RunsOfCurves = Annotated[Path | None, typer.Option(help="Run table for --curves and for --rule measured.")]


def __getattr__(name: str) -> Callable[..., None]:
    """Return the command ``name`` of a question; `isoplan.app.cli` finds it as an attribute of this module."""
    if name not in find_commands():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_command(find_commands()[name])


def make_command(question: PlannerQuestion) -> Callable[..., None]:
    """Return the command that reads the inputs of ``question`` and prints its answer."""

    @with_parameters(_inputs(question), before="rule")
    @with_parameters([parameter("runs", RunTable if question.curves is None else RunsOfCurves, None)], "map_runs")
    def command(
        rule: OtherRule = "",
        n_p: TokensPerSample = "",
        map_runs: RunMap = None,
        form: Form = "text",
        as_json: AsJson = False,
        **texts: Any,
    ) -> None:
        given = read_given(question, as_texts(texts), "terminal")
        note(given.notes)
        files = {one.name: str(texts[one.name]) for one in question.fits if texts[one.name]}
        group, grouped = texts["group"], question.grouped or question.fits[0].name
        from isoplan.engine.fitting.types.result import Fit

        inputs = {one.name: one for one in question.fits}
        read = {
            name: fit_inputs.read_input(inputs[name], file, group if name == grouped else "", texts)
            for name, file in files.items()
        }
        fit, fits = read[question.fits[0].name], {name: one for name, one in read.items() if isinstance(one, Fit)}
        files = {
            name: file if file.endswith(".json") or name not in fits else f"fit-{fits[name].hash}.json"
            for name, file in files.items()
        }
        behind, file = Behind(texts["runs"], map_runs or (), fits.get(question.fits[0].name)), texts.get(CURVES)
        if file is None:
            check_runs(behind, rule)
        used = read_used(rule, n_p, behind)
        curves = None if file is None else _read_curves(file, texts["map_curves"], behind, used or fit.compute)
        out = None if question.cells is None else listed_cells.read_out(texts)
        cells = None if question.cells is None else listed_cells.read_listed(texts, used or fit.compute)
        candidates = None if cells is None else cells.candidates
        given = replace(given, rule=used, fits=fits, files=files, group=group, curves=curves, candidates=candidates)
        answer = question.answer(fit, given)
        asked: Format = "json" if as_json else form
        if asked == "text":
            say(answer.text)
        else:
            say_as(asked, answer.text, answer.file, answer.warnings)
        if out is not None:
            out.write(answer, cells)

    command.__name__, command.__doc__ = question.command_name, question.summary
    return command


def _inputs(question: PlannerQuestion) -> Iterator[inspect.Parameter]:
    """Yield the parameters that depend on the question: its fits, fields, curves and cells, and the group of a fit."""
    for one in question.needed:
        text = f"{one.help} Use - to read a fit from standard input." if len(question.needed) == 1 else one.help
        yield parameter(one.name, Annotated[str, typer.Argument(metavar=one.file, help=text)])
    yield from map(as_option, question.fields)
    for one in question.fits:
        yield from fit_inputs.table_options(one)
    if question.curves is not None:
        yield parameter(CURVES, Annotated[Path | None, typer.Option(help=question.curves.help)], None)
        columns = typer.Option(metavar="ROLE=COLUMN,...", help="Columns of curves.")
        yield parameter("map_curves", Annotated[list[str] | None, columns], None)
    if question.cells is not None:
        yield from listed_cells.options(question.cells)
    for one in question.fits:
        if one.optional:
            yield parameter(one.name, Annotated[str, typer.Option(metavar=one.file, help=one.help)], "")
    group: Any = PlannedGroup
    for one in question.fits:
        if one.name == question.grouped:
            group = Annotated[str, typer.Option(help=f"Group of {one.file}, if it has several.")]
    yield parameter("group", group, "")


def _read_curves(file: Path, roles: list[str] | None, behind: Behind, rule: ComputeRule) -> Curves:
    """Return the training curves in ``file`` for the runs of --runs; ``rule`` gives the compute C of each run."""
    if behind.table is None:
        raise PlannerError("--curves needs the table of the runs of these curves: add --runs.")
    table = reading.read_table(
        behind.table, reading.read_map(list(behind.roles)), ("", ""), "", rule,
        repeats="all", convert=None, sheet=None, inner=None, offered=(OVERFITS,),
    )  # fmt: skip
    return reading.read_training(file, table, reading.read_map(roles or []), ("", ""), ())
