"""The section of docs/tables.md on known names, units and rules equals the section that the code gives."""

from __future__ import annotations

from benchmarks.known_names import section, written


def test_the_page_lists_every_name_and_rule() -> None:
    assert written() == section(), "Run `python -m benchmarks.known_names`."
