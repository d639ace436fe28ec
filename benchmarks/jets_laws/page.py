"""docs/jets_laws.md from the bundled grids."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.jets_laws import laws
from benchmarks.report import Report, between, pair, table
from data.catalogue import records
from engine.fitting.result import Fit, Interval
from engine.laws.repetition import amplification
from engine.planning.frontier import frontier
from engine.planning.repeat.floors import together
from engine.quantities import count, power10
from trainers.jets.rates import AT_ONE, learning_rate

HEAD = """# The laws of our jets

The grids in `data/grids/jets_*.csv` were trained by `make grid-jets` on jets that Isoplan simulates
([jets.md](jets.md)), with the set Transformer of the jet paper (arXiv:2602.15781). This page is written by
`python -m benchmarks jets_laws` from these tables. Numbers in brackets are 68 % intervals.
"""
PAPER_LAMBDA = 0.47
INPUTS = ("3x40", "21x10", "21x40", "21x128")


def write() -> str:
    """The page, as far as the grids are trained."""
    return "\n".join([HEAD, *_surface(), *_repetition(), *_inputs(), *_study(), *_rate(), *_rejection()]) + "\n"


def report() -> Report:
    """The hold-out, for docs/benchmarks.md."""
    found = laws.hold_out()
    lines = [
        ("law chinchilla", f"{found.law:.2%}"),
        *((name, f"{error:.2%}") for name, error in found.baselines.items()),
    ]
    return Report(
        "The law of our jets",
        f"Fitted to the {found.fitted} cells of smaller compute, held against the largest-compute fifth, up to "
        f"{found.decades:.1f} decades beyond; goals: at most half the error of the best baseline, and 80 % of the "
        f"cells inside their 95 % prediction interval (here {found.inside} of {len(found.outcomes)}). The rest is in "
        "[jets_laws.md](jets_laws.md).",
        ("method", "mean relative error"),
        tuple(lines),
    )


def _surface() -> Iterator[str]:
    made, runs = laws.one_pass()
    every, asked = laws.rows("one_pass"), laws.asked("one_pass")
    left = len(every) - len(runs)
    yield f"""## Every jet once

{len(every)} cells, {_span("width", every, "widths")} and {
        _span("U", every, "numbers of jets")
    }, each at a learning rate
for its width that a cosine warms up and lets fall to zero.{
        f" {left} of them end less than 0.1 below ln 10, the loss of guessing: flagged untrained, kept and left out."
        if left
        else ""
    }{_open(asked - len(every))}
E + A/N^α + B/D^β (Huber loss of the logarithms), in nats, beside that of JetClass; γ is the exponent of L - E along the
frontier:

![Loss over model size and jets, cells, iso-loss and iso-FLOP lines](images/jets_law_surface.png)

Ours is not the paper's law, and need not be. The jets are others: leading-order processes, no pile-up, a simple
smearing in place of a detector, so that classes overlap otherwise and the floor lies elsewhere. The range is another:
the paper goes up to 10⁸ jets and models of 10⁷ parameters, where its loss comes near the floor; our cells take seconds
to half an hour of one core and end above it, so that they say little of where it lies: read E with its interval, and
plan inside the cells. α rests on the two smallest widths, which alone limit the loss here, and has a wide interval.
"""
    ours = {name: laws.interval(made, name) for name in ("E", "A", "alpha", "B", "beta", "gamma")}
    paper = {row["parameter"]: row for row in records("papers/jets/table1_scaling_law.csv")}
    yield from table(
        ("", "our jets", "JetClass (Table 1)"),
        [(_symbol(name), pair(*ours[name]), _printed(paper[name])) for name in ours],
    )
    yield from _optimum(made)
    yield from _hold_out()


def _optimum(made: Fit) -> Iterator[str]:
    theory, counted = laws.theory(), laws.counted()
    yield f"""
### The best model of a budget, under both counts

6 n_p N D leaves out attention and the embedding of the inputs, which are most of a small model's work. Counted, C of
these cells is {counted.text}. n_p is {theory.n_p:.1f} particles.
"""
    span, largest = made.data.ranges["C"], made.data.ranges["D"][1]
    budgets = [10.0**k for k in range(math.ceil(math.log10(span[0])), math.floor(math.log10(span[1])) + 1)]
    lines = []
    for C in budgets:
        at = [frontier(made.law, made.values, np.asarray(C), rule) for rule in (theory, counted.rule)]
        beyond = ["*" if p.D > largest else "" for p in at]
        texts = (
            (count(float(p.N)), count(float(p.D)) + star, f"{float(p.loss):.3f}")
            for p, star in zip(at, beyond, strict=True)
        )
        lines.append((power10(C), *(text for part in texts for text in part)))
    head = ("C [FLOPs]", "N*, 6 n_p N D", "D*", "L*", "N*, counted", "D*", "L*")
    yield from table(head, lines)
    yield f"""
N*, D* and L* are the model, the jets and the loss that C buys at best. * more jets than the {count(largest)} of the
largest cells: extrapolated."""


def _hold_out() -> Iterator[str]:
    found = laws.hold_out()
    yield f"""
