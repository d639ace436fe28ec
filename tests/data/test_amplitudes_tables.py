"""Tables of amplitude cells: the columns that the trainer writes, and the law of each process."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest

from isoplan.data.catalogue import AMPLITUDES, Demo
from isoplan.data.files import records
from isoplan.engine.fitting.groups import fit_groups
from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import snapshots, tables
from isoplan.trainers.amplitudes.family import COLUMNS
from isoplan.trainers.bundle import table_of
from tests.engine.planning.amplitude.trained import table, write

GRIDS = Path(__file__).parents[2] / "data" / "grids"


@pytest.mark.parametrize("demo", AMPLITUDES, ids=lambda demo: demo.file)
def test_the_mapping_of_a_table_names_columns_that_the_trainer_writes_for_a_grid(demo: Demo) -> None:
    roles = demo.roles
    single = [roles.N, roles.D, roles.C, roles.group, roles.loss, roles.seed, roles.run]
    named = {*filter(None, single), *roles.hyper, *(m.column for m in roles.metrics)}
    assert named <= set(COLUMNS.rows)
    assert demo.spec.find_law().axis == demo.spec.axis
    assert set(demo.spec.share) <= set(demo.spec.find_law().names)
    grids = {table_of(path).name for path in GRIDS.glob("amplitudes_*.toml")}
    assert demo.file.removeprefix("grids/") in grids


def test_the_scan_of_points_says_which_cells_are_there_at_twice_the_compute() -> None:
    cells = pd.DataFrame(records(AMPLITUDES[0].file)).astype({"D": int, "updates": int})
    assert set(cells["rate_used"]) == {"0.003"}
    for (_, D), some in cells.groupby(["process", "D"]):
        seeds = {int(str(n)): set(cell["seed"]) for n, cell in some.groupby("updates")}
        lengths = sorted(seeds)
        assert lengths == [lengths[0] * 2**i for i in range(len(lengths))]
        assert seeds[lengths[0]] == {"0", "1", "2"}
        if int(str(D)) <= 1000:
            assert seeds[lengths[1]] == {"0", "1", "2"}
        else:
            assert all("0" in seeds[n] for n in lengths[1:])
    said = "All cells with D up to 1,000, and at least one seed of each larger D, are repeated at twice the compute."
    assert said in AMPLITUDES[0].provenance


def test_each_process_of_the_scan_of_points_has_a_law_of_its_own(tmp_path: Path) -> None:
    demo, truth = AMPLITUDES[0], {"Zg": 2.08, "Zgg": 1.3, "Zggg": 0.9}
    path = write(tmp_path / "made.csv", *(table(name, 5, alpha, noise=0.05) for name, alpha in truth.items()))
    roles = Roles.model_validate({**demo.roles.model_dump(), "metrics": (), "hyper": ()})
    with memory() as db:
        made = tables.add(db, path, demo.name)
        runs = snapshots.runs(db, snapshots.take(db, made.id, roles))
    spec = demo.spec.model_copy(update={"bootstrap": 20})
    found = fit_groups(spec, runs).fits
    assert {name: one.values["alpha"] for name, one in found.items()} == pytest.approx(truth, rel=0.05)
    assert len({float(one.values["K"]) for one in found.values()}) == 1


def test_the_hours_in_the_document_are_those_of_the_tables() -> None:
    """The core hours in docs/amplitudes.md, by file and in total, equal the sums over the tables."""
    text = (Path(__file__).parents[2] / "docs" / "amplitudes.md").read_text(encoding="utf-8")
    found: dict[str, list[float]] = defaultdict(list)
    for grid in sorted(GRIDS.glob("amplitudes_*.csv")):
        name = grid.stem.removeprefix("amplitudes_")
        for row in csv.DictReader(grid.read_text(encoding="utf-8").splitlines()) if name != "curves" else ():
            split = {"Zg": "data-two", "WZ": "data-two"}.get(row["process"], "data-more")
            found[split if name == "data" else "rates" if "rates" in name else name].append(float(row["seconds"]))
    lines = dict.fromkeys(found, "")
    for line in text.splitlines():
        lines |= {name: line for name in found if line.startswith(f"| `{name}")}
    for name, seconds in found.items():
        cells, hours = (cell.strip() for cell in lines[name].split("|")[-3:-1])
        assert int(cells) == len(seconds), name
        assert float(hours) == pytest.approx(sum(seconds) / 3600, abs=0.051), name
    assert f"took {sum(map(sum, found.values())) / 3600:.1f} h of one core" in text
