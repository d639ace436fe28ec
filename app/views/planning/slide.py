"""A slider beside a field: it changes the number in the field, and follows a typed value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from isoplan.app.views.widgets.state import remember

Show = Callable[[float], str]


def slide(label: str, blank: str, value: float, steps: Sequence[float], show: Show, typed: Show) -> None:
    """Show the slider over ``steps`` for the field with the key ``blank``, whose current value is ``value``.

    The value of the slider is written to the field in the form ``typed``, so the field is the only input. A value
    between the steps becomes an additional step and stays one while the slider moves, so that its positions do not
    change during a drag.
    """
    key, between = f"{blank}_slider", f"{blank}_between"
    if value not in steps and value != st.session_state.get(between):
        st.session_state[between] = value
    extra = st.session_state.get(between)
    positions = sorted({*steps, *([] if extra is None else [extra])})
    if st.session_state.get(key) != value:
        st.session_state[key] = value

    def moved() -> None:
        remember(blank, typed(st.session_state[key]))

    st.select_slider(
        label, positions, key=key, format_func=show, on_change=moved, label_visibility="collapsed"
    )  # fmt: skip