### Without its largest cells

Fitted to the {found.fitted} cells of smaller compute, the law predicts the largest-compute fifth, up to
{found.decades:.1f} decades beyond, to {found.law:.1%} on average; the best baseline ({found.best}) to
{found.baselines[found.best]:.1%}. {found.inside} of {len(found.outcomes)} cells lie inside their 95 % interval.
"""
    yield from table(
        ("N", "D", "C [FLOPs]", "predicted, 95 %", "loss"),
        [
            (
                count(one.at["N"]),
                count(one.at["D"]),
                power10(one.at["C"]),
                pair(one.predicted.value or math.nan, one.predicted.ci95),
                f"{one.actual.value:.3f}",
            )
            for one in found.outcomes
        ],
    )


def _repetition() -> Iterator[str]:
    if not laws.there("repeated"):
        return
    cells = laws.rows("repeated")
    made, runs = laws.repeated()
    once = laws.one_pass()[0]
    both = together(once, made)
    jets = [1e3, 1e4, 1e5, 1e6]
    best, draws = both.best, both.draws
    gains = [(amplification(best, best, np.asarray(D)), amplification(draws, draws, np.asarray(D))) for D in jets]
    yield f"""
## The same jets again and again

{len(cells)} cells pass over their jets until the validation loss turns up; the best pass is kept.{
        _open(laws.asked("repeated") - len(cells))
    }
The losses of the {len(runs)} of models that mostly overfit (N from {count(runs["N"].min())}) against their jets,
L_inf + B_rep/D^β_rep, beside the same of JetClass:

![Early-stopped loss against the jets that are repeated](images/jets_law_repeated.png)
"""
    paper = {r["parameter"]: r for r in records("papers/jets/table2_repetition.csv") if r["particles"] == "128"}
    yield from table(
        ("", "our jets", "JetClass (Table 2)"),
        [
            (_symbol(name), pair(*laws.interval(made, name)), _printed(paper[name]))
            for name in ("L_inf", "B_rep", "beta_rep")
        ],
    )
    yield f"""
One floor for both regimes {"fits" if both.shared else "does not fit"} (E less L_inf is {both.gap:.2f}). ω(D), the jets
that one pass needs for what D jets give when repeated (eq. 5):
"""
    yield from table(
        ("D", *(count(D) + ("" if D <= runs["U"].max() else "*") for D in jets)),
        [("ω", *(pair(float(b), _quantiles(d)) for b, d in gains))],
    )
    yield """
* more jets than any that were repeated: extrapolated."""
    yield from _threshold()


def _threshold() -> Iterator[str]:
    cells = {(int(row["width"]), int(row["U"])): row for row in laws.rows("repeated")}
    widths, jets = (sorted({key[k] for key in cells}) for k in (0, 1))
    over, runs = laws.threshold()
    lam, ends = laws.interval(over, "lambda")
    wrong = int(np.sum((runs["N"] > over.predict({"D": runs["D"]})) != (runs["overfits"] > 0)))
    yield """
### Who overfits

The least loss of each cell, and by how much the loss had risen above it when the cell ended (medians of up to
five looks):
"""
    yield from table(
        ("width d", *(f"{count(float(U))} jets" for U in jets)),
        [(str(d), *(_risen(cells[d, U]) if (d, U) in cells else "not trained" for U in jets)) for d in widths],
    )
    if ends is not None and ends[0] > 0:
        said = f"Here the exponent is {lam:.2f} ({between(ends)})."
    else:
        said = f"""This grid does not tell the exponent: no power of D parts the
cells, {wrong} of {len(runs)} lie on the wrong side of the best line. Their rate is constant and large, so that the
loss goes up and down by some per cent from pass to pass, and passes end soon after the best one: a rise of a per cent
is little beside that. What can be read: the smallest width hardly overfits, and its loss stops falling with more jets;
the others overfit nearly everywhere, the wider the earlier, and the widest are not the best ones of few jets."""
    yield f"""
The paper's models overfit from N ∝ D^{PAPER_LAMBDA} on. {said}"""


def _risen(row: dict[str, str]) -> str:
    return f"{float(row['loss']):.3f} (+{float(row['rise']):.1%})"


