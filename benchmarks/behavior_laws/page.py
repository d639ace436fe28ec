"""Text of docs/behavior_laws.md and of the pages for other event logs, made from the bundled sweeps."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.behavior_laws.agree import agreeing
from benchmarks.behavior_laws.figures import ALLOCATED, COUNTED, SWEPT, name, there
from benchmarks.report import Report, pair, table
from isoplan.data import trained
from isoplan.data.files import records
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.optimum_location import SAID
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.laws.catalogue.hyperparameter import critical
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.recommender import Optimum, recommend
from isoplan.engine.planning.recommender.builder import FULL
from isoplan.engine.planning.recommender.choice import Choice, Setting
from isoplan.engine.planning.recommender.references import HEAD as COUNTED_HEAD
from isoplan.engine.quantities import count, power10
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.sizing import NARROWEST

HEAD = """# The laws of our recommender cells on {log}

These sweeps were trained on {log} with the two-part model of [recommender.md](recommender.md), after the behavioural
paper (arXiv:2606.05257). This page is written by `python -m benchmarks behavior_laws` from their tables, which
`data/README.md` lists. A cell is one training run of a sweep. Numbers in brackets are 68 % intervals. Metrics of
stage 1 are batch-local, and metrics of stage 2 are computed over the whole catalogue. Budgets are computed by the
step formula.
"""
FASTEST = """
Except in the batch sweep, each cell was trained with three learning rates, each half of the next, and the rate with
the smallest training loss was selected. If most cells of a sweep selected the largest rate, a larger rate might be
better and might move the optimum.
"""
COUNTING = """
### Baselines from counts

The popularity baseline scores every item by its share of the training events. Its loss over the whole catalogue is
the unigram cross-entropy of the log. The baseline "counts after the last items" is a Markov chain. It counts how
often each item occurs within five events after one of the user's last five items, and adds a hundred events
distributed by popularity. The baseline "all candidates alike" gives all candidates of a batch the same score, as an
in-batch softmax without information on the history does.

A cell is "no better than counts" in two cases: its loss is at least the smaller of the losses of "all candidates
alike" and "popularity" on the same candidates; or its recall@10 over the whole catalogue is below that of popularity.
Such cells are not used in laws. If they are more than half of the cells of a budget, no cell of this budget is used,
because the remaining cells would be selected by their results. The critical batch uses all cells, because a cell that
overfits at its end can be better before.

For each sweep, the table has three lines with baselines on the candidates of the sweep, and then the results of its
cells. Each of these lines is the range at one budget or, for the batch sweep, one batch size. A pass over the log is
a pass over all its training events.
"""
BOUNDED = """The exponent a is constrained to values from 0 to 1. If an end of the interval is 0 or 1, because many
refits end there, this end is not determined. The table then states only "above" or "below" the other end.
N* and D* are computed from the same refits."""
VARIED: dict[Setting, tuple[str, str]] = {
    "s": ("share s", "s"), "B": ("batch B", "batch"), "N": ("size N", "N"), "K": ("negatives K", "negatives"),
}  # fmt: skip
OFFERED = {"s": "Table 2", "K": "Table 6"}


def write(folder: Path, log: str, stem: str) -> str:
    """Return the text of the page for an event log. ``folder`` contains the sweeps on this log.

    ``log`` is the name of the event log. The file names of the pictures begin with ``stem``.
    """
    parts = (_trained(folder), _share(folder), _batch(folder), _allocation(folder), _negatives(folder))
    text = "\n".join([HEAD.format(log=log), *(line for part in parts for line in part), *agreeing(folder)]) + "\n"
    return re.sub("\n{3,}", "\n\n", text).replace("](images/", f"](images/{stem}_")


def report(logs: Mapping[str, Path]) -> Report:
    """Return a report for docs/benchmarks.md.

    The report contains the recommended settings at the largest budget, with one row per event log and metric.
    """
    title = "The laws of our recommender cells"
    lines = [(log, *line) for log, folder in logs.items() for line in _recipes(folder)]
    if not lines:
        return Report(title, "Not trained yet: `make grid-behavior` writes their tables.", ("metric",), ())
    sentence = (
        "The recipe from the cells that Isoplan trained, at their largest budget, by log and metric. "
        "More results are in "
    )
    links = "[behavior_laws.md](behavior_laws.md) and [behavior_laws_games.md](behavior_laws_games.md)."
    return Report(title, sentence + links, ("log", "FLOPs", "metric", "s*", "B_crit", "N*", "D*", "K*"), tuple(lines))


def _recipes(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield one table row per metric: the budget, the metric, and the recommended value of each setting."""
    C = trained.budget(folder)
    if C is None:
        return
    settings: tuple[Setting, ...] = ("s", "B", "N", "D", "K")
    for metric in trained.COLUMNS:
        evidence = trained.evidence(folder, metric)
        if metric in evidence.metrics:
            choices = recommend(evidence, C, metric).recipe.choices
            yield power10(C), metric, *(_chosen(choices[setting]) for setting in settings)


