"""Functions that answer planner questions, one for each declared question."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import FitInput, PlannerQuestion, find_questions
from isoplan.engine.planning.scenario.fields import PRICES
from isoplan.fits import fit_or_runs
from isoplan.options import as_text, check_options, file_name, single, texts_of
from isoplan.rules import check_runs, choose_rule

if TYPE_CHECKING:
    from isoplan.engine.costs import ComputeRule
    from isoplan.engine.fitting import Fit
    from isoplan.engine.fitting.types.unfitted import UnfittedRuns
    from isoplan.engine.schema import Curves, Runs
    from isoplan.tables import Table


_OPTION = re.compile("--[a-z-]+")
FIT = "Fit | GroupedFit"
AMOUNT = "Amount | None"
TABLE = "Table | None"


def make_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of all planner questions by name."""
    return {name: make_function(question) for name, question in find_questions().items()}


def make_function(question: PlannerQuestion) -> Callable[..., Any]:
    """Return the function that answers ``question``.

    If the question uses prices, the function accepts every price, even one that the question does not need. Users can
    then pass the same prices to several questions.
    """
    signature = inspect.Signature(list(_parameters(question)), return_annotation="Answer")

    def ask(*fits: object, **options: Any) -> Any:
        from isoplan.engine.fitting import Fit
        from isoplan.engine.planning.questions.reading import CURVES, read_given

        check_options(options, signature.parameters, ask)
        bound = signature.bind(*fits, **options)
        bound.apply_defaults()
        values = bound.arguments
        fields = {name: values[name] for name in values if signature.parameters[name].annotation == AMOUNT}
        curves, runs, rule = values.get(CURVES), values["runs"], values["rule"]
        texts = texts_of(fields) | ({CURVES: CURVES} if curves is not None else {})
        given = read_given(question, texts, "python")
        read = {one.name: _read_fit(one, values) for one in question.fits if values[one.name] is not None}
        fit, notes = read[question.fits[0].name]
        chosen = {name: one for name, (one, _) in read.items() if isinstance(one, Fit)}
        if curves is None:
            check_runs(runs, rule)
        used = choose_rule(rule, values["n_p"], runs, chosen.get(question.fits[0].name))
        if curves is not None:
            curves = _read_curves(curves, runs, values["map_curves"] or {}, used or fit.compute)
        files = {name: file_name(one) for name, one in chosen.items()}
        given = replace(given, rule=used, fits=chosen, files=files, curves=curves)
        if values.get("candidates") is None:
            if values.get("map_candidates"):
                raise PlannerError("Option map_candidates: this option needs the option candidates. Add candidates.")
            answer = question.answer(fit, given)
            return replace(answer, notes=(*notes, *answer.notes))
        from isoplan.engine.design.candidates import candidates_of, left_out

        cells = _read_cells(values["candidates"], values["map_candidates"] or {}, used or fit.compute)
        answer = question.answer(fit, replace(given, candidates=candidates_of(cells)))
        return replace(answer, notes=(*notes, *answer.notes, *left_out(cells)))

    signed: Any = ask
    signed.__signature__ = signature
    ask.__name__ = ask.__qualname__ = question.name
    ask.__module__ = "isoplan"
    ask.__doc__ = _document(question)
    return ask


def _parameters(question: PlannerQuestion) -> Iterator[inspect.Parameter]:
    """Yield the required fits, followed by the keywords: fields, curves, optional fits and compute rule."""
    for one in question.needed:
        kind = f"{FIT} | Runs | Table" if one.law else FIT
        yield inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    fields = {field.name: field for field in (*question.fields, *(PRICES if question.prices else ()))}
    for name, field in fields.items():
        yield _keyword(name, AMOUNT, inspect.Parameter.empty if field.required else None)
    if question.curves is not None:
        yield _keyword("curves", f"Curves | {TABLE}", None)
        yield _keyword("map_curves", "Mapping[str, str] | None", None)
    if question.cells is not None:
        yield _keyword("candidates", f"Runs | {TABLE}", None)
        yield _keyword("map_candidates", "Mapping[str, str] | None", None)
    for one in question.fits:
        if one.optional:
            yield _keyword(one.name, f"{FIT} | None", None)
        if one.law:
            yield _keyword("law", "str", "")
            yield _keyword("y", "str", "")
    yield _keyword("rule", "Rule", "")
    yield _keyword("n_p", "Amount", "")
    yield _keyword("runs", f"Runs | {TABLE}", None)


