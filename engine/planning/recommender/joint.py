"""Recipes of several metrics compared: whether their values agree, and which values suit all metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.format import between, number
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender.cards import CARDS, TOO_FAR, Badge, Card, Cards
from isoplan.engine.planning.recommender.choice import LABELS, SETTINGS, Setting

CHOOSE = "choose by the metric that is served"


class Agreement(Enum):
    """Whether the values of a setting for several metrics agree."""

    EQUAL = "equal"
    WITHIN = "within 68 %"
    DIFFERS = "differs"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Joint:
    """One setting for several metrics: the ``cards`` of the setting, one per metric, and their ``agreement``.

    ``safe`` is a value that suits all metrics. It has no value if the metrics differ or if a value is not known; its
    note states the reason.
    """

    setting: Setting
    cards: tuple[Card, ...]
    agreement: Agreement
    safe: Quantity

    @property
    def text(self) -> str:
        """The safe value with its unit; "-" if there is none."""
        if self.safe.value is None:
            return "-"
        least = "at least " if any(card.least for card in self.cards) else ""
        return f"{least}{number(self.safe)} {self.safe.unit}".strip()

    @property
    def label(self) -> str:
        """Name of the line in exports."""
        return f"{LABELS[self.setting]} for {' and '.join(card.metric for card in self.cards)}"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object. Its number is the safe value."""
        values = {card.metric: card.value.value for card in self.cards}
        named = {"setting": self.setting, "label": self.label, "agreement": self.agreement.value, "values": values}
        return {**named, **quantity.to_json(self.safe)}


def join_metrics(cards: Cards) -> tuple[Joint, ...]:
    """Compare the values of each setting for all metrics of ``cards``; empty if there is only one metric."""
    if len(cards[CARDS[0]]) < 2:
        return ()
    return tuple(_join(cards, setting) for setting in SETTINGS)


def differences(cards: Cards) -> str:
    """Return one sentence for each metric after the first.

    The sentence names the settings whose value differs from that of the first metric. Values with overlapping
    68 % intervals count as equal. The text is empty if there is only one metric.
    """
    said = []
    for i, card in enumerate(cards[CARDS[0]][1:], start=1):
        metric, pair = card.metric, {setting: (one[0], one[i]) for setting, one in cards.items()}
        joint = {setting: _join(pair, setting) for setting in SETTINGS}
        known = {
            k: (first.value.value is not None, other.value.value is not None) for k, (first, other) in pair.items()
        }
        parts = [
            f"{k} {pair[k][1].text}"
            for k, one in joint.items()
            if one.agreement is Agreement.DIFFERS or known[k] == (False, True)
        ]
        lost = [k for k in SETTINGS if known[k] == (True, False)]
        unknown = f" Not known for {metric}: {', '.join(lost)}." if lost else ""
        if parts:
            said.append(f"For {metric}: {', '.join(parts)}.{unknown}")
        else:
            same = all(one[1].text == one[0].text for k, one in pair.items() if k not in lost)
            equal = "equal" if same else "equal within their 68 % intervals"
            said.append(f"For {metric}: {'the other values are' if lost else 'all values are'} {equal}.{unknown}")
    return " ".join(said)


def _join(cards: Mapping[Setting, Sequence[Card]], setting: Setting) -> Joint:
    """Compare the values of ``setting`` for all metrics.

    The safe value is the value inside all 68 % intervals that is nearest to the value of the first metric. A guess has
    no interval. The learning rate follows from the batch sizes: it is proportional to the square root of the batch
    size.
    """
    own = tuple(cards[setting])
    first = own[0].value
    lost = [card.metric for card in own if card.value.value is None]
    if lost or first.value is None:
        return Joint(setting, own, Agreement.UNKNOWN, _unsafe(first, f"not known for {', '.join(lost)}"))
    if len({card.text for card in own}) == 1:
        return Joint(setting, own, Agreement.EQUAL, Quantity(first.value, unit=first.unit))
    if setting == "lr":
        batch, used = _join(cards, "B"), cards["B"][0].value.value
        if batch.safe.value is None or not used:
            return Joint(setting, own, batch.agreement, _unsafe(first, f"the batch sizes differ: {CHOOSE}"))
        return Joint(setting, own, batch.agreement, Quantity(first.value * math.sqrt(batch.safe.value / used)))
    spans = [card.sure.ci68 for card in own if card.sure.ci68 is not None]
    if len(spans) < len(own):
        why = TOO_FAR if any(card.badge is Badge.GUESS for card in own) else "an interval is not known"
        return Joint(setting, own, Agreement.DIFFERS, _unsafe(first, f"{why}: {CHOOSE}"))
    low, high = max(span[0] for span in spans), min(span[1] for span in spans)
    if low > high:
        return Joint(setting, own, Agreement.DIFFERS, _unsafe(first, f"the intervals do not overlap: {CHOOSE}"))
    return Joint(setting, own, Agreement.WITHIN, Quantity(min(max(first.value, low), high), unit=first.unit))


def _unsafe(first: Quantity, reason: str) -> Quantity:
    return Quantity(None, unit=first.unit, note=reason)


def shown_value(card: Card) -> str:
    """Return the value of a card with its 68 % interval, such as "540 sequences (380 to 850)"."""
    return f"{card.text} ({between(card.value, card.sure.ci68)})" if card.sure.ci68 else card.text


def joint_table(joint: Sequence[Joint]) -> tuple[dict[str, str], ...]:
    """Return the comparison as rows of texts by column: the value for each metric, the agreement, the safe value."""
    return tuple(
        {"Setting": LABELS[one.setting]}
        | {card.metric: shown_value(card) for card in one.cards}
        | {"Agreement": one.agreement.value, "Safe for all": one.text, "Note": one.safe.note}
        for one in joint
    )
