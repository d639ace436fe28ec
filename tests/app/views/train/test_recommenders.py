"""Sections of the page Train for recommender cells: scores of baselines that rank items by their counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from isoplan.app.cell_service import ingest, queue_of
from isoplan.engine.store.database.cell_index import table_of
from isoplan.engine.store.database.database import Database
from isoplan.trainers.backend.queue import sweep
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store import files
from isoplan.trainers.backend.store.record import result_of
from isoplan.trainers.families import find_family, read_cell
from isoplan.trainers.grid import typed_grid
from tests.app.views.conftest import Open, told
from tests.app.views.train.conftest import press

COUNTED = {"popularity_recall@10": 0.05754, "last_items_recall@10": 0.23779}


def grow(root: Path, *measured: Mapping[str, float]) -> None:
    """Launch a sweep of embedder shares and end its cells. Each of ``measured`` has the metrics of one cell."""
    family = find_family("behavior", root)
    shares = ", ".join(f"{0.02 * (i + 1):g}" for i in range(len(measured)))
    made = sweep.launch(root, typed_grid(family, {"share": shares, "budget": "1e9"}), family)
    queue = Queue(root)
    for name, metrics in zip(made.cells, measured, strict=True):
        number = queue.lease(name, "here")
        result = {"number": 1, "state": "done", "metrics": {"loss": 4.0, **metrics}}
        files.write_json(result_of(queue.folder(name), number), result)


@pytest.mark.parametrize(
    ("untrained", "said"),
    [
        ((0.0, 1.0), "1 of 2 cells is no better than these baselines."),
        ((0.0, 0.0), "all 2 cells are better than these baselines."),
    ],
)
def test_what_counting_reaches_stands_above_the_cells(
    open_page: Open, root: Path, untrained: tuple[float, ...], said: str
) -> None:
    grow(root, *({**COUNTED, "untrained": mark} for mark in untrained))
    at = open_page("train")
    assert told(at) == ""
    text = "\n".join(str(one.value) for one in at.caption).replace("\\", "")
    counts = (
        "recall@10 is 0.0575 if items are ranked by popularity, and 0.238 if they are ranked by how often they "
        "followed the last items"
    )
    assert f"synthetic, batch-local: {counts}; {said}" in text


def test_cells_of_an_older_version_say_nothing_of_counting(open_page: Open, root: Path) -> None:
    grow(root, {"recall@10": 0.3})
    assert "popularity" not in "\n".join(str(one.value) for one in open_page("train").caption)


def test_fit_these_cells_opens_their_table_with_a_law_of_their_own(
    open_page: Open, root: Path, db: Database, jets: str
) -> None:
    """A fit of jets is open first. It belongs to another table and must not be shown for the cells."""
    family, queue = find_family("behavior", root), queue_of(root)
    made = sweep.launch(root, typed_grid(family, {"width": "8, 16, 32", "steps": "10, 20, 40"}), family)
    for name in made.cells:
        size = family.sizes(read_cell(family, queue.scan()[name].cell))
        assert size.N is not None
        assert size.D is not None
        measured = {"loss": 1 + 100 / size.N + 100 / size.D, "perplexity": 9.0, "recall@10": 0.1}
        ended = {"number": 1, "state": "done", "metrics": measured, "sizes": {"N": size.N, "D": size.D}}
        files.write_json(result_of(queue.folder(name), queue.lease(name, "here")), ended)
    ingest(db, queue)
    at = open_page("fit", fit=jets)
    assert at.query_params["fit"] == jets
    at.query_params.clear()
    at.switch_page("views/train.py").run()
    press(at, "Fit these cells")
    assert told(at) == ""
    assert dict(at.query_params) == {"table": table_of("behavior")}
    chosen = {key: at.selectbox(key=key).value for key in ("table_choice", "y_choice", "law_choice")}
    assert chosen == {"table_choice": table_of("behavior"), "y_choice": "loss", "law_choice": "chinchilla"}
    assert "No fit is open. These are the runs of behavior cells." in [caption.value for caption in at.caption]