def _inputs() -> Iterator[str]:
    if not laws.there("inputs"):
        return
    cells = {(row["inputs"], float(row["U"])): row for row in laws.rows("inputs")}
    jets = sorted({U for _, U in cells})
    yield f"""
## Inputs

The four inputs of the paper, features x particles, at width {next(iter(cells.values()))["width"]}: the least loss of
each cell, and the laws L_inf + B_rep/D^β_rep through them.

![Early-stopped loss of four inputs against jets](images/jets_law_inputs.png)
"""
    yield from table(
        ("inputs", *(f"{count(U)} jets" for U in jets)),
        [(name, *(f"{float(cells[name, U]['loss']):.3f}" for U in jets if (name, U) in cells)) for name in INPUTS],
    )
    yield ""
    paper = {
        (f"{r['features']}x{r['particles']}", r["parameter"]): r for r in records("papers/jets/table2_repetition.csv")
    }
    lines = []
    for inputs in INPUTS:
        made = laws.of_inputs(inputs)[0]
        both = (
            (pair(*laws.interval(made, name)), _printed(paper[inputs, name])) for name in ("L_inf", "B_rep", "beta_rep")
        )
        lines.append((inputs, *(text for pair in both for text in pair)))
    yield from table(("inputs", "L_inf", "JetClass", "B_rep", "JetClass", "β_rep", "JetClass"), lines)
    yield """
The order is the paper's: kinematics alone are worst, ten particles with all features are better than forty without, and
particles beyond the fortieth add less than cells of one size scatter (3 %), for a jet holds 42 on average. The laws are
told by four cells each, over one decade of jets where the paper has several, so three parameters are hardly fixed: the
intervals reach from no floor at all to one just below the last cell, and they hold the paper's exponents. That of 3x40
comes out too large because its smallest cell hardly trained (ln 10, the loss of guessing, is 2.30)."""


def _study() -> Iterator[str]:
    if not laws.there("rates"):
        return
    yield f"""
## Learning rates

{len(laws.rows("rates"))} cells of one pass with a cosine choose the rate of all others: {AT_ONE:g} / d, within a factor
of 2 of the best rate that was tried at each width and number of jets (>: the largest that was tried). It costs at most
{max(one.costs(learning_rate(one.width)) for one in laws.study()):.0%} of the least loss.
"""
    yield from table(
        ("width d", "jets", "best rate", "loss there", f"{AT_ONE:g} / d", "loss there"),
        [
            (
                str(one.width),
                count(one.jets),
                f"{'>' if one.ends else ''} {one.best:.2g}".strip(),
                f"{one.loss(one.best):.3f}",
                f"{learning_rate(one.width):.2g}",
                f"{one.loss(learning_rate(one.width)):.3f}",
            )
            for one in laws.study()
        ],
    )


def _rate() -> Iterator[str]:
    if not laws.there("paper_rate"):
        return
    fixed = {row["U"]: row for row in laws.rows("paper_rate")}
    width = next(iter(fixed.values()))["width"]
    own = {row["U"]: row for row in laws.rows("one_pass") if row["width"] == width}
    yield f"""
## What one learning rate for all costs

Width {width} at the paper's batch of 128 and rate of 1e-4, each jet once, beside the same cells at their own:
"""
    yield from table(
        ("jets", "loss at 1e-4", "updates", "loss at its own rate", "updates"),
        [(count(float(U)), *_column(fixed[U]), *_column(own[U])) for U in fixed if U in own],
    )


def _column(row: dict[str, str]) -> tuple[str, str]:
    return f"{float(row['loss']):.3f}", f"{math.ceil(float(row['D']) / float(row['batch_used'])):,}"


def _rejection() -> Iterator[str]:
    if not laws.there("rejection"):
        return
    cells = laws.rows("rejection")
    yield f"""
## Rejection against loss

QCD rejection of each signal at its efficiency, against the loss of {len(cells)} cells of width {cells[0]["width"]} that
see each jet once ({_span("D", cells, "numbers of jets")}), judged on {int(cells[0]["tests"]):,} jets of QCD and a
hundredth as many of each signal: R = A e^(B L) + C, weighted by the errors of the rejections. Those that fewer than 20
QCD jets survive are lower limits and left out.

![Rejection against loss](images/jets_law_rejection.png)
"""
    lines = []
    for metric in laws.metrics():
        made, runs = laws.rejection(metric)
        lines.append((metric, str(len(runs)), *(pair(*laws.interval(made, name)) for name in ("A", "B", "C"))))
    yield from table(("", "cells", "A", "B", "C"), lines)
    yield """
As in the paper, rejection is a function of the loss that is the steeper the more a class has of what the others lack:
b and c by displaced tracks, t by its mass and its b. H to gg and 4q, Z and W gain most where the loss is large and less
than exponentially below (A is negative: the curve bends the other way), so that their A, B and C say nothing of where
they end. The loss counts ten classes at once; cells of the same loss may tell one pair better and another worse, and
scatter around the curves by more than their jets' counting does. Compare no numbers with JetClass: QCD, detector and
losses are others here."""


def _span(column: str, every: Sequence[dict[str, str]], what: str) -> str:
    values = sorted({float(row[column]) for row in every})
    return f"{len(values)} {what} ({count(values[0])} to {count(values[-1])})"


def _open(cells: int) -> str:
    """What is said of cells of a grid that are still to be trained."""
    return f" {cells} larger of the grid {'is' if cells == 1 else 'are'} not trained yet." if cells else ""


def _symbol(name: str) -> str:
    return {"alpha": "α", "beta": "β", "gamma": "γ", "beta_rep": "β_rep"}.get(name, name)


def _printed(row: dict[str, str]) -> str:
    return f"{row['value']} ({row['ci68_lo']} to {row['ci68_hi']})"


def _quantiles(draws: np.ndarray) -> Interval:
    low, high = np.nanquantile(draws, (0.16, 0.84))
    return float(low), float(high)
