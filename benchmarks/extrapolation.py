"""Prediction of the largest runs of the bundled tables by each law, compared with simple baselines."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import Report
from isoplan.data.catalogue import DEMOS, path
from isoplan.engine.fitting import FitSpec, compare
from isoplan.engine.fitting.validation.extrapolation import BASELINES
from isoplan.engine.schema import Role
from isoplan.engine.store.files.table_files import read_runs


def run() -> Report:
    """For each table, fit all suitable laws to the smaller runs and predict the largest runs.

    The report lists the laws (the best law first), and then the baselines.
    """
    rows: list[tuple[str, ...]] = []
    # Tables with groups are omitted, because each group has its own law.
    for demo in (d for d in DEMOS if d.roles.group is None):
        given = {role: demo.roles.column(Role(role)) for role in ("N", "D", "C", "loss", "budget")}
        mapped = {role: name for role, name in given.items() if name}
        found = compare(FitSpec(), read_runs(Path(str(path(demo.file))), mapped))
        v = found.validation
        if v is None:
            continue
        laws = {one.key: (percent(one.error), number(one.aic), str(one.parameters)) for one in found.ranked}
        others = {name: (percent(v.error(name, found.targets)), "", "0") for name in BASELINES}
        what = f"{len(v.cuts)} cuts, {'every run' if found.targets == 'runs' else 'best run of a budget'}"
        for method, numbers in (laws | others).items():
            cuts = ", ".join(percent(v.cut_error(cut, method, found.targets)) for cut in v.cuts)
            rows.append((demo.name, what, method, numbers[0], cuts, *numbers[1:]))
    return Report(
        "Prediction of the largest runs",
        "The largest budgets are left out in turn (without budgets: the top 15, 30 and 45 % of the range of log C). "
        "Laws are fitted to the other runs by the Huber loss of log residuals and predict the runs that were left out. "
        "The error is the mean relative error. The bundled tables are simulated.",
        ("table", "left out", "method", "error", "error of each cut", "AIC", "parameters"),
        tuple(rows),
    )


def percent(error: float) -> str:
    """Return a relative error as a percentage; a dash if it is not finite."""
    return f"{error:.2%}" if abs(error) < float("inf") else "-"


def number(value: float) -> str:
    """Return an information criterion with one decimal; a dash if it is not finite."""
    return f"{value:.1f}" if abs(value) < float("inf") else "-"
