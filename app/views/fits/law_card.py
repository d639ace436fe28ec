"""A fit as a law card: JSON with its provenance, with or without its resamples."""

from __future__ import annotations

import json

import streamlit as st

from isoplan.engine.fitting.cards import to_json
from isoplan.engine.fitting.types.result import Fit


def save(fit: Fit, fit_hash: str) -> None:
    """The whole fit as JSON, and a menu for a smaller card."""
    st.download_button(
        "Fit as JSON", lambda: json.dumps(to_json(fit), indent=2), f"fit-{fit_hash}.json", "application/json",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
    with st.popover("Law card", icon=":material/id_card:", key="law_card"):
        st.caption("Where the law came from, its parameters and intervals. `isoplan plan` and every page read it.")
        whole = st.toggle("With every refit", key="card_resamples", help="Plans keep their exact intervals; largest.")
        around = st.toggle(
            "With the covariance", True, key="card_covariance",
            help="Small; a plan draws from a Gaussian. Without refits and covariance it plans at the central values.",
        )  # fmt: skip
        st.download_button(
            "Save the card",
            lambda: json.dumps(to_json(fit, resamples=whole, covariance=around and not whole), indent=2),
            f"{fit.law.key}-{fit_hash}.json", "application/json", icon=":material/download:", on_click="ignore",
        )  # fmt: skip
