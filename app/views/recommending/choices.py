"""Tables about other choices in a recipe: what they cost, and one choice for several metrics."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from isoplan.app.views.widgets.parts import Hint, show_hints, whole
from isoplan.engine.planning.recommender import Recipe, ranking
from isoplan.engine.planning.recommender.choice import LABELS
from isoplan.engine.planning.recommender.joint import CHOOSE, Agreement, Joint, shown_value
from isoplan.engine.planning.recommender.ranking import rank_costs
from isoplan.engine.planning.recommender.text import JOINT


def show_joint(joint: Sequence[Joint]) -> None:
    """Show the values for all metrics side by side, and the value that suits all; nothing if there is one metric."""
    if not joint:
        return
    st.subheader(JOINT, anchor=False)
    show_hints(
        [
            {"Setting": Hint(LABELS[one.setting])}
            | {card.metric: _hint(shown_value(card), card.reason) for card in one.cards}
            | {"Agreement": Hint(one.agreement.value), "Safe for all": _hint(one.text, one.safe.note)}
            for one in joint
        ],
        "The values of each setting for all metrics, and one value that suits all.",
    )
    if any(one.agreement is Agreement.DIFFERS for one in joint):
        st.caption(f"Where values differ, {CHOOSE}.")


def show_costs(recipes: Sequence[Recipe]) -> None:
    """Show the costs of other values of the settings, the largest cost first, for each metric."""
    costs = [cost for recipe in recipes for cost in rank_costs(recipe)]
    st.subheader(ranking.TITLE, anchor=False)
    show_hints(
        [
            ({"Metric": Hint(cost.metric)} if len(recipes) > 1 else {})
            | {"Setting": Hint(LABELS[cost.setting]), "Other choice": _hint(cost.other, cost.reason)}
            | {"Cost": _hint(cost.text, cost.reason), "68 %": _hint(cost.interval, cost.reason)}
            for cost in costs
        ],
        "Costs of other choices, the largest first.",
    )
    if len({cost.amount.unit for cost in costs if cost.amount.value is not None}) > 1:
        st.caption(ranking.UNITS)


def _hint(text: str, reason: str) -> Hint:
    """Return a table cell; without a value, the cell is a dash with the reason."""
    return Hint("" if text == "-" else whole(text), reason)
