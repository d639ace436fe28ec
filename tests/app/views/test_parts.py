"""Texts on pages: numbers are formatted, and names are not interpreted as Markdown."""

from __future__ import annotations

import pytest

from isoplan.app.views.widgets.parts import chosen_rows, escape_markdown, number, plural, powers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.5, "0.5"), (1234.6, "1,235"), (2e10, "2.00 × 10¹⁰"), (1e-5, "10⁻⁵"), (-3.25, "-3.25")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_with_an_exponent_become_powers() -> None:
    assert powers("(1.28 ± 0.3)e+04 to 2e-12, never") == "(1.28 ± 0.3) × 10⁴ to 2 × 10⁻¹², never"


def test_counts() -> None:
    assert [plural(n, "run") for n in (0, 1, 1000)] == ["0 runs", "1 run", "1,000 runs"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n_p", "n_p"),
        ("_n_ __p__", r"\_n\_ \_\_p\_\_"),
        ("# loss", r"\# loss"),
        ("1. run", r"1\. run"),
        ("<b>x</b>", r"\<b\>x\</b\>"),
        (":red[x]", r"\:red\[x\]"),
        ("68 %: 1.5 - 2", "68 %: 1.5 - 2"),
        ("a\nb\r\nc", "a b c"),
        ("## loss", r"\## loss"),
        ("12. run", r"12\. run"),
        ("--- ", r"\--- "),
        ("    code", "code"),
        ("&lt;b&gt;", r"\&lt;b\&gt;"),
        ("http://a.b www.a.b me@a.b", "http\u2060://a.b www\u2060.a.b me\u2060@a.b"),
        ("recall@10 of NDCG@10.", "recall@10 of NDCG@10."),
        (":smile: :+1: 10:30", ":\u2060smile: :\u2060+1: 10:30"),
        (":material/home:", ":\u2060material/home:"),
        ("a -- b -> c >= d", "a -\u2060- b -\u2060\\> c \\>\u2060= d"),
    ],
)
def test_markdown_is_left_as_text(text: str, shown: str) -> None:
    assert escape_markdown(text) == shown


def test_chosen_rows() -> None:
    points = [
        {"customdata": [4.0, 1e9]},
        {"customdata": 2},
        {"customdata": None},
        {},
        {"customdata": {"0": 7, "1": 1e9}},
    ]
    assert chosen_rows({"selection": {"points": points}}) == [2, 4, 7]
    assert chosen_rows(None) == []