def _chosen(choice: Choice) -> str:
    if choice.value.value is not None:
        return _shown(choice.setting, choice.value.value)
    if choice.place is None:
        return "not known"
    return "no plateau" if choice.setting == "B" else f"{SAID[choice.place]} the sweep"


def _shown(setting: str, x: float) -> str:
    """Return the value ``x`` of a setting as text."""
    if setting == "s":
        return f"{100 * x:.2g} %"
    return f"{x:,.0f}" if setting in ("B", "K") and x < 1e5 else count(x, 3)


def _trained(folder: Path) -> Iterator[str]:
    yield "## What was trained\n"
    lines = []
    for setting, sweep in trained.SWEEPS.items():
        if found := trained.rows(folder, sweep):
            what, column = VARIED[setting]
            hours = float(np.nansum(trained.numbers(found, "seconds"))) / 3600
            budgets = sorted({float(row["budget"]) for row in found} - {0.0})
            lines.append((
                sweep, str(len(found)), ", ".join(map(power10, budgets)) or f"{_span(found, 'updates', 'B')} steps",
                f"{what} {_span(found, column, setting)}", _span(found, "N"), _span(found, "D"),
                _passes(found), _untrained(found), _fastest(folder, sweep, found), f"{hours:.1f}",
            ))  # fmt: skip
    columns = ("sweep", "cells", "budgets [FLOPs]", "varied", "N", "D [events]", "passes over the log",
               "no better than counts", "at the largest rate", "hours")  # fmt: skip
    yield from table(columns, lines)
    yield FASTEST
    yield from _counts(folder)


def _passes(found: Sequence[dict[str, str]]) -> str:
    """Return the smallest and the largest number of passes of a cell, D / (number of training events), as text."""
    passes = trained.numbers(found, "D") / trained.numbers(found, "U")
    if np.isnan(passes).all():
        return ""
    return " to ".join(dict.fromkeys(f"{x:.2g}" for x in (np.nanmin(passes), np.nanmax(passes))))


def _untrained(found: Sequence[dict[str, str]]) -> str:
    marks = trained.numbers(found, "untrained")
    return "" if np.isnan(marks).all() else f"{int(np.nansum(marks))} of {len(found)}"


def _counts(folder: Path) -> Iterator[str]:
    """Yield a table that compares the cells with predictions from event counts, in both kinds of evaluation."""
    if lines := trained.counting(folder):
        yield COUNTING
        yield from table(("sweep", *COUNTED_HEAD), lines)


def _fastest(folder: Path, sweep: str, found: Sequence[dict[str, str]]) -> str:
    """Return the number of cells for which the largest learning rate was the best, such as '3 of 12'.

    Returns "" if each cell had a single learning rate.
    """
    asked = tomllib.loads((folder / f"behavior_{sweep}.toml").read_text("utf-8"))["cell"]
    rates = {name: asked[name] for name in ("rate", "rates") if name in asked}
    tried = [BehaviorCell(batch=int(row["batch"]), **rates).tried_rates for row in found]
    if all(len(some) == 1 for some in tried):
        return ""
    kept = [np.isclose(float(row["rate_used"]), some[-1]) for row, some in zip(found, tried, strict=True)]
    return f"{sum(kept)} of {len(kept)}"


def _span(found: Sequence[dict[str, str]], column: str, setting: str = "") -> str:
    x = trained.numbers(found, column)
    ends = [_shown(setting, float(end)) for end in (np.nanmin(x), np.nanmax(x))]
    return " to ".join(dict.fromkeys(ends))


def _share(folder: Path) -> Iterator[str]:
    yield from _swept(
        folder, "s", "The share of the embedder",
        "N and D follow from the budget, the share and a constant ratio D/N. The share is the actual value of p_e / N.",
    )  # fmt: skip


