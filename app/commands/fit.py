"""`isoplan fit`: fit a law with intervals to a table file. The workspace is not opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoplan.app.commands.shared import options, reading
from isoplan.app.commands.shared.output import note, progress, say, say_json
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.spec import read_spec
from isoplan.engine.formula import parse_formula
from isoplan.engine.planning.scenario.typed_rules import read_typed_rule
from isoplan.engine.quantities import parse_number, share_or_column
from isoplan.engine.schema import Role, Runs
from isoplan.engine.store.columns.directions import split_direction

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit, GroupedFit


@options.with_reading(before="curves")
def fit(
    table: options.Table,
    law: options.LawName,
    axis: options.AxisName = None,
    realised: options.Realised = "",
    mapping: options.Mapping = None,
    metric: options.MetricName = "",
    where: options.Where = "",
    objective: options.Objective = None,
    delta: options.Delta = "1e-3",
    skew: options.Skew = "10",
    formula: options.TypedFormula = "",
    bound: options.Bounds = None,
    fix: options.Fixed = None,
    prior: options.Priors = None,
    share: options.Shared = None,
    group: options.Group = "",
    each: options.Each = False,
    pool: options.Pool = None,
    weight: options.Weight = "",
    relative_error: options.RelativeError = "",
    bootstrap: options.Bootstrap = 1000,
    interval: options.Interval = "auto",
    seed: options.Seed = 0,
    rule: options.Rule = "",
    n_p: options.TokensPerSample = "",
    curves: options.CurveFile = None,
    map_curves: options.CurveMap = None,
    smoothing: options.Smoothing = "0.6",
    target: options.Target = "",
    as_json: options.AsJson = False,
    card: options.Card = "refits",
    **texts: Any,
) -> None:
    """Fit a law to a table of runs."""
    from isoplan.engine.fitting import fit as fit_runs
    from isoplan.engine.fitting import fit_groups
    from isoplan.engine.planning.plan.map_form import with_form

    if card != "refits" and not as_json:
        raise PlannerError("Option --card requires --json. Add it, or leave --card out.")
    if each and not group:
        raise PlannerError("Option --each fits one law for each value of a column: add --group COLUMN.")
    if each and (share or curves):
        raise PlannerError(f"Option --each cannot be used with {'--share' if share else '--curves'}: leave one out.")
    column, direction = split_direction(metric)
    error = share_or_column(relative_error)
    spec = read_spec(
        "--", law=law, axis=axis, formula=formula, bounds=reading.read_bounds(bound or []),
        realised=parse_number(realised, "option --realised") if realised else None,
        y=column or "loss", objective=objective or "huber-log", delta=parse_number(delta, "option --delta"),
        skew=parse_number(skew, "option --skew"), fixed=reading.read_fixed(fix or []),
        prior=reading.read_priors(prior or []), share=reading.read_names(share or []), relative_error=error,
        smoothing=parse_number(smoothing, "option --smoothing"),
        target=parse_number(target, "option --target") if target else None,
        bootstrap=bootstrap, interval=interval, seed=seed,
    )  # fmt: skip
    extra = tuple(name for name in (error, axis) if isinstance(name, str) and name not in set(Role))
    of_curves = curves is not None
    runs = reading.read_table(
        table, reading.read_map(mapping or [], "" if of_curves else column, group=group, weight=weight),
        ("", "") if of_curves else (column, direction), where, read_typed_rule(rule, n_p, "terminal"),
        extra=() if of_curves else extra, offered=tuple(sorted(parse_formula(formula).names)) if formula else (),
        each=each, pooled=reading.read_names(pool or []), **texts,
    )  # fmt: skip
    with reading.notes_of(runs):
        if spec.share or each:
            with progress(f"Fitting {len(runs):,} runs", len(runs)):
                groups = fit_groups(spec, runs, where=where)
            _show_groups(groups, runs, as_json, card)
            return
        training = None
        if curves is not None:
            roles = reading.read_map(map_curves or [], column)
            training = reading.read_training(curves, runs, roles, (column, direction), extra)
        with progress(f"Fitting {len(runs):,} runs", len(runs)) as tell:
            made = fit_runs(spec, runs, curves=training, where=where, progress=tell, suggested=objective is None)
            made = with_form(made, runs)
        _show(made, runs, as_json, card)


def _show(fitted: Fit, runs: Runs, as_json: bool, card: options.Kept) -> None:
    """Print the fit and the notes on how its runs were read. For a fit to parabolas, also print the parabolas' bias."""
    from isoplan.engine.fitting import to_json

    note(runs.notes)
    biased, placed = list(_bias(fitted, runs)), list(_minima(fitted, runs))
    if not as_json:
        say("\n\n".join([repr(fitted), "\n".join(placed), *biased] if placed else [repr(fitted), *biased]))
        return
    note(w.text for w in fitted.warnings)
    bias = {"parabola_bias": biased[0], "minima": placed} if biased else {}
    made = fitted.with_notes(runs.notes)
    say_json(to_json(made, resamples=card == "refits", covariance=card == "covariance") | bias)


def _show_groups(found: GroupedFit, runs: Runs, as_json: bool, card: options.Kept) -> None:
    """Print the fits of all groups, and the notes on how their runs were read."""
    from isoplan.engine.fitting import groups_to_json

    if card == "covariance":
        raise PlannerError("Groups have no covariance card: use --card refits or --card values.")
    note(runs.notes)
    if not as_json:
        say(repr(found))
        return
    note(w.text for w in found.warnings)
    found = found.with_notes(runs.notes)
    if card == "values":
        found = replace(found, fits={g: replace(f, resamples=f.resamples[:0]) for g, f in found.fits.items()})
    say_json(groups_to_json(found))


def _minima(fitted: Fit, runs: Runs) -> Iterator[str]:
    """Yield, for each budget, a sentence on the position of the minimum in the sweep of N.

    Nothing is yielded for laws that are not estimated from parabolas.
    """
    from isoplan.engine.fitting import minima, parabolas

    if fitted.law.estimator == "parabola":
        for p, said in zip(parabolas(runs, fitted.spec), minima(runs, fitted.spec), strict=True):
            yield f"Budget {p.budget:.3g}: N* = {p.N_star:.4g}, {said.text}."


def _bias(fitted: Fit, runs: Runs) -> Iterator[str]:
    """Yield a sentence on the bias of the parabolas, or the reason why the bias is unknown.

    The bias is estimated by fitting a loss surface to the runs of the parabolas. Nothing is yielded for laws that are
    not estimated from parabolas.
    """
    from isoplan.engine.fitting import parabola_bias

    if fitted.law.estimator == "parabola":
        try:
            yield parabola_bias(fitted, runs).sentence
        except PlannerError as error:
            yield f"The bias of the parabolas is not known: {error}"
