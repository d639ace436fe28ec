"""Decimal commas and thousands separators in numbers with a suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.engine.store.files.table_files import read_runs
from tests.engine.store.usual.conftest import RUNS, Write, refused


@pytest.mark.parametrize("kind", ["", ":comma"])
def test_decimal_commas_with_a_suffix_are_numbers(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    rows = [f"{n / 1e6:.2f}M;{d / 1e9:.3f} B;{loss:.4f}" for n, d, loss in RUNS.itertuples(index=False)]
    path.write_text("\n".join(["Parameter;Token;Verlust", *(row.replace(".", ",") for row in rows)]))
    names = ("Parameter", "Token", "Verlust")
    runs = read_runs(path, dict(zip(("N", "D", "loss"), names, strict=True)), agreed=tuple(n + kind for n in names))
    assert runs["N"] == pytest.approx(RUNS.N, rel=1e-3)
    assert runs["D"] == pytest.approx(RUNS.D, rel=1e-2)
    assert runs["loss"] == pytest.approx(RUNS.loss, abs=1e-4)


def test_a_comma_before_three_digits_and_a_suffix_has_two_readings(write: Write) -> None:
    path = write(N=["1,584M", "2,500M"], D=["1.5B", "70M"], loss=[3.0, 2.9])
    refused(path, "'1,584M' may be 1.584M or 1584M", {"N": "N"})
    assert read_runs(path, agreed=("N:comma", "D"))["N"].tolist() == [1.584e6, 2.5e6]
    assert read_runs(path, agreed=("N:thousands", "D"))["N"].tolist() == [1.584e9, 2.5e9]
    assert read_runs(path, agreed=("N:comma", "D"))["D"].tolist() == [1.5e9, 7e7]
