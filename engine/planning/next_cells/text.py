"""Answer to "Next cells" as sentences and tables of texts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from isoplan.engine.design.advice import Advice, Rung
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.design.pretend import can_pretend
from isoplan.engine.design.widths import ERRORS, PAYS, Narrowing, Width, Widths
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.warnings import by_level
from isoplan.engine.planning.answer.format import aligned
from isoplan.engine.planning.next_cells.answer import NextCells
from isoplan.engine.quantities import count, duration, number, power10
from isoplan.engine.schema import COST

FACTOR = math.log(1.25)
"""Half width, in logarithms, above which an interval is written as a factor and not in percent."""
STARRED = ("N", "D")


def percent(width: float) -> str:
    """Return half the width of an interval of a logarithm as text, such as "± 5.7 %" or "×/÷ 3.2"."""
    if not math.isfinite(width):
        return "not bounded"
    if width > FACTOR:
        return f"×/÷ {number(math.exp(width), 2)}"
    return f"± {100 * math.expm1(width):.2g} %"


def between(width: Width) -> str:
    """Return the range of an expected width as text; empty if it was not simulated."""
    return "" if math.isnan(width.low) else f"{percent(width.low)} to {percent(width.high)}"


def share(part: float, whole: float) -> str:
    """Return ``part`` as a share of ``whole``, such as "5 %"."""
    percents = 100 * part / whole
    return f"{number(percents, 2 if percents < 100 else 3)} %"


def of_target(found: NextCells, cost: float) -> str:
    """Return ``cost`` as a share of the cost of the target run, such as "5 % of the target run"; "" if unknown."""
    return "" if found.target_cost is None else f"{share(cost, found.target_cost)} of the target run"


def asked(found: NextCells) -> str:
    """Return the first narrowed quantity as a phrase, such as "the loss at 10^20 FLOPs"."""
    name, q = found.advice.estimands[0].name, found.plan.question
    of = f"at {q.budget(found.plan.prices)}" if q.kind == "budget" else f"for {found.fit.spec.y} {q.value:.4g}"
    limited = " within the limits" if q.limits.given else ""
    return f"{'the ' if name not in STARRED else ''}{short(name)} {of}{limited}"


def short(name: str) -> str:
    """Return the name of a narrowed quantity; N and D of an optimum have a star."""
    return f"{name}*" if name in STARRED else name


def sentence(found: NextCells) -> str:
    """Return the advice in one sentence."""
    advice, n = found.advice, len(found.advice.cells)
    if not advice.pays:
        paying = [rung for rung in advice.ladder
                  if rung.spend > found.spend and advice.narrowed(rung.widths).verdict == "pays"]  # fmt: skip
        more = f" {_spent(found, paying[0])}" if paying else ""
        return f"This spend does not pay. Its cells would narrow {_narrowed(found)} {little(advice.narrowing)}.{more}"
    rounds = f" in {len(advice.rounds)} rounds" if len(advice.rounds) > 1 else ""
    changes = [
        f"{asked(found) if i == 0 else short(one.name)}, now {percent(now)}, is then expected to be "
        f"{percent(then.expected)}"
        for i, (one, now, then) in enumerate(zip(advice.estimands, advice.now, advice.after[-1], strict=True))
    ]
    part = f" ({of})" if (of := of_target(found, advice.cost)) else ""
    train = f"Train {n} cell{'s' if n > 1 else ''}{rounds} for {found.unit.text(advice.cost)}{part}."
    return f"{train} The 68 % interval of {'; that of '.join(changes)}."


def _narrowed(found: NextCells) -> str:
    return f"the 68 % interval of {asked(found)}" if len(found.advice.now) == 1 else "each 68 % interval"


def _spent(found: NextCells, rung: Rung) -> str:
    """Return a sentence on the interval that the spend of ``rung`` is expected to reach."""
    then, now = percent(rung.widths[0].expected), percent(found.advice.now[0])
    return f"With {of_target(found, rung.spend)}, the interval is expected to be {then} (now {now})."


def little(narrowing: Narrowing, more: str = "") -> str:
    """Return a phrase with the size of a decrease that does not pay, such as "by less than 15 %".

    ``more`` follows the percentage.
    """
    if narrowing.scatters and narrowing.share >= PAYS:
        return f"by {_percents(narrowing.by)} %{more}, which is less than the scatter of the simulated outcomes"
    return f"by less than {100 * PAYS:g} %{more}"


def verdict_sentences(found: NextCells) -> list[str]:
    """Return up to two sentences: one if it is undecided whether the spend pays, one on whether twice the spend pays.

    The list is empty if the spend does not pay.
    """
    now, further = found.advice.narrowing, found.advice.further
    if not found.advice.pays:
        return []
    texts = [f"It is not decided whether this spend pays: {undecided(now)}."] * (now.verdict == "undecided")
    if further is None:
        return texts
    if further.verdict == "pays":
        return [
            *texts,
            f"It is worth spending twice as much: this would narrow the interval by {_percents(further.by)} % more.",
        ]
    if further.verdict == "undecided":
        return [*texts, f"It is not decided whether it is worth spending twice as much: {undecided(further)}."]
    return [
        *texts,
        f"It is not worth spending twice as much: this would narrow the interval {little(further, ' more')}.",
    ]


def undecided(narrowing: Narrowing) -> str:
    """Return why it is not decided whether a decrease pays, without a full stop."""
    low, high = (_percents(max(narrowing.by + side * narrowing.error, 0.0)) for side in (-ERRORS, ERRORS))
    limit = _percents(narrowing.scatter) if narrowing.scatters else f"{100 * PAYS:g}"
    why = ", the scatter of the simulated outcomes" if narrowing.scatters else ""
    return (
        f"the interval is expected to narrow by {low} to {high} %, and a decrease pays if it is larger than "
        f"{limit} %{why}"
    )


def _percents(by: float) -> str:
    return f"{-100 * math.expm1(-by):.0f}"


def law_test_sentence(found: NextCells) -> str:
    """Return a sentence on the cell that tests the law near the answer; empty if there is none."""
    test = found.advice.test
    if test is None or not found.advice.pays:
        return ""
    position = found.advice.cells.index(test.cell) + 1
    return (
        f"Cell {position} tests the law nearest to the answer: its {found.fit.spec.y} should be between {test.low:.4g} "
        f"and {test.high:.4g} (95 %). If it is not in this range, the law is probably wrong near the answer, and the "
        "expected intervals do not hold."
    )


def remarks(found: NextCells) -> list[str]:
    """Return the sentences that follow the advice: whether the spend pays, and the cell that tests the law."""
    return [
        *filter(None, [time_sentence(found)]),
        *verdict_sentences(found),
        *about_range(found.fit, found.advice),
        *filter(None, [law_test_sentence(found), *_about_candidates(found)]),
    ]


def about_group(fit: Fit, advice: Advice) -> Iterator[str]:
    """Yield a sentence that names the group of the advised cells, if the fit is that of one of several groups."""
    if fit.data.group and advice.pays:
        yield f"Train the cells in the group {fit.data.group}."


def about_range(fit: Fit, advice: Advice) -> Iterator[str]:
    """If the expected intervals are not simulated, yield a sentence that states that their range is unknown."""
    if advice.pays and not can_pretend(fit):
        yield "The expected intervals follow from a linear approximation of the law. Their range is not known."


def _about_candidates(found: NextCells) -> Iterator[str]:
    """Yield sentences on the group of the cells, on repeated runs, on listed costs, and on omitted candidates."""
    yield from about_group(found.fit, found.advice)
    again = [str(i) for i, cell in enumerate(found.advice.cells, 1) if found.repeats[cell]]
    if again and found.advice.pays:
        yield f"Repeats of a run, to train with another seed: cell{'s' * (len(again) > 1)} {', '.join(again)}."
    if found.advice.candidates.listed_cost is not None:
        yield f"The cost of a cell is the column {COST} of its table, in {found.unit.name}."
    if found.far:
        many = len(found.advice.candidates) + found.far
        yield f"{found.far:,} of {many:,} candidates are left out: their N is too far from N* for their compute."


def cell_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the table of the cells as texts: first the headings, then one row per cell in the order of training.

    If a table lists the candidates, the column Row is the row in this table, from 0. If their settings are known, a
    column contains these settings instead.
    """
    advice, at = found.advice, found.advice.candidates
    charged, repeated = found.charged, bool(found.repeats[list(advice.cells)].any())
    listed = ["Settings" if at.settings is not None else "Row"] * (at.row is not None)
    head = (
        "Cell",
        "Round",
        *listed,
        "N",
        "D",
        "Compute",
        "Of the target run",
        *(["Cost"] * charged),
        *_time_heads(found),
        *(["Kind"] * repeated),
    )
    rows: list[tuple[str, ...]] = [head]
    for i, cells in enumerate(advice.rounds):
        for cell in cells:
            sizes = (count(float(at.columns[axis][cell]), 3) for axis in ("N", "D"))
            compute, cost = float(at.compute[cell]), float(at.cost[cell])
            own = (str(len(rows)), str(i + 1), *place(at, cell), *sizes, power10(compute), share(compute, found.whole))
            kind = ["repeat" if found.repeats[cell] else ""] if repeated else []
            rows.append((*own, *([found.unit.write(cost)] if charged else []), *_times(found, cell), *kind))
    return rows


