"""The typed CSV tables contain exactly the numbers that the papers print in their tables, in the same order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import pytest

from isoplan.data.files import records
from tests.data.paper_text import numbers, table_after, table_before

Rows = list[list[Decimal]]

# For each table of the paper, the files into which it was typed: (file, label columns, columns that the table of the
# paper does not print). Labels group rows. A label is also compared with the paper if the label is a number, such as a
# budget or a depth.
BEHAVIOR: dict[int, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = {
    2: (
        ("table02_embedder_share", ("budget_flops",), ()),
        ("table02_exponents", ("budget_flops",), ()),
    ),
    3: (
        ("table03_updates_to_target", ("metric", "target"), ("batch_size",)),
        ("table03_critical_batch", ("metric", "target"), ()),
    ),
    4: (("table04_allocation", ("budget_flops",), ()),),
    5: (("table05_exponents", ("metric",), ()), ("table05_cells", ("metric",), ("budget_flops",))),
    6: (
        ("table06_negatives", ("budget_flops",), ()),
        ("table06_bias_exponents", ("budget_flops",), ()),
    ),
    8: (("table08_isoflop_accounting", ("budget_flops",), ()),),
    9: (("table09_depth", ("budget_flops",), ()),),
    10: (("table10_depth_parabola", ("budget_flops",), ()),),
    11: (("table11_depth_val_loss", ("L_ctx",), ("budget_flops",)),),
    12: (("table12_depth_1e18", ("L_ctx",), ()),),
    13: (("table13_train_surrogate", ("budget_flops",), ()),),
    14: (("table14_mup", ("initialization",), ()),),
    15: (("table15_surrogacy", ("metric",), ("stage2_n",)),),
    16: (("table16_spearman_stage1", ("budget_flops",), ()),),
    17: (("table17_spearman_stage2", ("budget_flops",), ()),),
}
TEXT_COLUMNS = {"metric", "located", "note", "B_crit_note", "target_unit", "beta_note", "estimate", "sweep"} | {
    "size",
    "initialization",
    "unit",
    "inputs",
    "parameter",
}
AMPLITUDES = {
    "t\\bar{t}H": "ttH",
    "\\gamma\\gamma g": "yyg",
    "\\gamma\\gamma g g": "yygg",
}


@pytest.fixture(scope="module")
def texts(shared: Path) -> dict[str, str]:
    folder = shared / "papers"
    names = {"jets": "jet-tagging", "behavior": "behavioral-models", "amplitudes": "amplitude-surrogates"}
    return {k: (folder / f"{v}.txt").read_text(encoding="utf-8") for k, v in names.items()}


def typed(file: str, label: Sequence[str], left_out: Sequence[str]) -> dict[tuple[str, ...], list[Decimal]]:
    """Return all typed numbers of a file by row label, in order, without empty entries."""
    skipped = {*label, *left_out} | TEXT_COLUMNS
    return {
        key: [Decimal(v) for row in rows for k, v in row.items() if k not in skipped and v]
        for key, rows in groupby(records(file), key=lambda r: tuple(r[c] for c in label))
    }


def printed(table: list[list[str]], words_first: bool) -> Rows:
    """Return the numbers of each row of a paper's table, without the first cell if ``words_first`` is true."""
    body = [[numbers(c) for c in (row[1:] if words_first else row)] for row in table]
    return [[x for cell in row for x in cell] for row in body]


@pytest.mark.parametrize("number", BEHAVIOR)
def test_behavioral_tables_hold_exactly_what_is_printed(texts: dict[str, str], number: int) -> None:
    parts = [typed(f"papers/behavior/{file}.csv", label, out) for file, label, out in BEHAVIOR[number]]
    assert all(p.keys() == parts[0].keys() for p in parts)
    numeric_label = [[Decimal(c) for c in key if re.fullmatch(r"[\d.e]+", c)] for key in parts[0]]
    rows = [lead + [x for p in parts for x in p[key]] for lead, key in zip(numeric_label, parts[0], strict=True)]
    if number == 14:
        rows.append([Decimal(r["default_minus_MuP"]) for r in records("papers/behavior/table14_differences.csv")])
    words_first = BEHAVIOR[number][0][1][0] in ("metric", "initialization")
    in_paper = printed(table_after(texts["behavior"], number), words_first)
    assert in_paper[-len(rows) :] == rows
    # The table of the paper also has one or two header rows.
    assert len(in_paper) - len(rows) in (1, 2)


@pytest.mark.parametrize(
    ("number", "files"), [(1, ("table01_sweeps", "table01_headlines")), (7, ("table07_guidance",))]
)
def test_numbers_of_the_text_tables_are_printed_there(
    texts: dict[str, str], number: int, files: tuple[str, ...]
) -> None:
    cells = [c.replace("2M", "2 M") for row in table_after(texts["behavior"], number) for c in row]
    found = {x for c in cells for x in numbers(c)} | {Decimal("2e6")}
    for file in files:
        for row in records(f"papers/behavior/{file}.csv"):
            assert {Decimal(row[k]) for k in ("low", "high", "value") if k in row} <= found, row


def test_numbered_equations(texts: dict[str, str]) -> None:
    rows = records("papers/behavior/equations.csv")
    for number, group in groupby(rows, key=lambda r: r["equation"]):
        formula = re.search(rf"\$\$[^$]*\({number}\)[^$]*\$\$", texts["behavior"])
        assert formula, number
        right = re.sub(rf"(\\tag\{{)?\({number}\)", "", formula[0].split("=", 1)[1])
        expected = [Decimal(v) for r in group for v in (r["value"], r["se"]) if v]
        assert [abs(x) for x in numbers(right)] == expected, number