def _keyword(name: str, annotation: str, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _read_fit(one: FitInput, values: Mapping[str, Any]) -> tuple[Fit | UnfittedRuns, tuple[str, ...]]:
    """Return the fit of the input ``one``, and notes on how its table was read.

    If the input is a table of runs, a law is fitted to the runs. If the runs do not determine the law, the first result
    is the runs. Raises PlannerError if the input is neither a fit nor a table, or if a law is given with a fit.
    """
    from isoplan.engine.fitting import Fit, GroupedFit

    if not one.law:
        return single(values[one.name], one.name), ()
    given, law, y = values[one.name], as_text(values["law"]), as_text(values["y"])
    if not isinstance(given, Fit | GroupedFit):
        return fit_or_runs(given, law or one.law, y)
    for option, text in (("law", law), ("y", y)):
        if text:
            raise PlannerError(f"Option {option}: it applies to a table of runs, not to a fit. Leave it out.")
    return single(given, one.name), ()


def _read_curves(
    curves: Curves | Table, runs: Runs | Table | None, roles: Mapping[str, str], rule: ComputeRule
) -> Curves:
    """Return training curves. If ``curves`` is a table, it contains the curves of ``runs``; ``rule`` gives their C."""
    from isoplan.engine.schema import OVERFITS, Curves, Runs
    from isoplan.tables import read_curves, read_table

    if isinstance(curves, Curves):
        return curves
    if runs is None:
        raise PlannerError("Option runs: curves need the table of their runs. Add it.")
    if not isinstance(runs, Runs):
        runs = read_table(runs, {}, compute=rule, offered=(OVERFITS,))
    return read_curves(curves, runs, roles)


def _read_cells(cells: Runs | Table, roles: Mapping[str, str], rule: ComputeRule) -> Runs:
    """Return the cells of a table. If no column contains their C, it is computed by ``rule``."""
    from isoplan.engine.schema import Runs
    from isoplan.engine.store.files.table_files import read_cells
    from isoplan.tables import as_source, python_names

    if isinstance(cells, Runs):
        return cells
    with python_names():
        return read_cells(as_source(cells), roles, rule)


def _document(question: PlannerQuestion) -> str:
    """Return the docstring of a question: its summary and the meaning of each option."""
    texts = [f"{one.name} : Fit{', runs or table' * bool(one.law)}\n    {one.help}" for one in question.fits]
    texts += [
        "law, y : str\n    Law and quantity that are fitted to a table of runs, by default "
        f"{one.law} and the loss. If the runs do not determine the law, the answer names cells to train first."
        for one in question.fits
        if one.law
    ]
    texts += [f"{field.name} : number or str\n    {_OPTION.sub(_name, field.help)}" for field in question.fields]
    if question.curves is not None:
        texts.append(f"curves, runs, map_curves : tables, mapping\n    {_OPTION.sub(_name, question.curves.help)}")
    if question.cells is not None:
        help = _OPTION.sub(_name, question.cells.help)
        texts.append(f"candidates, map_candidates : table, mapping\n    {help}")
    return "\n".join(
        [
            f"{question.summary}\n\nParameters\n----------",
            *texts,
            "rule, n_p, runs\n    The compute rule, as in ``isoplan.plan``.\n\nRaises\n------\nPlannerError",
            "    An option is wrong, or the law cannot answer the question.\n",
        ]
    )


def _name(option: re.Match[str]) -> str:
    """Return the Python name of a terminal option, such as sample_price for --sample-price."""
    return option[0].removeprefix("--").replace("-", "_")
