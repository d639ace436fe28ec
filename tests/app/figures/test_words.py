"""Texts of figures that contain names chosen by users, such as column names."""

from __future__ import annotations

import pytest

from isoplan.app.figures.style.axes import literal, title


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("<b>loss</b>", "&lt;b&gt;loss&lt;/b&gt;"),
        ("a & b &lt;", "a &amp; b &amp;lt;"),
        # Quotes are not escaped, because Plotly does not decode the HTML entities of quotes.
        ("""5" or 5'""", """5" or 5'"""),
        ("%{x} 5 % {y}", "%&#123;x} 5 % {y}"),
        ("<extra>e</extra>", "&lt;extra&gt;e&lt;/extra&gt;"),
        ("$x^2$", "$x^2$"),
    ],
)
def test_a_name_is_drawn_as_it_is(name: str, drawn: str) -> None:
    assert literal(name) == title(name) == drawn


def test_roles_have_titles_of_their_own() -> None:
    assert title("loss") == "Loss <i>L</i>"