def test_jets_table_1(texts: dict[str, str]) -> None:
    rows = [list(r) for r in typed("papers/jets/table1_scaling_law.csv", ("parameter",), ()).values()]
    assert printed(table_after(texts["jets"], 1), True)[1:] == rows


def test_jets_table_2(texts: dict[str, str]) -> None:
    rows = typed("papers/jets/table2_repetition.csv", ("inputs", "features", "particles"), ())
    table = table_after(texts["jets"], 2)
    assert printed(table, True)[1:] == list(rows.values())
    for row, (_, features, particles) in zip(table[1:], rows, strict=True):
        shape = numbers(row[0]) if features != "3" else [Decimal(3), *numbers(row[0])]
        assert shape == [Decimal(features), Decimal(particles)]


def test_jets_widths_and_efficiencies(texts: dict[str, str]) -> None:
    widths = re.search(r"d \\in \\\{([\d, ]+)\\\}", texts["jets"])
    assert widths
    assert [r["width"] for r in records("papers/jets/widths.csv")] == re.findall(r"\d+", widths[1])
    fixed = re.search(r"Signal efficiency is fixed at ([\d.]+)%.*?\(([\d.]+)%\).*?\(([\d.]+)%\)", texts["jets"])
    assert fixed
    half, higgs, top = (Decimal(x) / 100 for x in fixed.groups())
    special = {"Hlvqq": higgs, "toplv": top}
    for row in records("papers/jets/efficiencies.csv"):
        assert Decimal(row["efficiency"]) == special.get(row["signal"], half)


def measured(cell: str) -> list[Decimal | None]:
    """Return the value, upper error and lower error in a table cell, multiplied by the power of ten in the cell.

    A cell with a floor of about zero has no errors.
    """
    if "simeq" in cell:
        return [Decimal(0), None, None]
    m = re.search(r"([\d.]+)\^\{\+([\d.]+)\}_\{-([\d.]+)\}\)?(?:\s*\\times 10\^\{?(-?\d+)\}?)?", cell)
    assert m, cell
    return [Decimal(x).scaleb(int(m[4] or 0)) for x in m.groups()[:3]]


def amplitude_rows(text: str, number: int) -> list[list[object]]:
    """Return a row for each fit of a table.

    A row contains the name of x, the fixed quantity with its value, and X_c, alpha and K with their errors.
    """
    out: list[list[object]] = []
    x = ""
    for first, second, *cells in table_before(text, number)[1:]:
        x = re.sub(r"_?[{(\[ ].*", "", first) or x
        alpha = numbers(cells[1])
        fixed = numbers(second.split("=")[1])[0]
        out.append([x, second.strip("$")[0], fixed, *measured(cells[0]), *alpha, *measured(cells[2])])
    return out


def test_amplitude_fits_are_the_81_published_ones(texts: dict[str, str]) -> None:
    rows = records("papers/amplitudes/tables02_15_fits.csv")
    assert len(rows) == 81
    columns = ("fixed_value", "X_c", "X_c_up", "X_c_down", "alpha", "alpha_se", "K", "K_up", "K_down")
    by_table = {int(t): list(g) for t, g in groupby(rows, key=lambda r: r["table"])}
    assert list(by_table) == list(range(2, 16))
    for number, group in by_table.items():
        mine = [[r["x"], r["fixed"], *(Decimal(r[c]) if r[c] else None for c in columns)] for r in group]
        assert mine == amplitude_rows(texts["amplitudes"], number), number
        caption = re.search(rf"\nTable {number}: ([^\n]*)", texts["amplitudes"])
        assert caption
        process = re.search(r"for \$?([^$]*?)\$? (?:for )?(?:MLP-I|LLoCa)", caption[1])
        assert process
        name = process[1].split("\\rightarrow ")[-1]
        assert {r["process"] for r in group} == {AMPLITUDES.get(name, name)}
        assert all(r["architecture"] in caption[1] and r["training_loss"] in caption[1] for r in group)


def test_amplitude_ranges(texts: dict[str, str]) -> None:
    rows = records("papers/amplitudes/table01_ranges.csv")
    for cells in table_before(texts["amplitudes"], 1)[1:]:
        mine = [r for r in rows if r["quantity"] == re.sub("_.*", "", cells[1])]
        for row, cell in zip(mine, cells[2:], strict=True):
            found = numbers(cell)
            assert [Decimal(row["low"]), Decimal(row["high"])] == [found[0], found[-1]]


@pytest.mark.parametrize("paper", ["jets", "behavior", "amplitudes"])
def test_constants_are_printed_in_their_paper(texts: dict[str, str], paper: str) -> None:
    # Numbers that the text writes as a word or as a power of 2.
    words = {"validation_fraction": "one fourth", "batch_min": "2^6", "batch_max": "2^{16}"}
    found = set(numbers(re.sub(r"\\text\{(\w)\}", r"\1", texts[paper])))
    for row in records(f"papers/{paper}/{paper}_constants.csv"):
        value = Decimal(row["value"])
        if row["name"] in words:
            assert words[row["name"]] in texts[paper]
        else:
            assert value in found or 100 * value in found, row["name"]
