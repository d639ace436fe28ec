"""The command of a planner question: `isoplan smaller` and the command of every other declared question."""

# Annotations are evaluated in this module, because the help of FIT.json depends on the question.

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared.options import (
    AsJson,
    Form,
    OtherRule,
    PlannedGroup,
    RunMap,
    RunTable,
    TokensPerSample,
    as_texts,
    with_fields,
)
from isoplan.app.commands.shared.output import note, read_fit_file, say_as
from isoplan.app.commands.shared.rules import Behind, check_runs, read_used
from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.reading import read_given
from isoplan.engine.planning.questions.registry import find_questions


def __getattr__(name: str) -> Callable[..., None]:
    """Return the command of the question ``name``."""
    if name not in find_questions():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_command(find_questions()[name])


def make_command(question: PlannerQuestion) -> Callable[..., None]:
    """Return the command that asks ``question``."""

    @with_fields(question.fields, before="group")
    def command(
        fit: Annotated[str, typer.Argument(metavar="FIT.json", help=question.fit)],
        group: PlannedGroup = "",
        rule: OtherRule = "",
        n_p: TokensPerSample = "",
        runs: RunTable = None,
        map_runs: RunMap = None,
        form: Form = "text",
        as_json: AsJson = False,
        **texts: Any,
    ) -> None:
        given = read_given(question, as_texts(texts), "terminal")
        note(given.notes)
        fitted = read_fit_file(fit, group)
        behind = Behind(runs, map_runs or (), fitted)
        check_runs(behind, rule)
        given = replace(given, rule=read_used(rule, n_p, behind), file=fit, group=group)
        answer = question.answer(fitted, given)
        say_as("json" if as_json else form, answer.text, answer.document, answer.warnings)

    command.__name__, command.__doc__ = question.name, question.summary
    return command
