"""Text of docs/jets_laws.md, made from the bundled jets grids."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.jets_laws import checks, laws
from benchmarks.jets_laws.repeated import repetition
from benchmarks.jets_laws.words import printed, span, still_open, symbol, wrapped
from benchmarks.report import Report, pair, table
from isoplan.data.catalogue import records
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.optimum.frontier import frontier
from isoplan.engine.quantities import count, power10
from isoplan.trainers.jets.cell import AT_ONE, learning_rate

HEAD = """# The laws of our jets

This page contains the scaling laws of jet taggers that Isoplan trained, compared with those of the jet paper
(arXiv:2602.15781). `make grid-jets` trained the cells (training runs of a sweep) in `data/grids/jets_*.csv` on jets
that Isoplan simulates ([jets.md](jets.md)), with the set Transformer of the paper. This page is written by
`python -m benchmarks jets_laws` from these tables. N is the number of parameters, D the number of jets, C the compute.
Numbers in brackets are 68 % intervals.
"""
INPUTS = ("3x40", "21x10", "21x40", "21x128")


def write() -> str:
    """Return the text of the page. A section is omitted if its grid has no trained cell."""
    return "\n".join([HEAD, *_surface(), *repetition(), *_inputs(), *_study(), *_rate(), *_rejection()]) + "\n"


def report() -> Report:
    """Return a report for docs/benchmarks.md: how well the law predicts the held-out cells."""
    found = laws.hold_out()
    lines = [
        ("law chinchilla", f"{found.law:.2%}"),
        *((name, f"{error:.2%}") for name, error in found.baselines.items()),
    ]
    return Report(
        "The law of our jets",
        f"The law is fitted to the {found.fitted} cells with less compute and predicts the fifth of the cells with "
        f"the most compute, up to {found.decades:.1f} decades beyond the fitted cells. Goals: at most half the error "
        f"of the best baseline, and 80 % of the cells inside their 95 % prediction interval (here {found.inside} of "
        f"{len(found.outcomes)}). More results are in [jets_laws.md](jets_laws.md).",
        ("method", "mean relative error"),
        tuple(lines),
    )


def _surface() -> Iterator[str]:
    made, runs = laws.one_pass()
    every, asked = laws.rows("one_pass"), laws.asked("one_pass")
    left = len(every) - len(runs)
    yield f"""## Every jet once

{len(every)} cells, {span("width", every, "widths")} and {span("U", every, "numbers of jets")}. Each is trained
with the learning rate of its width and a cosine schedule with warm-up that ends at zero.{
        f" {left} of them end less than 0.1 below ln 10, the loss of guessing. They are marked untrained and not used."
        if left
        else ""
    }{still_open(asked - len(every))}
The table compares the fitted law E + A/N^α + B/D^β (Huber loss of the logarithms, losses in nats) with that of
JetClass. γ is the exponent of L - E along the compute-optimal frontier.

![Loss over model size and jets, cells, iso-loss and iso-FLOP lines](images/jets_law_surface.png)

The law differs from the law of the paper for two reasons. First, the jets differ: these jets have leading-order
processes, no pile-up and a simple smearing instead of a detector. The classes overlap differently, and the floor has
another value. Second, the range differs. The paper goes up to 10⁸ jets and models of 10⁷ parameters, where its loss is
close to the floor. These cells need seconds to half an hour of one core, and their loss stays above the floor, so they
hardly determine it. Use E only with its interval, and plan inside the range of the cells.
"""
    ours = {name: laws.interval(made, name) for name in ("E", "A", "alpha", "B", "beta", "gamma")}
    paper = {row["parameter"]: row for row in records("papers/jets/table1_scaling_law.csv")}
    yield from table(
        ("", "our jets", "JetClass (Table 1)"),
        [
            *((symbol(name), pair(*ours[name]), printed(paper[name])) for name in ours),
            ("a", pair(*laws.interval(made, "a")), f"{_paper_a(paper):.2f} (β / (α + β) of the table)"),
        ],
    )
    yield from _support()
    yield from _optimum(made)
    yield from _hold_out()


def _paper_a(paper: dict[str, dict[str, str]]) -> float:
    alpha, beta = (float(paper[name]["value"]) for name in ("alpha", "beta"))
    return beta / (alpha + beta)


def _support() -> Iterator[str]:
    """Yield the lines of the section on the evidence for the exponents."""
    alpha, failed = checks.alpha_by_width(), list(checks.failed())
    smallest, *rest = alpha
    without = "; ".join(f"{alpha[d]:.2f} from width {d} on" for d in rest)
    yield """
a is the exponent of the compute-optimal N ∝ C^a, so it sets the model size of a plan. It differs from the
value of the paper: by this law, the model size grows more slowly with the budget. γ agrees with the paper, although α
and a do not. Limits of these exponents:
"""
    bullets = [
        f"- α depends on the smallest widths: {alpha[smallest]:.2f} for all cells; {without}. From width "
        f"{checks.WIDE} on the size of a model hardly changes its loss, so these cells do not determine α. "
        "a follows from α.",
        f"- Each cell was trained with {_seeds()}.",
        *(
            f"- The training of width {width} on {count(float(jets))} jets failed: its loss is {loss:.2f}, and the "
            f"same width reaches {least:.2f} on fewer jets. The cell is in the fit, where the Huber objective limits "
            "its weight."
            for width, jets, loss, least in failed
        ),
    ]
    yield from (wrapped(text, "  ") for text in bullets)


def _seeds() -> str:
    most = checks.seeds()
    return "one seed" if most == 1 else f"at most {most} seeds"


def _optimum(made: Fit) -> Iterator[str]:
    theory, counted = laws.theory(), laws.counted()
    yield f"""
### The best model of a budget, under both counts

