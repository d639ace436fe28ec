"""Fits and comparisons of laws, with the same results as `isoplan fit` and `isoplan compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from isoplan.engine.errors import PlannerError
from isoplan.options import as_tuple, check_options
from isoplan.tables import read_curves, read_table

if TYPE_CHECKING:
    from isoplan.engine.fitting import Comparison, Fit, FitSpec, GroupedFit
    from isoplan.engine.fitting.types.spec import ObjectiveName
    from isoplan.engine.fitting.types.unfitted import UnfittedRuns
    from isoplan.engine.schema import Curves, Runs
    from isoplan.tables import Table

OPTIONS = (
    *("y", "axis", "realised", "formula", "bounds", "fixed", "prior", "relative_error", "delta", "skew"),
    *("smoothing", "target", "bootstrap", "interval", "seed"),
)
"""Fields of a fit specification that ``fit`` accepts in addition to its own arguments."""
COMPARED = ("y", "delta", "seed")


def fit(
    runs: Runs | Table,
    law: str = "chinchilla",
    *,
    curves: Curves | Table | None = None,
    map_curves: Mapping[str, str] | None = None,
    objective: ObjectiveName | None = None,
    share: str | Iterable[str] = (),
    **options: Any,
) -> Fit | GroupedFit:
    """Fit a law to runs.

    Parameters
    ----------
    runs : Runs or table
        The result of ``isoplan.runs``, or a table that is read with the guessed columns.
    law : str
        A name in the list of `isoplan laws`.
    curves : Curves or table
        Training curves, for the laws envelope, critical-batch and threshold.
    map_curves : mapping
        Columns of a table of curves by role, as in {"step": "it"}.
    objective : str
        "huber-log", "ols", "ols-log", "lad" or "asymmetric". By default it depends on the number of runs.
    share : str or several
        Parameters that are the same in all groups.
    **options : fields of ``isoplan.engine.fitting.FitSpec``
        y (a metric, "accuracy:max"), axis, realised, formula, bounds {"alpha": (0, 2)}, fixed {"E": 0.3}, prior
        {"alpha": (mean, sd)}, relative_error (0.1, "10%" or a column), delta, skew, smoothing, target, bootstrap
        (refits), interval and seed.

    Returns
    -------
    Fit or GroupedFit
        One fit of all runs. With ``share``, or for runs that were read with each=True, one fit for each group.

    Raises
    ------
    PlannerError
        An option is wrong, or the runs cannot support the law.
    """
    from isoplan.engine.fitting import fit as fit_runs
    from isoplan.engine.fitting import fit_groups
    from isoplan.engine.planning.plan.map_form import with_form
    from isoplan.engine.schema import Role

    check_options(options, OPTIONS, fit)
    y = str(options.pop("y", ""))
    shared = as_tuple(share)
    spec = _read_spec(law=law, y=y, objective=objective, share=shared, **options)
    extra = tuple(x for x in (spec.relative_error, spec.axis) if isinstance(x, str) and x not in set(Role))
    of_curves = curves is not None
    runs = _read_runs(runs, "" if of_curves else y, spec, () if of_curves else extra)
    if shared or runs.roles.each:
        _check_groups(of_curves, bool(shared), runs)
        return fit_groups(spec, runs, where=runs.where).with_notes(runs.notes)
    training = _read_training(curves, runs, map_curves or {}, y, extra)
    made = fit_runs(spec, runs, curves=training, where=runs.where, suggested=objective is None)
    return with_form(made, runs).with_notes(runs.notes)


def fit_or_runs(runs: Runs | Table, law: str, y: str = "") -> tuple[Fit | UnfittedRuns, tuple[str, ...]]:
    """Fit ``law`` to the quantity ``y`` (by default the loss) of ``runs``, or return the runs if they are too few.

    The second result are notes on how the runs were read. Raises PlannerError if the fit fails for any other reason, or
    if the runs have one law for each group.
    """
    from isoplan.engine.fitting.single import fit_if_determined

    spec = _read_spec(law=law, y=y, objective=None)
    runs = _read_runs(runs, y, spec, ())
    if runs.roles.each:
        raise PlannerError("Option fit: the runs have one law for each group. Give the fit or the runs of one group.")
    return fit_if_determined(spec, runs, runs.where), runs.notes


def _check_groups(curves: bool, shared: bool, runs: Runs) -> None:
    """Raise PlannerError if a fit with groups or shared parameters has options that exclude each other.

    A fit of training curves cannot have groups or shared parameters. A fit with a separate law for each group
    (each=True) cannot have shared parameters.
    """
    if curves or (shared and runs.roles.each):
        other = "curves" if curves else "share"
        raise PlannerError(
            f"Option {other}: not possible for runs with groups. Remove {other}, or remove the groups (share, each)."
        )


def compare(
    runs: Runs | Table, *, objective: ObjectiveName | None = None, **options: Any
) -> Comparison | dict[str, Comparison]:
    """Rank laws by how well they predict the largest runs.

    Parameters
    ----------
    runs : Runs or table
        The result of ``isoplan.runs``, or a table that is read with the guessed columns.
    objective : str
        As for ``isoplan.fit``.
    **options : fields of ``isoplan.engine.fitting.FitSpec``
        y (a metric, "accuracy:max"), delta and seed.

    Returns
    -------
    Comparison or dict
        The laws, best first. For runs read with each=True, a dict of one comparison for each group.

    Raises
    ------
    PlannerError
        An option is wrong, or no law can be fitted.
    """
    from isoplan.engine.fitting.validation.comparison import compare_groups

    check_options(options, COMPARED, compare)
    y = str(options.pop("y", ""))
    spec = _read_spec(law="chinchilla", y=y, objective=objective, bootstrap=0, **options)
    runs = _read_runs(runs, y, spec, ())
    comparisons = compare_groups(spec, runs, objective is None)
    return comparisons if runs.roles.each else comparisons[""]


def _read_spec(*, law: str, y: str, objective: ObjectiveName | None, **options: Any) -> FitSpec:
    """Return the specification of a fit. Raises PlannerError that names a wrong law or option."""
    from isoplan.engine.fitting.types.spec import read_spec
    from isoplan.engine.quantities import share_or_column
    from isoplan.engine.store.columns.directions import split_direction

    if isinstance(error := options.get("relative_error"), str):
        options["relative_error"] = share_or_column(error)
    return read_spec("", law=law, y=split_direction(y)[0] or "loss", objective=objective or "huber-log", **options)


def _read_runs(runs: Runs | Table, y: str, spec: FitSpec, extra: tuple[str, ...]) -> Runs:
    """Return the runs. ``y`` may include the better direction of the metric, as in "accuracy:max".

    If ``runs`` is a table, the columns that ``spec`` needs are read.
    """
    from isoplan.engine.formula import parse_formula
    from isoplan.engine.schema import Runs
    from isoplan.engine.store.columns.directions import split_direction, with_direction

    if not isinstance(runs, Runs):
        offered = tuple(sorted(parse_formula(spec.formula).names)) if spec.formula else ()
        return read_table(runs, {}, y, extra=extra, offered=offered)
    for option in ("axis", "relative_error"):
        name = getattr(spec, option)
        if name in extra and name not in runs:
            raise PlannerError(
                f"Option {option}: the runs have no column {name!r}. Read it, as in isoplan.runs(..., extra={name!r})."
            )
    column, direction = split_direction(y)
    return with_direction(runs, column, direction, "y") if direction else runs


def _read_training(
    curves: Curves | Table | None, runs: Runs, roles: Mapping[str, str], y: str, extra: tuple[str, ...]
) -> Curves | None:
    from isoplan.engine.schema import Curves

    if curves is None or isinstance(curves, Curves):
        return curves
    return read_curves(curves, runs, roles, y, extra)
