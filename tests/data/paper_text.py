"""Find the numbers in the text of a paper. Tests compare these numbers with the typed CSV files of the tables.

Numbers are ``Decimal``. A comparison is therefore exact for every notation (532k, 1.95 M, 10^{15}).
"""

from __future__ import annotations

import re
from decimal import Decimal

SUFFIX = {"k": 3, "M": 6, "B": 9}
NUMBER = re.compile(
    r"(?P<sign>[-+−–](?=\d))?(?:(?P<mantissa>\d[\d,]*\.?\d*)\s*(?:\\times|\\cdot|×)\s*)?10\^\{?(?P<power>[-−]?\d+)\}?"
    r"|(?P<sign2>[-+−–](?=\d))?(?P<plain>\d[\d,]*(?:\.\d+)?)(?:\s?(?P<suffix>[kMB])\b)?"
)


def numbers(cell: str) -> list[Decimal]:
    """Return every number in a table cell, in order. Numbers in names such as ``recall@10`` are ignored."""
    cell = re.sub(r"\w+@\$?\d+", "", cell)
    return [_value(m) for m in NUMBER.finditer(cell)]


def _value(m: re.Match[str]) -> Decimal:
    sign = -1 if (m["sign"] or m["sign2"] or "+") != "+" else 1
    if m["power"] is not None:
        power = int(m["power"].replace("−", "-"))
        return sign * Decimal((m["mantissa"] or "1").replace(",", "")).scaleb(power)
    return sign * Decimal(m["plain"].rstrip(",").replace(",", "")).scaleb(SUFFIX.get(m["suffix"] or "", 0))


def table_after(text: str, number: int) -> list[list[str]]:
    """Return the cells of Table ``number``, including header rows. The table follows its caption."""
    caption = re.search(rf"Table {number}: (?:\*\*|Scaling)", text)
    assert caption, f"no caption of Table {number}"
    lines = text[caption.end() :].splitlines()
    start = next(i for i, line in enumerate(lines) if "\t" in line)
    end = next(i for i, line in enumerate(lines[start:], start) if "\t" not in line)
    return [line.split("\t") for line in lines[start:end]]


def table_before(text: str, number: int) -> list[list[str]]:
    """Return the cells of Table ``number``, including header rows. The caption follows the table."""
    lines = text[: text.index(f"\nTable {number}: ")].splitlines()
    while "\t" not in lines[-1]:
        lines.pop()
    first = next(i for i in range(len(lines) - 1, -1, -1) if "\t" not in lines[i]) + 1
    return [line.split("\t") for line in lines[first:]]
