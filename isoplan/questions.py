"""Planner questions as functions, one for each declared question."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoplan.engine.planning.questions.declaration import PlannerQuestion
from isoplan.engine.planning.questions.registry import find_questions
from isoplan.engine.planning.scenario.fields import PRICES
from isoplan.measured import check_runs, choose_rule
from isoplan.options import Amount, check_options, file_name, single
from isoplan.scenario import texts_of

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit, GroupedFit
    from isoplan.engine.schema import Runs
    from isoplan.rules import Rule
    from isoplan.tables import Table


_OPTION = re.compile("--[a-z-]+")


def make_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of all questions by name."""
    return {name: make_function(question) for name, question in find_questions().items()}


def make_function(question: PlannerQuestion) -> Callable[..., Any]:
    """Return the function that answers ``question``.

    A question with prices accepts all prices, including those that it does not use, so that one scenario serves several
    questions.
    """
    fields = {field.name: field for field in (*question.fields, *(PRICES if question.prices else ()))}

    def ask(
        fit: Fit | GroupedFit,
        *,
        rule: Rule = "",
        n_p: Amount = "",
        runs: Runs | Table | None = None,
        **options: Amount | None,
    ) -> Any:
        from isoplan.engine.planning.questions.reading import read_given

        check_options(options, fields, ask)
        given = read_given(question, texts_of(options), "python")
        law = single(fit, "fit")
        check_runs(runs, rule)
        return question.answer(law, replace(given, rule=choose_rule(rule, n_p, runs, law), file=file_name(law)))

    kind = inspect.Parameter.KEYWORD_ONLY
    first, *common, _ = inspect.signature(ask).parameters.values()
    own = [inspect.Parameter(name, kind, default=None, annotation="Amount | None") for name in fields]
    signed: Any = ask
    signed.__signature__ = inspect.Signature([first, *own, *common], return_annotation="Answer")
    ask.__name__ = ask.__qualname__ = question.name
    ask.__module__ = "isoplan"
    ask.__doc__ = _document(question)
    return ask


def _document(question: PlannerQuestion) -> str:
    """Return the docstring of a question: its summary, and the meaning of each option."""
    options = [f"{field.name} : number or str\n    {_OPTION.sub(_name, field.help)}" for field in question.fields]
    return "\n".join(
        [
            f"{question.summary}\n\nParameters\n----------\nfit : Fit\n    {question.fit.partition(';')[0]}.",
            *options,
            "rule, n_p, runs\n    The compute rule, as in ``isoplan.plan``.\n\nRaises\n------\nPlannerError",
            "    An option is wrong, or the law cannot answer the question.\n",
        ]
    )


def _name(option: re.Match[str]) -> str:
    """Return the Python name of an option of the terminal, such as sample_price for --sample-price."""
    return option[0].removeprefix("--").replace("-", "_")
