"""Tests of cells beyond the ranges of a grid: the question, and the extended grid after a user has allowed them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.app.autopilot.beyond import cells_beyond
from isoplan.app.autopilot.decisions import Decision, as_table, sizes_text
from isoplan.app.autopilot.specification import GridCells, Specification, Task
from isoplan.app.autopilot.stored_decisions import keep_decisions
from isoplan.app.autopilot.work import Work, extend, new_work, open_work, order
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import count
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import parse_grid
from tests.app.autopilot.conftest import GRID as SMALL
from tests.app.autopilot.simulated import GRID, NAMES, D, N, World
from tests.app.terminal.asking import Run, one_sentence

INSIDE = np.flatnonzero((N < 2e5) & (D < 2e7))
SMALLER = GridCells(tuple(NAMES[row] for row in INSIDE), (0,) * len(INSIDE), GRID.candidates.take(INSIDE))
BEYOND = GRID.candidates.take(np.setdiff1d(np.arange(len(N)), INSIDE))


def asked(until: float) -> Task:
    cells = replace(SMALLER, candidates=replace(SMALLER.candidates, row=np.arange(len(INSIDE))))
    spec = Specification(family="simulated", cells=cells.names, budget=1e14, until=until)
    return Task(spec, cells, 4, None)


def test_it_asks_before_it_leaves_the_ranges_of_its_grid() -> None:
    without = World().run(asked(0.002))[-1]
    assert without.reason in ("pays", "cells")
    last = World().run(replace(asked(0.002), beyond=BEYOND))[-1]
    assert (last.kind, last.reason) == ("stop", "ranges")
    assert last.sentence.startswith(without.sentence)
    assert "larger cells for" in last.sentence
    assert last.sentence.endswith("May the autopilot leave the ranges of the grid?")
    assert last.model_copy(update={"reason": without.reason, "ranges": {}, "sentence": without.sentence}) == without
    for axis, x in (("N", N), ("D", D)):
        low, high = last.ranges[axis]
        assert low == x[INSIDE].min()
        assert any(np.isclose(high, size) for size in np.unique(x))
    assert last.ranges["N"][1] > N[INSIDE].max() or last.ranges["D"][1] > D[INSIDE].max()


def test_the_question_stays_in_the_list_after_the_permission() -> None:
    """The simulated grid grows to all cells. The later decisions are the same as if the question were not stored."""
    world = World()
    asks = world.run(replace(asked(0.002), beyond=BEYOND))
    again = World(done=set(world.done)).run(replace(asked(0.002), beyond=BEYOND), asks)
    assert again == asks  # a user who continues without permission is asked again
    after = replace(asked(0.002), cells=GRID)
    fresh = World(done=set(world.done)).run(after, asks[:-1])
    world.kept.clear()
    made = world.run(after, asks)
    assert made[: len(asks)] == asks
    permission, later = made[len(asks)], made[len(asks) + 1 :]
    assert (permission.number, permission.kind, permission.reason) == (len(asks) + 1, "allowed", "")
    largest = {axis: high for axis, (_, high) in asks[-1].ranges.items()}
    assert permission.sentence == f"You allowed cells with {sizes_text(asks[-1].ranges)}."
    assert f"N up to {count(largest['N'], 3)}" in permission.sentence
    assert permission.ranges == {}
    assert world.kept[0] == made[: len(asks) + 1]  # stored before the next decision
    plain = [one.model_copy(update={"number": one.number - 2}) for one in later]
    assert plain == list(fresh[len(asks) - 1 :])
    assert world.run(after, made)[: len(asks) + 1] == made[: len(asks) + 1]  # no second permission
    rows = as_table(made).splitlines()
    assert "stop: asks to leave the ranges" in rows[len(asks)]
    assert "allowed by you" in rows[len(asks) + 1]


def test_it_does_not_ask_if_the_answer_is_known_or_if_larger_cells_do_not_help() -> None:
    assert World().run(replace(asked(0.3), beyond=BEYOND))[-1].reason == "known"
    costly = replace(BEYOND, cost=np.full(len(BEYOND), 1e14))  # each costs as much as the target run
    assert World().run(replace(asked(0.002), beyond=costly))[-1] == World().run(asked(0.002))[-1]


def small(root: Path) -> Work:
    grid = parse_grid(SMALL, root)
    return new_work(root, grid, find_family(grid.family, root), budget=1e8, until=0.9)


def test_the_allowed_cells_are_added_to_the_grid_and_the_key_stays(tmp_path: Path) -> None:
    one = small(tmp_path)
    found = cells_beyond(one.grid, one.family, one.cells.candidates)
    assert found is not None
    inside = one.cells.candidates.columns
    assert all(
        (found.candidates.columns["N"] > inside["N"].max()) | (found.candidates.columns["D"] > inside["D"].max())
    )
    order(one)
    ranges = {axis: (float(x.min()), 3 * float(x.max())) for axis, x in inside.items()}
    keep_decisions(tmp_path, one.key, (Decision(number=1, kind="stop", reason="ranges", ranges=ranges),))
    more = extend(one)
    assert more.key == one.key
    assert more.cells.names[: len(one.cells.names)] == one.cells.names
    at, added = more.cells.candidates.columns, len(more.cells.names) - len(one.cells.names)
    wanted = np.all([found.candidates.columns[axis] <= ranges[axis][1] for axis in ranges], axis=0).sum()
    assert added == wanted > 3
    assert all(at[axis].max() <= ranges[axis][1] for axis in ranges)
    grid = more.of_family.chosen([0, len(more.cells.names) - 1])
    assert grid.listed[0]["width"] == 4
    assert open_work(tmp_path, one.key).cells.names == more.cells.names
    assert one.task(order(one)).beyond is not None
    assert extend(one).cells.names == more.cells.names
    assert extend(more).cells.names == more.cells.names  # the grid already contains all cells within the ranges


def test_cells_that_nobody_asked_for_cannot_be_allowed(tmp_path: Path, run: Run) -> None:
    one = small(tmp_path)
    order(one)
    with pytest.raises(PlannerError) as error:
        extend(one)
    assert "it has not asked for larger cells" in str(error.value)
    told = run("autopilot", one.key, "--extend", "--yes", "--workspace", tmp_path)
    one_sentence(told, "it has not asked for larger cells")


def test_a_grid_with_several_values_of_another_field_has_no_cells_beyond(tmp_path: Path) -> None:
    grid = parse_grid(SMALL + "rate = [0.001, 0.002]\n", tmp_path)
    family = find_family(grid.family, tmp_path)
    assert cells_beyond(grid, family, small(tmp_path).cells.candidates) is None
