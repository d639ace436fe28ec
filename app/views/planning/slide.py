"""A slider beside a blank: it moves the number in the blank, and follows what is typed there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from isoplan.app.views.widgets.state import remember

Show = Callable[[float], str]


def slide(label: str, blank: str, value: float, steps: Sequence[float], show: Show, typed: Show) -> None:
    """The slider of the blank with the key ``blank``, which reads ``value`` now, over ``steps``.

    What it is moved to is written into the blank as ``typed`` puts it, so that only the blank is asked. A value between
    the steps becomes one of them, and stays one while the slider moves: its positions must not change under a finger.
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
