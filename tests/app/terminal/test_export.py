"""`isoplan export` and `isoplan next -o`: planned cells as files of other tools."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.app.terminal.asking import Run, object_in, one_sentence

GRID = 'family = "jets"\nname = "small"\n\n[cell]\nwidth = [8, 16]\nseed = [0, 1]\n'


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def test_a_grid_file_and_a_table_are_written_in_each_format(run: Run, tmp_path: Path) -> None:
    grid, table = tmp_path / "grid.toml", tmp_path / "cells.csv"
    grid.write_text(GRID)
    answer = run("export", grid, "-o", table, "--workspace", tmp_path)
    assert (answer.code, answer.err) == (0, f"isoplan: 4 cells are in {table}.\n")
    assert {(row["width"], row["seed"]) for row in rows(table)} == {("8", "0"), ("8", "1"), ("16", "0"), ("16", "1")}
    text = run("export", table, "--as", "wandb").out
    assert '  "width":\n    values:\n      - 8\n      - 16\n' in text
    assert "#SBATCH --array=0-3" in run("export", table, "--as", "slurm").out
    assert "study.enqueue_trial" in run("export", table, "--as", "optuna").out


def test_mistakes_are_one_sentence(run: Run, tmp_path: Path) -> None:
    one_sentence(run("export", tmp_path / "none.csv", "--as", "csv"), "There is no file")
    one_sentence(run("export", tmp_path / "none.toml", "-o", tmp_path / "a.txt"), "the ending names no format")
    one_sentence(run("export", tmp_path / "none.toml", "--as", "ray"), "Option --as: 'ray' is unknown")
    one_sentence(run("export", tmp_path / "none.csv"), "Option -o: no file is given. Add -o FILE")


def test_next_writes_its_cells(run: Run, fitted: Path, tmp_path: Path) -> None:
    asked = ("next", fitted, "--budget", 1e21, "--max-cells", 3, "--json")
    out = tmp_path / "cells.csv"
    found = object_in(run(*asked, "-o", out).out)["next_cells"]
    assert [(float(r["N"]), float(r["D"])) for r in rows(out)] == [(one["N"], one["D"]) for one in found]
    one_sentence(
        run(*asked, "-o", tmp_path / "a.toml"),
        "--out needs --grid for a .toml file: add --grid, or write another format",
    )
    one_sentence(run(*asked, "--as", "csv"), "--as needs --out: add --out.")
