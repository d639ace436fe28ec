"""Page for an address that does not exist: an error message and links to all pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, heading


def show(address: str, pages: Sequence[Any]) -> None:
    """State that the page ``address`` does not exist, and show links to all pages."""
    heading("No such page", link=False)
    st.error(
        f"Address: Isoplan has no page /{escape_markdown(address)}. Choose a page below.", icon=":material/link_off:"
    )
    for page in pages:
        st.page_link(page)
