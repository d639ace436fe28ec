"""Numbers such as 100.000 in a file with decimal commas: the user must choose whether 100.000 means 100000 or 100."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.files.table_files import read_runs
from isoplan.engine.store.tables import tables
from tests.engine.store.test_import import excel

LOSSES = ("6,9405", "5,1207", "4,8011", "4,2113")
SIZES = ("100.000", "137.000", "250.000", "729.000")
READINGS = "'100.000' may be 100000 or 100 in a file with decimal commas"


def german(sep: str = ";", sizes: tuple[str, ...] = SIZES, losses: tuple[str, ...] = LOSSES) -> str:
    lines = (sep.join((f"{i + 1}e6", size, loss)) for i, (size, loss) in enumerate(zip(sizes, losses, strict=True)))
    return "\n".join((sep.join(("N", "D", "loss")), *lines)) + "\n"


@pytest.mark.parametrize("sep", [";", "\t"])
@pytest.mark.parametrize(
    ("how", "values"),
    [
        ("comma", [100_000, 137_000, 250_000, 729_000]),
        ("thousands", [100_000, 137_000, 250_000, 729_000]),
        ("point", [100, 137, 250, 729]),
        ("comma+millions", [100e9, 137e9, 250e9, 729e9]),
    ],
)
def test_the_reading_is_asked_for_and_the_answer_is_used(
    tmp_path: Path, sep: str, how: str, values: list[float]
) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(german(sep))
    assert read_runs(file, agreed=("loss",)).roles.D is None
    assert read_runs(file, agreed=("loss", f"D:{how}"))["D"].tolist() == values


@pytest.mark.parametrize("how", ["", ":millions"])
def test_an_answer_that_leaves_it_open_names_both_readings(tmp_path: Path, how: str) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(german())
    unit = how.replace(":", "+")
    with pytest.raises(PlannerError) as error:
        read_runs(file, agreed=("loss", f"D{how}"))
    assert str(error.value) == (f"--convert 'D': {READINGS}. Write --convert D:comma{unit} or --convert D:point{unit}.")
    with pytest.raises(PlannerError, match=f"D needs numbers: choose its reading .*: {READINGS}"):
        read_runs(file, {"D": "D"}, agreed=("loss",))


@pytest.mark.parametrize(
    ("text", "kind", "ambiguous"),
    [
        (german(), "text", True),
        (german(sizes=("100.000", "137", "250", "729.000")), "text", True),
        (german(sizes=("100.000", "137.000", "", "NA")), "text", True),
        (german(sizes=("100.000", "137.000", "250.000", "1.5k")), "text", False),
        (german(losses=("3.251", "3.125", "2.999", "2.875")), "text", True),
        (german(losses=("3.25", "3.125", "2.999", "2.875")), "number", False),
        (german(sizes=("100.000", "137.000", "250.000", "1729.000")), "number", False),
        (german(sizes=("0.100", "0.137", "0.250", "1.729")), "number", False),
        (german(",", losses=("3.251", "3.125", "2.999", "2.875")), "number", False),
        (german("\t", losses=("3,251", "3,125", "2,999", "2,875")), "number", False),
    ],
)
def test_a_column_is_in_doubt_only_where_nothing_decides(db: Database, text: str, kind: str, ambiguous: bool) -> None:
    column = tables.columns(db, tables.add(db, text.encode(), "runs.csv").id)[1]
    assert column.kind == kind
    assert (column.conversion is not None and column.conversion.ambiguous) == ambiguous


def test_a_late_cell_with_other_digits_settles_it(db: Database) -> None:
    text = german(sizes=SIZES * 3000, losses=LOSSES * 3000) + "1e6;100.5;3,1\n"
    column = tables.columns(db, tables.add(db, text.encode(), "runs.csv").id)[1]
    assert (column.kind, column.maximum) == ("number", 729.0)


def test_numbers_of_a_sheet_are_numbers_whatever_its_text_says(db: Database) -> None:
    lines: list[list[object]] = [["N", "D", "loss"], *([1e6 * (i + 1), 3.125 + i, x] for i, x in enumerate(LOSSES))]
    column = tables.columns(db, tables.add(db, excel({"runs": lines}), "runs.xlsx").id)[1]
    assert (column.kind, column.minimum) == ("number", 3.125)