def _negatives(folder: Path) -> Iterator[str]:
    yield from _swept(
        folder, "K", "Extra negatives",
        "All cells of a budget continue from the same stage 1. Stage 2 uses the whole budget again, with K uniformly "
        "drawn\nitems as negatives. Cells with K = 0 are measured, but not used for the curve, because K has no "
        "logarithm there. The\nintervals include the larger of the scatter around the curve and the counting noise of "
        "the scored events. They do\nnot include the variation between seeds.",
    )  # fmt: skip


def _swept(folder: Path, setting: Setting, title: str, how: str) -> Iterator[str]:
    """Yield a table with the optimum of each metric and budget in a sweep.

    If the optimum is outside the sweep, the entry names the nearest end of the sweep.
    """
    metrics = [metric for metric in trained.COLUMNS if there(folder, setting, metric)]
    if not metrics:
        return
    optima = {m: _optima(folder, setting, m) for m in metrics}
    laws = {one.fit.law.name for found in optima.values() for one in found if one.fit is not None}
    yield f"\n## {title}\n\n{how}\n{_law_said(laws)}\n"
    for k, metric in SWEPT:
        if k == setting and metric in metrics:
            yield f"![{title} against {metric}, with one curve per budget](images/{name(setting, metric)}.png)\n"
    budgets = [one.budget for one in optima[metrics[0]]]
    paper = _paper(setting)
    yield from table(
        ("metric", *map(power10, budgets), f"paper, {OFFERED[setting]}"),
        [(m, *(_optimum(setting, one) for one in optima[m]), paper.get(m, "")) for m in metrics],
    )


def _law_said(laws: set[str]) -> str:
    if laws == {"starvation"}:
        return "The law E + a x^α + b x^-β with two costs is fitted at each budget."
    if laws == {"log-parabola"}:
        return (
            "A parabola in the logarithm is fitted at each budget. The law of the paper with two costs has five "
            f"parameters,\nwhich is too many for fewer than {FULL} cells."
        )
    return "A law with two costs or, for few cells, a parabola in the logarithm is fitted at each budget."


def _optima(folder: Path, setting: Setting, metric: str) -> tuple[Optimum, ...]:
    evidence = trained.evidence(folder, metric)
    return evidence.share if setting == "s" else evidence.negatives


def _optimum(setting: Setting, one: Optimum) -> str:
    """Return an optimum with its interval as text, or the nearest end of the sweep for an optimum outside the sweep."""
    if one.inside and one.x.value is not None:
        ends = one.x.ci68
        sure = "no interval" if ends is None else f"{_shown(setting, ends[0])} to {_shown(setting, ends[1])}"
        return f"{_shown(setting, one.x.value)} ({sure})"
    if one.place == "outside right":
        return f"outside, above {_shown(setting, one.high)}"
    if one.place == "outside left":
        return f"outside, below {_shown(setting, one.low)}"
    return f"{SAID[one.place]} the sweep"


def _paper(setting: Setting) -> dict[str, str]:
    """Return one text per metric: the range of the optima in the paper, and the number of optima outside its sweep."""
    file, column, scale = {
        "s": ("table02_embedder_share", "s_star_percent", 0.01), "K": ("table06_negatives", "K_star", 1.0),
    }[setting]  # fmt: skip
    every = records(f"papers/behavior/{file}.csv")
    found = {}
    for metric in dict.fromkeys(row["metric"] for row in every):
        own = [row[column] for row in every if row["metric"] == metric]
        inside = [float(x) * scale for x in own if x]
        text = f"{_shown(setting, min(inside))} to {_shown(setting, max(inside))}" if inside else ""
        lost = len(own) - len(inside)
        found[metric] = "; ".join(filter(None, (text, f"{lost} of {len(own)} outside" if lost else "")))
    return found


