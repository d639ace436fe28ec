"""The section Autopilot of the page Train: start, orders, picture and exports."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from isoplan.app.autopilot.decisions import Decision
from isoplan.app.autopilot.orders import Orders
from isoplan.app.autopilot.stored_decisions import keep_decisions, read_orders, read_spec, stored_keys, write_orders
from isoplan.app.autopilot.work import ASKS, open_work
from isoplan.app.figures.style.theme import DARK, WEB
from isoplan.app.figures.training import narrowing
from isoplan.app.views.training import autopilots
from isoplan.trainers.backend.queue.sweep import Cap
from tests.app.autopilot.simulated import World, task
from tests.app.views.conftest import Open, told
from tests.app.views.train.conftest import press, words

GRID = {"cell_width": "4, 8, 16", "cell_samples": "2048..32768 x 5"}


def test_an_autopilot_starts_from_the_form_and_takes_orders(open_page: Open, root: Path) -> None:
    at = open_page("train", **GRID, spend_cap="2 h")
    assert not stored_keys(root)
    at.text_input(key="pilot_budget").set_value("1e8").run()
    at.text_input(key="pilot_until").set_value("90 %").run()
    assert not at.checkbox(key="pilot_early").value
    at.checkbox(key="pilot_early").check().run()
    press(at, "Start autopilot")
    (key,) = stored_keys(root)
    spec = read_spec(root, key)
    assert (spec.budget, spec.until, len(spec.cells), spec.law) == (1e8, 0.9, 15, "chinchilla")
    assert read_orders(root, key) == Orders(cap=Cap(2.0, unit="hour"), stop_early=0.05)
    shown = (
        "The loss at 10⁸ FLOPs, to be known to ± 90 %. It starts. It may use at most 2 device hours. Cells that cannot "
        "change the answer are"
    )
    assert f"{shown} stopped." in words(at)
    press(at, "Pause")
    assert read_orders(root, key).wanted == "pause"
    assert "Paused." in words(at)
    press(at, "Continue")
    assert read_orders(root, key).wanted == "run"
    press(at, "Stop")
    assert (read_orders(root, key).wanted, read_orders(root, key).cap.hours) == ("stop", 2.0)
    made = World().run(task())
    keep_decisions(root, key, made)
    write_orders(root, key, Orders(wanted="pause", why="The disk is full."))
    at = open_page("train", **GRID)
    assert "Paused. The disk is full." in words(at)
    assert "This is at most ± 2 %." in words(at)
    assert told(at) == ""


def test_one_click_allows_the_larger_cells_for_which_it_asks(open_page: Open, root: Path) -> None:
    at = open_page("train", **GRID)
    press(at, "Start autopilot")
    (key,) = stored_keys(root)
    ranges = {"N": (157.0, 2e3), "D": (2048.0, 1e5)}
    asks = Decision(number=1, kind="stop", reason="ranges", ranges=ranges, sentence="May it leave the ranges?")
    keep_decisions(root, key, (asks,))
    write_orders(root, key, Orders(wanted="pause", why=ASKS))
    at = open_page("train", **GRID)
    assert f"Paused. {ASKS}" in words(at)
    press(at, "Allow larger cells")
    assert read_orders(root, key).wanted == "run"
    made = open_work(root, key)
    assert len(made.cells.names) > len(made.spec.cells) == 15
    assert made.cells.candidates.columns["N"].max() > 700
    assert "Allow larger cells" not in [button.label for button in at.button]
    assert told(at) == ""


@pytest.mark.parametrize(
    ("field", "text", "why"),
    [
        ("pilot_until", "120 %", "Until: '120 %' is not between 0 and 100 %."),
        ("pilot_budget", "0", "Budget: 0 is not positive."),
        ("cell_width", "4", "Grid: all its cells have the same N."),
    ],
)
def test_a_wrong_field_is_one_sentence_and_nothing_is_stored(
    open_page: Open, root: Path, field: str, text: str, why: str
) -> None:
    at = open_page("train", **GRID)
    at.text_input(key=field).set_value(text).run()
    press(at, "Start autopilot")
    assert why in told(at)
    assert not stored_keys(root)


def test_the_picture_shows_reached_and_expected_widths() -> None:
    made = World().run(task())
    steps = autopilots.steps_of(made[:-1])
    assert steps[-1].ahead
    assert steps[-1].flops == made[-2].spent + made[-2].flops
    for theme in (WEB, DARK):
        drawing = narrowing.draw(autopilots.steps_of(made), 2.0, theme)
        expected, reached = drawing.figure.data
        assert list(reached.x) == pytest.approx([one.spent for one in made if one.width is not None], rel=1e-6)
        assert reached.y[-1] < 2.0 < reached.y[0]
        assert len(expected.x) == sum(one.promised is not None for one in made)
        assert "wanted 2 %" in drawing.alt
    rows = list(csv.DictReader(io.StringIO(autopilots.csv(made))))
    assert [row["sentence"] for row in rows] == [one.sentence for one in made]
    assert float(rows[-1]["width"]) == pytest.approx(reached.y[-1], rel=1e-5)
