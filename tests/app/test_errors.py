"""Tests of the message that a page shows after an error, and of the details in the log."""

from __future__ import annotations

import logging
import re

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.errors import details


def _planner() -> None:
    from isoplan.app.errors import show_error
    from isoplan.engine.errors import PlannerError

    show_error(PlannerError("Column loss of runs.csv holds text in row 3: correct it."))


def _unknown() -> None:
    from isoplan.app.errors import show_error

    try:
        raise KeyError("/home/somebody/secret.csv")
    except KeyError as error:
        show_error(error)


def test_what_a_user_can_put_right_is_shown_as_it_is() -> None:
    page = AppTest.from_function(_planner).run()
    assert [e.value for e in page.error] == ["Column loss of runs.csv holds text in row 3: correct it."]
    assert not page.expander


def test_anything_else_is_a_sentence_with_details_to_copy(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "isoplan.page"):
        page = AppTest.from_function(_unknown).run()
    sentence = page.error[0].value
    incident = re.search(r"report incident ([0-9a-f]{8})\.", sentence)
    assert incident is not None
    copied = page.expander[0].code[0].value
    assert copied.startswith(f"incident {incident[1]}\nisoplan ")
    assert "KeyError" in copied
    assert "secret" not in copied + sentence
    assert f"incident {incident[1]}" in caplog.text
    assert "secret.csv" in caplog.text
    assert not page.exception


def test_details_name_our_places_without_the_users_folders() -> None:
    try:
        raise RuntimeError("x")
    except RuntimeError as error:
        text = details(error, "ab12cd34")
    assert "tests/app/test_errors.py" in text
    assert "/home" not in text
    assert "/work" not in text
