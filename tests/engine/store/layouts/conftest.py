"""Functions that read cells or a file, and that compare the runs with the runs of the known law."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Runs
from isoplan.engine.store.files.table_files import TableBytes, read_runs
from tests.engine.store.usual.conftest import RUNS

Rows = Sequence[Sequence[Any]]


def csv_text(rows: Rows, delimiter: str = ",") -> bytes:
    """Return rows as a text file. An empty row is an empty line."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def read(content: bytes | Rows, name: str = "runs.csv", **options: Any) -> Runs:
    """Read the runs of the bytes of a file, or of the rows of a text file."""
    return read_runs(TableBytes(content if isinstance(content, bytes) else csv_text(content), name), **options)


def check(runs: Runs, expected: pd.DataFrame = RUNS) -> None:
    """Check N, D and loss of all runs, in any order."""
    found = np.column_stack([runs[role] for role in ("N", "D", "loss")])
    wanted = expected[["N", "D", "loss"]].to_numpy()
    np.testing.assert_allclose(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)], rtol=1e-6)


def note_of(runs: Runs) -> str:
    """Return the note on the layout, and check that it names the way back; "" if the rows were read unchanged."""
    notes = [note for note in runs.notes if note.startswith("Read as ")]
    assert len(notes) <= 1
    assert all("--layout plain" in note for note in notes)
    return notes[0] if notes else ""


def refusal(content: bytes | Rows, name: str = "runs.csv") -> str:
    with pytest.raises(PlannerError) as error:
        read(content, name)
    return str(error.value)