def _time_heads(found: NextCells) -> list[str]:
    known = {"Time": found.seconds, "Money": found.money}
    return [name for name, values in known.items() if values is not None]


def _times(found: NextCells, cell: int) -> list[str]:
    """Return the time and the money of a cell as texts, with a dash for an unknown value.

    The time is left out if it is unknown for all cells. The same holds for the money.
    """
    texts = []
    if found.seconds is not None:
        texts.append(duration(float(found.seconds[cell])) if np.isfinite(found.seconds[cell]) else "-")
    if found.money is not None and found.plan.prices is not None:
        cost, currency = float(found.money[cell]), found.plan.prices.currency
        texts.append(f"{number(cost, 2)} {currency}" if np.isfinite(cost) else "-")
    return texts


def time_sentence(found: NextCells) -> str:
    """Return a sentence on the time of all rounds; empty if it is unknown."""
    rounds = found.round_seconds
    if rounds is None or not np.isfinite(rounds).all() or not found.advice.pays:
        return ""
    side = f", with {found.parallel} cells side by side" if found.parallel > 1 else ""
    each = f" (rounds: {', '.join(map(duration, rounds))})" if len(rounds) > 1 else ""
    return f"Training takes about {duration(sum(rounds))}{side}{each}."


def place(at: Candidates, cell: int) -> list[str]:
    """Return the settings of a listed cell, or its row if they are unknown; [] for a cell of a grid over N and D."""
    if at.row is None:
        return []
    return [str(at.settings[cell]) if at.settings is not None else f"{at.row[cell]:,}"]


