"""Sections of the page Train for amplitude surrogates: phase-space dimension d, intrinsic dimensions, pulls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import ndtr
from streamlit.testing.v1 import AppTest

from isoplan.app.views.training import special
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from isoplan.trainers.amplitudes.files import write_events
from isoplan.trainers.amplitudes.source import FOLDER, Source, make_toy_events
from isoplan.trainers.amplitudes.surrogate.accuracy import FILE, write_pulls
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import result_of
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import typed_grid
from tests.app.views.conftest import Open, grid, told

PULLS = {"pull_mean": 0.04, "pull_width": 1.31, "bulk_mean": -0.05, "bulk_width": 0.98, "within_1": 0.671}

FEW = {"cell_points": "20", "cell_tests": "100", "cell_dimension_points": "0"}


def words(at: AppTest) -> str:
    return "\n".join(str(one.value) for one in (*at.caption, *at.subheader, *at.markdown)).replace("\\", "")


def grow(root: Path, fields: Mapping[str, str], measured: Mapping[str, float]) -> list[str]:
    """Launch a sweep, end its cells, and return the names of the cells.

    Each cell has the metrics ``measured``, and 4,000 pulls with standard deviation 2.
    """
    family = find_family("amplitudes", root)
    made = sweep.launch(root, typed_grid(family, {"dimension_points": "0", **fields}), family)
    queue = Queue(root)
    for name in made.cells:
        cell: dict[str, Any] = queue.scan()[name].cell
        metrics = {"loss": 0.1, "N": cell["parameters"], "D": float(cell["points"]), **measured}
        number = queue.lease(name, "here")
        files.write_json(result_of(queue.folder(name), number), {"number": 1, "state": "done", "metrics": metrics})
        if "pull_mean" in measured:
            write_pulls(queue.folder(name) / FILE, 2 * np.random.default_rng(1).normal(size=4000))
    return list(made.cells)


def test_the_preview_says_d_and_whether_the_energy_varies(open_page: Open) -> None:
    at = open_page("train", family="amplitudes", cell_process="Zgg, ttH, Zg")
    assert "Zgg, ttH: *d* = 5, √s varies; Zg: *d* = 2, √s varies." in words(at)
    at = open_page("train", family="amplitudes", cell_process="Zgg, Zg", cell_sqrt_s="1000")
    assert "Zgg at 1,000 GeV: *d* = 4, √s is fixed; Zg at 1,000 GeV: *d* = 1, √s is fixed." in words(at)
    assert "√s" not in words(open_page("train", family="teacher-student"))


def test_the_preview_says_it_of_a_file(open_page: Open, root: Path) -> None:
    (root / FOLDER).mkdir()
    for name, process, sqrt_s in (("one_.npz", "Zg", 800.0), ("many.npz", "Zgg", 0.0)):
        write_events(root / FOLDER / name, make_toy_events(process, 130, 1, sqrt_s))
    at = open_page("train", family="amplitudes", cell_data="one_.npz, many.npz", **FEW)
    assert told(at) == ""
    assert "one_.npz: *d* = 1, √s is fixed; many.npz: *d* = 5, √s varies." in words(at)


def test_files_of_the_workspace_are_a_click_each(open_page: Open, root: Path) -> None:
    (root / FOLDER).mkdir()
    write_events(root / FOLDER / "mine.npz", make_toy_events("Zg", 130, 1, 800.0))
    at = open_page("train", family="amplitudes", **FEW)
    chosen = at.button_group(key="events_chosen")
    assert (list(chosen.options), chosen.value) == (["simulated", "mine.npz"], ["simulated"])
    at.button_group(key="events_chosen").set_value(["mine.npz"]).run()
    assert at.text_input(key="cell_data").value == "mine.npz"
    at.button_group(key="events_chosen").set_value(["simulated", "mine.npz"]).run()
    assert at.text_input(key="cell_data").value == "simulated, mine.npz"
    assert "Zg: *d* = 2, √s varies; mine.npz: *d* = 1, √s is fixed." in words(at)
    at.text_input(key="cell_data").set_value("toy, mine.npz").run()
    assert at.button_group(key="events_chosen").value == ["mine.npz"]
    at.button_group(key="events_chosen").set_value(["simulated"]).run()
    assert at.text_input(key="cell_data").value == "toy, simulated"
    assert told(at) == ""


def test_a_file_of_events_comes_in_once_and_is_trained_on(open_page: Open, root: Path, tmp_path: Path) -> None:
    write_events(tmp_path / "mine.h5", make_toy_events("Zgg", 130, 1))
    sent = ("mine.h5", (tmp_path / "mine.h5").read_bytes(), "application/octet-stream")
    at = open_page("train", family="amplitudes", **FEW)
    at.file_uploader(key="events_file_0").set_value(sent).run()
    assert told(at) == ""
    assert at.text_input(key="cell_data").value == "mine.h5"
    assert "mine.h5: *d* = 5, √s varies." in words(at)
    assert (root / FOLDER / "mine.h5").read_bytes() == sent[1]
    at.file_uploader(key="events_file_1").set_value(sent).run()
    assert "amplitudes/mine.h5 already exists: give the file another name" in told(at).replace("\\", "")


def test_a_file_that_holds_no_events_says_why_and_is_not_kept(open_page: Open, root: Path) -> None:
    at = open_page("train", family="amplitudes", cell_data="simulated")
    at.file_uploader(key="events_file_0").set_value(("bad.npz", b"PK", "application/octet-stream")).run()
    assert told(at).replace("\\", "") == "bad.npz is not an NPZ file, or is cut short: make it with numpy.savez."
    assert at.text_input(key="cell_data").value == "simulated"
    assert not list((root / FOLDER).glob("*bad.npz"))


def test_dimensions_stand_against_what_varies(open_page: Open, root: Path) -> None:
    found = {"d": 5.0, "dimension": 4.6, "dimension_spread": 0.1, "dimension_inputs": 4.7}
    both = {"process": "ttH", "parameters": "1000, 10000", "points": "100, 1000", "iterations": "10"}
    cells = grow(root, both, found)
    at = open_page("train")
    assert told(at) == ""
    assert "Intrinsic dimension" in words(at)
    assert "Pulls" not in words(at)
    against = next(b for b in at.button_group if b.key == "dimension_against")
    assert list(against.options) == ["D", "N"]
    family, records = find_family("amplitudes", root), Queue(root).scan()
    measured = special.dimensions(family, [records[name] for name in cells])
    assert [(one.events, one.label, one.D, one.d) for one in measured[:2]] == [
        ("ttH", "points 100, parameters 1,000", 100.0, 5.0), ("ttH", "points 1,000, parameters 1,000", 1000.0, 5.0),
    ]  # fmt: skip
    assert (measured[0].layer.value, measured[0].layer.spread) == (4.6, 0.1)
    assert measured[0].inputs is not None
    assert (measured[0].inputs.value, measured[0].inputs.spread) == (4.7, 0.0)


def test_what_differs_between_processes_alone_is_no_axis(open_page: Open, root: Path) -> None:
    grow(root, {"process": "ttH, Zg", "points": "100, 1000"}, {"N": 1000.0, "d": 5.0, "dimension": 4.6})
    at = open_page("train")
    assert "Intrinsic dimension" in words(at)
    assert not [b for b in at.button_group if b.key == "dimension_against"]


def test_pulls_of_the_cell_with_most_points_come_first(open_page: Open, root: Path) -> None:
    cells = grow(root, {"process": "ttH", "points": "100, 1000", "objective": "heteroscedastic"}, PULLS)
    at = open_page("train")
    assert told(at) == ""
    choice = at.selectbox(key="pulls_of")
    assert (list(choice.options), choice.value) == (["points 1,000", "points 100"], cells[1])
    assert "Intrinsic dimension" not in words(at)
    assert (
        "Pulls have mean 0.04 and width 1.31. Their median is −0.05, and the half width of their central 68.3 % "
        "interval is 0.98. 67.1 % of the test points lie within 1 sigma (68.3 % for a unit Gaussian)."
    ) in words(at)
    choice.set_value(cells[0]).run()
    assert told(at) == ""
    queue = Queue(root)
    drawn = special.pulls(queue, queue.scan()[cells[0]])
    assert drawn is not None
    assert (drawn.edges[0], drawn.edges[-1], drawn.points.sum(), drawn.target) == (-6, 6, 4000, "log")
    assert drawn.density[29:31].mean() == pytest.approx(1 / np.sqrt(8 * np.pi), rel=0.1)
    assert drawn.ends == pytest.approx(2 * ndtr(-2.9), rel=0.4)
    (name,) = grow(root, {"points": "100", "objective": "heteroscedastic", "target": "raw"}, PULLS)
    raw = special.pulls(queue, queue.scan()[name])
    assert raw is not None
    assert raw.target == "raw"


@pytest.mark.parametrize("text", ["", "low,high\n1,2\n", "low,high,points,gaussian\n-1,1,x,1\n",
                                  "low,high,points,gaussian\n-1,1,0,1\n"])  # fmt: skip
def test_a_histogram_that_cannot_be_read_is_not_shown(open_page: Open, root: Path, text: str) -> None:
    (name,) = grow(root, {"points": "100", "objective": "heteroscedastic"}, PULLS)
    (Queue(root).folder(name) / FILE).write_text(text)
    at = open_page("train")
    assert told(at) == ""
    assert "Pulls" not in words(at)


def test_cells_without_either_show_neither(open_page: Open, root: Path) -> None:
    grow(root, {"points": "100"}, {"d": 2.0})
    at = open_page("train")
    assert told(at) == ""
    assert "Pulls" not in words(at)
    assert "Intrinsic" not in words(at)


def test_events_have_the_name_of_their_process_or_file() -> None:
    assert special.title(Source("simulated", "Zgg", 0.0)) == "Zgg"
    assert special.title(Source("simulated", "Zgg", 1000.0)) == "Zgg at 1,000 GeV"
    assert special.title(Source("toy", "Zgg", 0.0)) == "toy Zgg"
    assert special.title(Source("mine.npz", "Zg", 0.0)) == "mine.npz"


def test_cells_are_fitted_with_losses_known_to_ten_per_cent(open_page: Open, root: Path, db: Database) -> None:
    grow(root, {"process": "Zg"}, {})
    at = open_page("train")
    assert "Exponents and laws on the page Precision" in [
        link.proto.label for link in cast(list[Any], at.get("page_link"))
    ]
    start = special.special_of(find_family("amplitudes", root)).fit
    table = tables.add(db, grid(), "grid.csv")
    at = open_page("fit", table=table.id, refits="50", **start)
    at = next(b for b in at.button if b.label == "Fit law").click().run()
    assert told(at) == ""
    spec = results.fit(db, at.query_params["fit"]).spec
    assert (spec.law, spec.axis, spec.objective) == ("power", "D", "ols-log")
    assert (spec.relative_error, spec.interval) == (0.1, "profile")
    assert special.special_of(find_family("teacher-student", root)).fit == {}


def test_nothing_that_trains_is_imported() -> None:
    code = (
        "import sys, isoplan.app.views.training.special; print(sorted({'torch', 'skdim', 'vegas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
