"""Verdict on an import: its outcome is compared with the expected outcome for the file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.reliability.files.attempt import Outcome
from benchmarks.reliability.files.case import Expected, Rows

Kind = Literal["right", "answered", "named", "refused", "differs", "broke"]
Way = Literal["terminal", "page"]
KINDS: dict[Kind, str] = {
    "right": "read right",
    "answered": "asked, then right",
    "named": "rows left out are named",
    "refused": "refused in a sentence",
    "differs": "other than expected",
    "broke": "tracebacks",
}
ULPS = 4e-16
"""Maximum relative rounding error of a number that is multiplied by a power of ten."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on an import, and the reason for it.

    'right': the runs of the file were read. 'answered': the runs were read after a question. 'named': the runs were
    read, with a note on omitted rows. 'refused': there is a message. 'differs': the outcome is not an expected one.
    'broke': there is a traceback.
    """

    kind: Kind
    why: str = ""


def judge(way: Way, expected: Expected, path: Path, before: Outcome, after: Outcome) -> Verdict:
    """Return the verdict on an import, from its outcomes before and after the answers."""
    if before.broke or after.broke:
        return Verdict("broke", before.broke or after.broke)
    if expected.boxed and way == "page":
        return Verdict("refused") if before.refused else Verdict("differs", "the box takes it")
    if expected.or_refused and before.refused:
        return Verdict("refused")
    if expected.reference is not None:
        return _damaged(before, expected.rows, expected.reference(path))
    if expected.rows is None:
        return _refused(way, before, expected.asks)
    if expected.asks:
        if not (before.refused or before.asked):
            return Verdict("differs", f"read without a question: {_shown(before.rows)}")
        if (way == "terminal") and expected.asks not in before.said:
            return Verdict("differs", f"the sentence lacks {expected.asks!r}: {_last(before.said)}")
    if expected.unfit and way == "terminal":
        return _refused(way, before, expected.unfit)
    return _read(way, expected, after)


def _read(way: Way, expected: Expected, outcome: Outcome) -> Verdict:
    if outcome.refused or outcome.asked:
        return Verdict("differs", f"not read: {_last(outcome.said)}")
    if expected.labels and sorted(set(outcome.labels)) != sorted(expected.labels):
        return Verdict("differs", f"groups {sorted(set(outcome.labels))}")
    grouped = way == "terminal" and expected.labels
    wanted = expected.n or len(expected.rows or ())
    near = 10.0**-expected.digits if expected.digits else ULPS
    if outcome.n != wanted or (not grouped and not _same(outcome.rows, expected.rows, near)):
        return Verdict("differs", f"read {outcome.n:,} runs: {_difference(outcome.rows, expected.rows)}")
    missing = [word for word in expected.says if word not in outcome.said]
    if missing:
        return Verdict("differs", f"no note has {missing[0]!r}")
    left_out = any("row" in word for word in expected.says)
    return Verdict("answered" if expected.asks else "named" if left_out else "right")


def _refused(way: Way, outcome: Outcome, word: str) -> Verdict:
    if not (outcome.refused or (way == "page" and outcome.asked)):
        return Verdict("differs", f"read {outcome.n:,} runs: {_shown(outcome.rows)}")
    if outcome.refused and word not in outcome.said:
        return Verdict("differs", f"the sentence lacks {word!r}: {_last(outcome.said)}")
    return Verdict("refused")


def _damaged(outcome: Outcome, rows: Rows | None, reference: Rows | None) -> Verdict:
    """Return the verdict on a file with damaged bytes.

    Three outcomes are right: a message, the original runs, and the ``reference`` runs.
    """
    if outcome.refused or outcome.asked:
        return Verdict("refused")
    if _same(outcome.rows, rows):
        return Verdict("right")
    usable = tuple(r for r in reference or () if all(math.isfinite(x) for x in r) and r[0] > 0 and r[1] > 0)
    if not _same(outcome.rows, usable):
        return Verdict("differs", f"another reader finds otherwise: {_difference(outcome.rows, usable)}")
    return Verdict("right")


def _same(rows: Rows | None, other: Rows | None, near: float = ULPS) -> bool:
    """Return whether the rows are equal, within the relative difference ``near``."""
    if rows is None or other is None or len(rows) != len(other):
        return rows is other
    pairs = ((x, y) for a, b in zip(rows, other, strict=True) for x, y in zip(a, b, strict=True))
    return all(math.isclose(x, y, rel_tol=near) for x, y in pairs)


def _difference(rows: Rows | None, other: Rows | None) -> str:
    if rows is None or other is None or len(rows) != len(other):
        return _shown(rows)
    i = next((i for i, (a, b) in enumerate(zip(rows, other, strict=True)) if not _same((a,), (b,))), 0)
    return f"row {i} is {rows[i]} and not {other[i]}"


def _shown(rows: Rows | None) -> str:
    return "none" if not rows else f"{rows[0]}, ..., {rows[-1]}"


def _last(said: str) -> str:
    return said.strip().splitlines()[-1][:200] if said.strip() else "nothing"
