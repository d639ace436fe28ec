"""The LaTeX reader of the tests refuses text that TeX does not compile."""

from __future__ import annotations

import pytest

from tests.engine.planning.export.tex import cells, table

WHOLE = "\\begin{tabular}{ll}\n\\hline\na & b \\\\\n\\hline\n$1^{+2}_{-3}$ & 5\\,\\% \\\\\n\\hline\n\\end{tabular}\n"


def test_a_sound_table_gives_its_cells() -> None:
    assert table(WHOLE) == [["a", "b"], ["$1^{+2}_{-3}$", "5\\,\\%"]]


@pytest.mark.parametrize(
    "row",
    ["5 % & 1", "a_b & 1", "N^2 & 1", "# & 1", "$1 & 1", "{1 & 1", "1} & 1", "$x & y$", r"\alpha & 1", "a < b & 1",
     "$1^^2$ & 1", r"\times & 1", "~ & 1"],
)  # fmt: skip
def test_what_tex_would_stop_at_is_refused(row: str) -> None:
    with pytest.raises(AssertionError):
        cells(row)


@pytest.mark.parametrize(
    "source",
    [WHOLE.replace("ll", "lll"), WHOLE.replace("& b", ""), WHOLE.replace("\\end{tabular}\n", ""),
     WHOLE.replace("a &", "α &"), WHOLE.replace(" b \\\\", " b")],
)  # fmt: skip
def test_a_broken_table_is_refused(source: str) -> None:
    with pytest.raises(AssertionError):
        table(source)
