"""Numbers in the text of a paper, read by pattern as a second reading of the tables in the CSV files.

Numbers are ``Decimal``, so that a comparison is exact for every notation (532k, 1.95 M, 10^{15}).
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
    """Return every number in ``cell``, in order. The 10 of ``recall@10`` and similar names is ignored."""
    cell = re.sub(r"\w+@\$?\d+", "", cell)
    return [_value(m) for m in NUMBER.finditer(cell)]


def _value(m: re.Match[str]) -> Decimal:
    sign = -1 if (m["sign"] or m["sign2"] or "+") != "+" else 1
    if m["power"] is not None:
        power = int(m["power"].replace("−", "-"))
        return sign * Decimal((m["mantissa"] or "1").replace(",", "")).scaleb(power)
    return sign * Decimal(m["plain"].rstrip(",").replace(",", "")).scaleb(SUFFIX.get(m["suffix"] or "", 0))


def table_after(text: str, number: int) -> list[list[str]]:
    """Return the cells of the table that follows its caption, including header rows."""
    caption = re.search(rf"Table {number}: (?:\*\*|Scaling)", text)
    assert caption, f"no caption of Table {number}"
    lines = text[caption.end() :].splitlines()
    start = next(i for i, line in enumerate(lines) if "\t" in line)
    end = next(i for i, line in enumerate(lines[start:], start) if "\t" not in line)
    return [line.split("\t") for line in lines[start:end]]


def table_before(text: str, number: int) -> list[list[str]]:
    """Return the cells of the table that ends right before its caption."""
    lines = text[: text.index(f"\nTable {number}: ")].splitlines()
    while "\t" not in lines[-1]:
        lines.pop()
    first = next(i for i in range(len(lines) - 1, -1, -1) if "\t" not in lines[i]) + 1
    return [line.split("\t") for line in lines[first:]]