The compute rule 6 n_p N D does not include attention and the embedding of the inputs, which dominate the compute of a
small model. The counted compute of these cells is {counted.text}. n_p is {theory.n_p:.1f} particles.
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
N*, D* and L* are the compute-optimal model size, number of jets and loss for C. * extrapolated: more jets than the
{count(largest)} of the largest cells."""


def _hold_out() -> Iterator[str]:
    found = laws.hold_out()
    by_compute, by_jets = checks.hold_outs()
    yield f"""
### Without its largest cells

The law is fitted to the {found.fitted} cells with less compute and predicts the fifth of the cells with the most
compute, up to {found.decades:.1f} decades beyond the fitted cells. Its mean relative error is {found.law:.1%}. The
error of the best baseline ({found.best}) is {found.baselines[found.best]:.1%}. {found.inside} of
{len(found.outcomes)} cells lie inside their 95 % interval.

This hold-out contains no new D: for each held-out cell there is a fitted one with the same number of jets. The planner
extrapolates D. Therefore the second row tests an extrapolation in D: the law is fitted to the {by_jets.fitted}
cells of at most {count(checks.LARGEST_D)} jets and predicts the {by_jets.held} cells with more jets. The table compares
the law with a power law in D alone on the cells of width {checks.WIDE} and more:
"""
    yield from table(
        ("held out", "cells", "law", "law, width 16 and more", "B/D^β, width 16 and more", "nearest cell of equal D"),
        [
            (one.name, str(one.held), f"{one.law:.1%}", f"{one.wide:.1%}", f"{one.power:.1%}",
             "none" if one.neighbour is None else f"{one.neighbour:.1%}")
            for one in (by_compute, by_jets)
        ],
    )  # fmt: skip
    yield """
The numbers are mean relative errors. B/D^β is fitted by least squares of the logarithms, without a floor, and evaluated
on the held-out cells of width 16 and more. The nearest cell is the one with the nearest N. The held-out cells with the
most compute:
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
            (pair(*laws.interval(made, name)), printed(paper[inputs, name])) for name in ("L_inf", "B_rep", "beta_rep")
        )
        lines.append((inputs, *(text for pair in both for text in pair)))
    yield from table(("inputs", "L_inf", "JetClass", "B_rep", "JetClass", "β_rep", "JetClass"), lines)
    yield """
The losses have the same order as in the paper. Kinematics alone (3x40) gives the largest loss. Ten particles with all
features are better than forty particles with kinematics. More than forty particles change the loss by less than the
scatter of cells of one size (3 %), because a jet contains 42 particles on average. Each law is fitted to four cells
over one decade of jets; the paper has several decades. Therefore the three parameters are hardly determined. The
intervals of the floor range from zero to just below the loss of the last cell, and the intervals of the exponents
contain the values of the paper. The exponent of 3x40 is too large, because its smallest cell hardly trained (ln 10,
the loss of guessing,
is 2.30)."""


def _study() -> Iterator[str]:
    if not laws.there("rates"):
        return
    yield f"""
## Learning rates

{len(laws.rows("rates"))} cells that see each jet once, with a cosine schedule, determine the learning rate of all
other cells: {AT_ONE:g} / d for width d. This rate is within a factor of 2 of the best rate that was tried at each
width and number of jets (> marks the largest rate that was tried). It increases the loss by at most
{max(one.costs(learning_rate(one.width)) for one in laws.study()):.0%} relative to the best rate.
"""
    yield from table(
        ("width d", "jets", "best rate", "loss at this rate", f"{AT_ONE:g} / d", "loss at this rate"),
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
## Cost of one learning rate for all cells

Cells of width {width} with the batch size of 128 and the learning rate of 1e-4 of the paper, compared with the same
cells at their own batch size and rate. Each jet is seen once.
"""
    yield from table(
        ("jets", "loss at 1e-4", "training steps", "loss at its own rate", "training steps"),
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

QCD rejection of each signal at its efficiency, against the loss of {len(cells)} cells of width {cells[0]["width"]}
that see each jet once ({span("D", cells, "numbers of jets")}). They are evaluated on {int(cells[0]["tests"]):,} QCD
jets and a hundredth as many jets of each signal. The fit is R = A e^(B L) + C, weighted by the errors of the
rejections. If fewer than 20 QCD jets survive, the rejection is a lower limit and is not used.

![Rejection against loss](images/jets_law_rejection.png)
"""
    lines = []
    for metric in laws.metrics():
        made, runs = laws.rejection(metric)
        assert made.chi2 is not None
        shown = f"{made.chi2[0]:.2g}" if made.chi2[0] < 10 else f"{made.chi2[0]:.0f}"
        numbers = (pair(*laws.interval(made, name)) for name in ("A", "B", "C"))
        lines.append((metric, str(len(runs)), *numbers, f"{shown} / {made.chi2[1]}"))
    yield from table(("", "cells", "A", "B", "C", "χ² / degrees of freedom"), lines)
    yield """
χ² is the sum of the squared residuals of ln R, divided by the errors from the number of test jets. A value far above
the degrees of freedom means that R is not a function of the loss alone within these errors, or that the formula is
wrong. This is the case for most signals. All cells are evaluated on one test set, so their errors are correlated.
Each cell was trained with one seed.

The rejection increases as the loss decreases. The increase is steepest for classes with distinctive features:
displaced tracks for b and c, the mass and the b for t. For H to gg and 4q, Z and W, the rejection increases most at
large losses and less than exponentially at small losses (A is negative). Their A, B and C therefore do not determine
the rejection at smaller losses. The loss includes ten classes. Cells with the same loss can separate one pair of
classes better and another pair worse, so they scatter around the curves by more than the counting errors. Do not
compare these numbers with JetClass,
because the QCD jets, the detector and the losses differ."""
