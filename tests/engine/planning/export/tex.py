"""A reader of LaTeX tables for tests. It returns the table cells and refuses text that TeX does not compile."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\\begin\{tabular\}\{l+\}|\\end\{tabular\}|\\\\|\\[a-zA-Z]+|\\.|\n|.", re.DOTALL)
TEXT = {rf"\{c}" for c in "%_&#${}"} | {r"\,"}
TEXT |= {rf"\text{name}" for name in ("asciicircum", "asciitilde", "backslash", "less", "greater", "bar")}
MATHS = {r"\times", r"\infty"}
SCRIPTS = "^_"


def table(source: str) -> list[list[str]]:
    """Return the rows of the LaTeX table ``source``. Raises AssertionError if TeX would not compile the table."""
    assert source.isascii(), [c for c in source if not c.isascii()]
    head, *lines, end = source.strip().splitlines()
    begun = re.fullmatch(r"\\begin\{tabular\}\{(l+)\}", head)
    assert begun, head
    assert end == r"\end{tabular}", end
    rows = [line.removesuffix(r" \\") for line in lines if line != r"\hline"]
    assert len(lines) - len(rows) == 3
    assert all(line.endswith(r" \\") for line in lines if line != r"\hline")
    found = [cells(row) for row in rows]
    assert {len(row) for row in found} == {len(begun[1])}, [row for row in found if len(row) != len(begun[1])]
    return found


def cells(row: str) -> list[str]:
    """Return the cells of a table row. Raises AssertionError if a cell has an open brace or an open $."""
    found, depth, maths, last = [""], 0, False, ""
    for token in TOKEN.findall(row):
        if token == "&":
            assert depth == 0, row
            assert not maths, row
            found.append("")
            continue
        assert token not in ("%", "#", "~", '"', "\n", r"\\"), row
        if token.startswith("\\"):
            assert token in (MATHS if maths else TEXT) or token == r"\,", (token, row)
        elif token == "$":
            assert depth == 0, row
            maths = not maths
        elif token in SCRIPTS:
            assert maths, row
            assert last not in SCRIPTS, row
        elif token in "<>|":
            assert maths, row
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0, row
        found[-1] += token
        last = token
    assert depth == 0, row
    assert not maths, row
    return [cell.strip() for cell in found]
