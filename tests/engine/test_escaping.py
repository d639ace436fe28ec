"""Tests of escaping: Markdown shows names with special characters unchanged."""

from __future__ import annotations

import pytest

from isoplan.engine.escaping import escape, table


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("recall@10 of n_p", "recall@10 of n_p"),
        ("10^20 FLOPs, 68 %: 1.5 - 2", "10^20 FLOPs, 68 %: 1.5 - 2"),
        ("<img src=x onerror=y>", r"\<img src=x onerror=y\>"),
        ("![a](http://b)", r"!\[a\](http://b)"),
        ("a | b", r"a \| b"),
        ("_a_ *b* `c`", r"\_a\_ \*b\* \`c\`"),
        ("&copy; $x$", r"\&copy; \$x\$"),
        ("# a\n## b", r"\# a ## b"),
        ("10) a", r"10\) a"),
        ("---", r"\---"),
    ],
)
def test_markdown_shows_text_as_it_is(text: str, written: str) -> None:
    assert escape(text) == written


def test_a_table_of_names() -> None:
    assert table(("a_|", "b"), [("<b>", "- 3"), ("1. x\ny", "*")]) == [
        r"| a\_\| | b |",
        "| --- | --- |",
        r"| \<b\> | - 3 |",
        r"| 1. x y | \* |",
    ]
