"""Texts that attack the readers of formulas and numbers.

Each text is read in a child process, whose outcome, time and memory are reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.reliability.formulas.attacks import EITHER, REFUSED, SEED, Attack, attacks
from benchmarks.reliability.formulas.child import Outcome, attempt
from benchmarks.reliability.formulas.places import PLACES, columns
from benchmarks.report import Report

SECONDS, MEGABYTES = 2.0, 300.0
"""Maximum processor time in seconds for one text, and maximum memory in MB above an idle child process."""
FITTED = 10.0
"""Maximum processor time in seconds of a whole command, which fits the law from 64 starts and makes 20 refits."""
SAME = 1e-9
KINDS = ("refused in one sentence", "the right value", "both outcomes right", "wrong", "traceback", "too slow or large")
"""Kinds of outcomes, in the order of the columns of the report."""


def run() -> Report:
    """Try each attack once, and report the outcomes."""
    columns()
    found = [(attack, attempt(PLACES[attack.place], attack.text)) for attack in attacks()]
    for attack, outcome in found:
        if (kind := judge(attack, outcome)) in KINDS[3:]:
            print(f"{kind}: {attack.place}: {attack.text[:80]!r}: {outcome}")
    rows = [_row(place, [pair for pair in found if pair[0].place == place]) for place in PLACES]
    return Report(
        f"{len(found)} texts typed where a formula or a number is read",
        f"The texts contain power towers, nesting, names, unicode, long texts and random texts (seed {SEED}). Each is "
        "read in a separate child process. Goal: a refusal in one sentence or the mathematical value of the text, "
        f"within {SECONDS:g} s of processor time and {MEGABYTES:g} MB above an idle child. If the text is random or "
        "its value overflows, both outcomes are right. Formulas of roles and of compute are evaluated for 100,000 "
        f"rows, typed laws with their gradient for 1,000; a whole `isoplan fit` with 20 refits may take {FITTED:g} s.",
        ("place", *KINDS, "longest", "most memory"),
        (*rows, _row("all", found)),
    )


def judge(attack: Attack, outcome: Outcome) -> str:
    """Return the kind of an outcome, one of ``KINDS``."""
    longest = FITTED if attack.place.startswith("isoplan") else SECONDS
    if outcome.kind == "killed" or outcome.seconds > longest or outcome.megabytes > MEGABYTES:
        return KINDS[5]
    if outcome.kind == "traceback":
        return KINDS[4]
    if attack.wanted == EITHER:
        return KINDS[2]
    if outcome.kind == "refused":
        return KINDS[0] if attack.wanted == REFUSED else KINDS[3]
    right = isinstance(attack.wanted, float) and math.isclose(outcome.value, attack.wanted, rel_tol=SAME)
    return KINDS[1] if right else KINDS[3]


def _row(name: str, found: Sequence[tuple[Attack, Outcome]]) -> tuple[str, ...]:
    judged = [judge(attack, outcome) for attack, outcome in found]
    counts = (str(judged.count(kind)) for kind in KINDS)
    slowest = max(outcome.seconds for _, outcome in found)
    most = max(outcome.megabytes for _, outcome in found)
    return name, *counts, f"{slowest:.2f} s", f"{most:.0f} MB"