def round_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the expected intervals after each round as texts."""
    rows: list[tuple[str, ...]] = [("After", *_heads(found))]
    rows.append(("now", *_cells(found, tuple(map(Width, found.advice.now)))))
    return [*rows, *((f"round {i + 1}", *_cells(found, widths)) for i, widths in enumerate(found.advice.after))]


def ladder_rows(found: NextCells) -> list[tuple[str, ...]]:
    """Return the ladder of spends as texts.

    The last columns contain the error of each quantity if the law deviates: the half width and the error by the
    deviation, added in squares.
    """
    heads = [f"Error if the law deviates{name}" for name in _names(found)]
    rows: list[tuple[str, ...]] = [("Spend", "Of the target run", "Cells", *_heads(found), *heads)]
    for rung in found.advice.ladder:
        spend = (found.unit.write(rung.spend), share(rung.spend, found.target_cost or np.nan))
        rows.append((*spend, str(len(rung.cells)), *_cells(found, rung.widths), *map(percent, rung.errors)))
    return rows


def _names(found: NextCells) -> list[str]:
    """Return a text such as " of N*" for each narrowed quantity; an empty text if only one quantity is narrowed."""
    return [f" of {short(one.name)}" if len(found.advice.estimands) > 1 else "" for one in found.advice.estimands]


def _heads(found: NextCells) -> list[str]:
    """Return the headings of the expected interval and its range, for each narrowed quantity."""
    heads = [text for name in _names(found) for text in (f"Expected 68 % interval{name}", "Range")]
    return with_range(found.fit, heads)


def _cells(found: NextCells, widths: Widths) -> list[str]:
    return with_range(found.fit, [text for width in widths for text in (percent(width.expected), between(width))])


def with_range(fit: Fit, cells: list[str]) -> list[str]:
    """Return ``cells`` (each expected width, followed by its range), without the ranges if they are unknown."""
    return cells if can_pretend(fit) else cells[::2]


def as_text(found: NextCells) -> str:
    """Return the advice as text for a terminal."""
    blocks = [sentence(found), "\n".join(aligned(cell_rows(found))), "\n".join(aligned(round_rows(found)))]
    if found.advice.ladder:
        blocks.append("\n".join(aligned(ladder_rows(found))))
    notes = [f"Compute rule: {found.plan.compute.text}.", *(w.line for w in by_level(found.plan.warnings))]
    return "\n\n".join([*blocks, *remarks(found), *notes])