def _batch(folder: Path) -> Iterator[str]:
    if not trained.rows(folder, "batch"):
        return
    yield """
## The critical batch

The target of a metric is the best value that all batch sizes reach. S is the number of training steps that a batch
size needs to reach the target. The law S = S_min (1 + B_crit/B) is fitted to S, and B_crit is the critical batch
size. The learning rate of a cell is constant and proportional to √B. The training curves are smoothed: each point is
the mean over a share of the steps before it. The intervals combine the fits at smoothings of 0, 0.3, 0.6 and 0.8.
They do not include the variation between cells with the same batch size. The loss is measured on the candidates of
one pool for all batch sizes, although a larger batch is trained with more candidates.
"""
    if there(folder, "B", COUNTED):
        yield f"![Training steps to a target of {COUNTED} against the batch](images/batch.png)\n"
    printed = {
        row["metric"]: row["B_crit"] or "no plateau" for row in records("papers/behavior/table03_critical_batch.csv")
    }
    lines = []
    batches = sorted(set(trained.numbers(trained.rows(folder, "batch"), "batch").tolist()))
    for metric in (metric for metric in trained.COLUMNS if there(folder, "B", metric)):
        made, behind = trained.evidence(folder, metric).batch[metric], trained.updates(folder, metric)
        S = dict(zip(behind["batch"].tolist(), behind[made.spec.y].tolist(), strict=True))
        at = next(w.text.split()[-1].rstrip(".") for w in made.warnings if w.text.startswith("Training steps until"))
        lines.append(
            (metric, at, *(f"{S[B]:,.0f}" if B in S else "" for B in batches), _critical(made), printed.get(metric, ""))
        )
    if lines:
        yield from table(("metric", "target", *(f"S({B:g})" for B in batches), "B_crit", "paper, Table 3"), lines)
    for metric in trained.COLUMNS:
        if why := trained.evidence(folder, metric).missing.get("B"):
            yield f"\nNo B_crit of {metric}: {why}"


def _critical(made: Fit) -> str:
    if not np.isfinite(critical(made.values)):
        return "no plateau"
    found = next(p for p in made.derived if p.name == "B_crit")
    if found.ci68 is None:
        return f"{count(found.value, 3)} (no interval)"
    low, high = (count(end, 3) if np.isfinite(end) else "∞" for end in found.ci68)
    return f"{count(found.value, 3)} ({low} to {high})"


def _allocation(folder: Path) -> Iterator[str]:
    if not trained.rows(folder, "allocation"):
        return
    printed = {r["metric"]: f"{r['a_N']} ± {r['a_N_se']}" for r in records("papers/behavior/table05_exponents.csv")}
    lines, said = [], {}
    C = max(trained.numbers(trained.rows(folder, "allocation"), "budget"))
    for metric in trained.COLUMNS:
        try:
            lines.append((metric, *_frontier(folder, metric, C), printed.get(metric, "")))
        except PlannerError as error:
            said[metric] = str(error)
    yield f"""
## Model and events

A parabola in ln N is fitted at each budget, and the law N* = k C^a is fitted to the minima. D* is the number of
events that C allows at N* by the step formula.{f" {_rule(folder)}" if there(folder, "N", ALLOCATED) else ""}
The embedder contains {_span(trained.rows(folder, "allocation"), "s", "s")} of N. Its width h is a whole number of at
least {NARROWEST}. {trained.confounded(folder)}
{BOUNDED}
"""
    if there(folder, "N", ALLOCATED):
        yield "![N* and D* against compute](images/allocation.png)\n"
    yield from table(
        (
            "metric",
            "a, confounded" if trained.confounded(folder) else "a",
            f"N* at {power10(C)}",
            "D*",
            "optima outside their sweep",
            "paper's a, Table 5",
        ),
        lines,
    )
    for metric, why in said.items():
        yield f"\nNo frontier of {metric}: {why}"


def _frontier(folder: Path, metric: str, C: float) -> tuple[str, str, str, str]:
    """Return four texts: the exponent of N*, the values of N* and D* at ``C`` FLOPs, and the extrapolated budgets.

    N* and D* are the compute-optimal N and D. A budget is extrapolated if its optimum is outside the sweep. Raises
    PlannerError if the law of N cannot be fitted.
    """
    evidence = trained.evidence(folder, metric)
    if "N" in evidence.missing:
        raise PlannerError(evidence.missing["N"])
    made = evidence.allocation[metric]
    a = next(p for p in made.parameters if p.name == "a")
    choices = recommend(evidence, C, metric).recipe.choices
    outside = [w.text.split(" of budget ")[1].split(" lies")[0] for w in made.warnings if w.code == "outside-sweep"]
    return pair(a.value, a.ci68), _size(choices["N"]), _size(choices["D"]), "; ".join(outside) or "none"


def _size(choice: Choice) -> str:
    q = choice.value
    ends = "no interval" if q.ci68 is None else " to ".join(count(x, 3) for x in q.ci68)
    return "none" if q.value is None else f"{count(q.value, 3)} ({ends})"


def _rule(folder: Path) -> str:
    made = trained.evidence(folder, ALLOCATED).allocation[ALLOCATED]
    return f"The fit of this compute is {plan_budget(made, max(made.data.ranges['C'])).compute.text}."
