"""Tests of links with unusable values, and of links to saved views."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.links import _faults


@pytest.mark.parametrize(
    ("given", "left", "state", "sentence"),
    [
        ("99999", {}, 1000, "The link asks for x = `99999`, which is not possible here: 1000 is used instead."),
        ("99999", {"x": "20000"}, 20000, "x = `99999`, which is not possible here: 20000 is used"),
        ("nope", {}, "ols", "x = `nope`, which is not possible here: ols is used"),
        ("`![a](b)`", {}, 1, "x = `![a](b)`,"),
        ("", {}, 1, "x = ` `,"),
    ],
)
def test_a_value_that_is_not_possible_is_named(given: str, left: dict[str, str], state: object, sentence: str) -> None:
    found = _faults({"x": [given]}, left, {"x": state})
    assert len(found) == 1
    assert sentence in found[0]


@pytest.mark.parametrize(
    ("given", "left", "state"),
    [
        ("1000", {}, 1000),
        ("1e3", {"x": "1000"}, 1000),
        ("ols", {}, "ols"),
        ("TRUE", {}, True),
        ("0", {}, False),
        ("1e20", {"x": "1e20"}, "1e20"),
    ],
)
def test_a_default_that_goes_unwritten_is_no_fault(given: str, left: dict[str, str], state: object) -> None:
    assert _faults({"x": [given]}, left, {"x": state}) == []


def test_names_that_no_widget_has_are_left_to_the_page() -> None:
    assert _faults({"table": ["abc"]}, {}, {}) == []


def _page() -> None:
    import streamlit as st

    from isoplan.app import links

    with links.named_faults():
        st.title("A page")
        st.selectbox("Kind", ["a", "b"], key="kind", bind="query-params")
        st.number_input("Count", 0, 10, 5, key="count", bind="query-params")
        if st.session_state.count == 3:
            st.stop()


def test_on_a_page_faults_stand_above_it_on_the_first_run_only() -> None:
    page = AppTest.from_function(_page)
    page.query_params["kind"] = "z"
    page.query_params["count"] = "99"
    page.run()
    assert [w.value for w in page.warning] == [
        "The link asks for kind = `z`, which is not possible here: a is used instead.",
        "The link asks for count = `99`, which is not possible here: 5 is used instead.",
    ]
    assert not page.run().warning


def test_good_values_and_a_stopped_page_are_quiet() -> None:
    page = AppTest.from_function(_page)
    page.query_params["kind"] = "b"
    page.query_params["count"] = "3"
    page.run()
    assert not page.warning
    assert page.selectbox[0].value == "b"
    assert not page.exception


def _view() -> None:
    from isoplan.app import links, workspace
    from isoplan.engine.store.database import database

    with database.memory() as db, workspace.registered(db):
        links.follow_view()


def test_a_view_that_is_not_here_is_a_sentence() -> None:
    page = AppTest.from_function(_view)
    page.query_params["view"] = "0123456789ab"
    page.run()
    assert len(page.error) == 1
    assert "0123456789ab" in page.error[0].value
    assert "view" not in page.query_params
