"""Hostile texts for formulas and numbers, from `benchmarks.reliability.formulas`, tested in this process."""

from __future__ import annotations

import math

import pytest

from benchmarks.reliability.formulas import SAME
from benchmarks.reliability.formulas.attacks import EITHER, REFUSED, Attack, attacks
from benchmarks.reliability.formulas.places import PLACES
from isoplan.engine.errors import PlannerError

LISTED = [attack for attack in attacks() if len(attack.text) <= 5_000_000]


@pytest.mark.parametrize("place", [place for place in PLACES if not place.startswith("isoplan")])
def test_what_is_typed_is_refused_in_a_sentence_or_has_its_value(place: str) -> None:
    wrong = [(attack.text[:80], outcome) for attack in LISTED if attack.place == place and (outcome := _wrong(attack))]
    assert not wrong


def test_there_are_two_hundred_attacks_and_more() -> None:
    assert len(attacks()) > 600
    assert {attack.place for attack in attacks()} == set(PLACES)


def _wrong(attack: Attack) -> str:
    """Return the fault that an attack reveals, or "" if the attack reveals no fault."""
    try:
        found = PLACES[attack.place](attack.text)
    except PlannerError as error:
        sentence = str(error)
        shown = sentence.isprintable() and bool(sentence.encode(errors="ignore").decode() == sentence)
        fine = attack.wanted in (REFUSED, EITHER) and shown and len(sentence) < 700
        return "" if fine else f"refused: {sentence[:200]!r}"
    if isinstance(attack.wanted, float) and not math.isclose(found, attack.wanted, rel_tol=SAME):
        return f"is {found}"
    return "" if attack.wanted != REFUSED else f"is {found} and no refusal"
