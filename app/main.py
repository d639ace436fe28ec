"""Script that Streamlit runs for every page: it sets up the navigation and runs the requested page."""

from __future__ import annotations

import streamlit as st

from isoplan.app import links
from isoplan.app.figures.style.theme import STYLE
from isoplan.app.serving.shell import ICON, LOGO, UNKNOWN
from isoplan.app.views import unknown
from isoplan.app.views.widgets import scopes

PAGES = [
    st.Page("views/home.py", title="Home", icon=":material/home:", default=True),
    st.Page("views/story.py", title="Story", icon=":material/slideshow:", url_path="story"),
    st.Page("views/data.py", title="Data", icon=":material/table_view:", url_path="data"),
    st.Page("views/fit.py", title="Fit", icon=":material/show_chart:", url_path="fit"),
    st.Page("views/explore.py", title="Explore", icon=":material/landscape:", url_path="explore"),
    st.Page("views/plan.py", title="Plan", icon=":material/flag:", url_path="plan"),
    st.Page("views/train.py", title="Train", icon=":material/model_training:", url_path="train"),
    st.Page("views/recommender.py", title="Recommender", icon=":material/recommend:", url_path="recommender"),
    st.Page("views/precision.py", title="Precision", icon=":material/adjust:", url_path="precision"),
]
OLD = st.Page(lambda: None, title="Precision", url_path="amplitude", visibility="hidden")
"""Hidden page that redirects the older address ``amplitude`` to the page Precision."""

# This call must precede the navigation. Otherwise, the browser tab shows the icon of the page instead of the icon of
# Isoplan, and the browser loads the icon of the page from another server.
st.set_page_config(page_icon=ICON, layout="wide")
st.logo(LOGO, size="large", icon_image=ICON)
st.html(f"<style>{STYLE}</style>")
page = st.navigation([*PAGES, OLD])
st.set_page_config(page_title=f"{page.title} · Isoplan")
if page.url_path == OLD.url_path:
    st.switch_page(PAGES[-1], query_params=links.asked())
links.follow_view()
scopes.arrive(page.url_path)
# The parameter is removed from the address. Otherwise the menu entry Home would show this message again.
if page == PAGES[0] and (address := st.query_params.pop(UNKNOWN, "")):
    unknown.show(address, PAGES)
else:
    with links.named_faults():
        page.run()
