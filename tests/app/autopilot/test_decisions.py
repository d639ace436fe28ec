"""Tests of the decisions of an autopilot in simulated grids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.app.autopilot.deciding import decide, fit_cells
from isoplan.app.autopilot.decisions import Decision, Promise, as_table, to_json
from isoplan.app.autopilot.specification import Specification, Task, check_task
from isoplan.app.autopilot.stored_decisions import DECISIONS, folder_of, keep_decisions, read_decisions
from isoplan.engine.design.spread import spread
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.next_cells.answer import present
from tests.app.autopilot.simulated import BUDGET, GRID, NAMES, SPEED, World, task

COST = GRID.candidates.cost


def rows(decision: Decision) -> list[int]:
    return [NAMES.index(name) for name in decision.cells]


@pytest.mark.parametrize(("seed", "until"), [(0, 0.02), (1, 0.02), (0, 0.002)])
def test_the_loop_ends_with_a_reason_within_its_cap(seed: int, until: float) -> None:
    world, asked = World(seed), task(cap=5.0, until=until, seed=seed)
    made = world.run(asked)
    *rounds, last = made
    assert last.kind == "stop"
    assert last.reason in (("known",) if until == 0.02 else ("pays", "cells", "cap"))
    assert last.sentence.startswith("Stop: the loss at 10¹⁵ FLOPs is known to ± ")
    assert "expected loss" in last.answer
    chosen = [name for one in rounds for name in one.cells]
    assert len(chosen) == len(set(chosen)) == len(world.done)
    assert all(not set(one.cells) & one.table.keys() for one in rounds)
    assert [one.number for one in made] == list(range(1, len(made) + 1))
    assert all(len(one.cells) <= 4 for one in rounds if one.kind != "start")
    assert last.hours == pytest.approx(sum(COST[row] for one in rounds for row in rows(one)) / SPEED)
    assert last.hours <= 5.0
    assert last.spent == pytest.approx(last.hours * SPEED)
    assert [one.promised for one in made[1:]] == [one.promise for one in rounds]
    fitted = fit_cells(asked, world.look())
    assert last.width == present(fitted, asked.spec.question).widths[0]
    if last.reason == "known":
        assert last.width is not None
        assert last.width <= np.log(1.02)


def test_equal_seeds_give_equal_decisions() -> None:
    made = World(1).run(task(until=0.05, seed=1))
    assert World(1).run(task(until=0.05, seed=1)) == made
    other = World(1).run(task(until=0.05, seed=2))
    assert [one.width for one in other if one.kind == "round"] != [one.width for one in made if one.kind == "round"]


def test_the_stored_decisions_continue_after_any_cut(tmp_path: Path) -> None:
    root, asked, world = tmp_path, task(), World()
    made = world.run(asked)
    assert len(made) >= 4
    assert [len(one) for one in world.kept] == list(range(1, len(made) + 1))
    keep_decisions(root, asked.spec.key, made)
    file = folder_of(root, asked.spec.key) / DECISIONS
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(made)
    for cut in range(len(lines)):
        for rest in (b"", lines[cut][: len(lines[cut]) // 2]):
            file.write_bytes(b"".join(lines[:cut]) + rest)
            stored = read_decisions(root, asked.spec.key)
            assert stored == made[:cut]
        trained = [name for one in stored for name in one.cells]
        for missing in {0, min(cut, 1)}:  # cells of the last decision that have not ended
            again = World(done=set(trained[: len(trained) - missing]))
            assert again.run(asked, stored) == made
            assert again.trained == list(made[cut - missing : -1])


def test_a_stop_is_decided_again_and_another_cap_continues() -> None:
    world, small = World(), task(cap=0.4, until=0.002)
    made = world.run(small)
    assert made[-1].reason in ("cells", "cap", "pays")
    assert world.run(small, made) == made
    larger = replace(small, cap=20.0)
    assert larger.spec.key == small.spec.key
    longer = world.run(larger, made)
    assert longer[: len(made) - 1] == made[:-1]
    assert longer[-1].number > made[-1].number
    assert longer[-1].hours > 0.4


def test_the_start_is_spread_over_the_cheap_cells() -> None:
    first = decide(task(), World().look(), ())
    assert (first.kind, len(first.cells), first.width) == ("start", 10, None)
    assert "the law chinchilla needs 10 finished cells and there are 0" in first.sentence
    chosen = rows(first)
    assert all(len(np.unique(GRID.candidates.columns[axis][chosen])) >= 3 for axis in ("N", "D"))
    assert max(COST[chosen]) <= np.sort(COST)[len(COST) // 3]
    some = spread(GRID.candidates, [], list(range(len(NAMES))), 10, 3 * float(COST.min()))
    assert 1 <= len(some) <= 3
    assert COST[some].sum() <= 3 * COST.min()


def test_cells_of_one_size_are_followed_by_other_sizes() -> None:
    alone = [name for name, n in zip(NAMES, GRID.candidates.columns["N"], strict=True) if n == 1e4]
    wide = replace(GRID, names=(*NAMES, *(f"again {i}" for i in range(4))), seeds=(0,) * 40,
                   candidates=GRID.candidates.take([*range(36), 0, 1, 2, 3]))  # fmt: skip
    wide = replace(wide, candidates=replace(wide.candidates, row=np.arange(40)))
    losses = dict.fromkeys([*alone, *wide.names[36:]], 1.0)
    asked = Task(task().spec, wide, 4, None)
    found = decide(asked, replace(World().look(), losses=losses), ())
    assert found.kind == "start"
    assert "only one value of N or D" in found.sentence
    assert all(float(N) != 1e4 for N in wide.candidates.columns["N"][[wide.names.index(x) for x in found.cells]])


def test_a_small_interval_is_checked_by_one_more_round() -> None:
    world = World(done=set(NAMES[:30]))
    asked = task(until=0.5, cap=None)
    first = decide(asked, world.look(), ())
    assert first.kind == "round"
    assert first.width is not None
    assert first.width <= np.log(1.5)
    assert first.sentence.endswith(" to check this.")
    world.train(first)
    assert decide(asked, world.look(), (first,)).reason == "known"
    wide = first.model_copy(update={"width": 1.0})
    for expected, kind in ((0.1, "stop"), (0.5, "round"), (None, "round")):  # the wanted half width is ln 1.5 = 0.41
        promised = wide.model_copy(update={"promise": Promise(expected=expected)})
        assert decide(asked, world.look(), (promised,)).kind == kind


def test_failed_cells_are_not_chosen_again_and_a_failed_round_stops() -> None:
    first = decide(task(), World().look(), ())
    part = World(failing=frozenset(first.cells[:2]))
    made = part.run(task())
    assert made[1].kind == "start"
    assert len(made[1].cells) == 2
    assert not any(set(one.cells) & part.failing for one in made[1:])
    whole = World(failing=frozenset(first.cells))
    made = whole.run(task())
    assert [one.reason for one in made] == ["", "failed"]
    assert made[-1].sentence == "Stop. No cell of round 1 has a loss. Read the reasons in the list of cells."
    assert made[-1].width is None


def test_cells_that_the_cap_pauses_stop_the_loop() -> None:
    world, asked = World(), task(until=0.002)
    made = world.run(asked)
    at = next(i for i, one in enumerate(made) if one.kind == "round")
    early = World(done={name for one in made[: at + 1] for name in one.cells} - {made[at].cells[-1]})
    found = decide(asked, early.look(), made[: at + 1])
    assert (found.kind, found.reason) == ("stop", "cap")
    assert found.width is not None


def test_a_question_beyond_the_runs_is_approached() -> None:
    world, asked = World(), task(cap=None, budget=1e16, until=0.05)
    made = world.run(asked)
    assert made[1].kind == "approach"
    assert "do not support the loss at 10¹⁶ FLOPs yet" in made[1].sentence
    assert made[1].width is None
    assert any(one.kind == "round" for one in made)
    assert made[-1].kind == "stop"


def test_a_target_loss_narrows_its_compute() -> None:
    spec = Specification(family="simulated", cells=NAMES, target_loss=0.62, until=0.3)
    asked = Task(spec, GRID, 4, None)
    made = World().run(asked)
    assert made[-1].reason in ("known", "pays", "cells")
    assert "the compute for a loss of 0.62" in made[-1].sentence
    assert to_json(spec, made)["stopped"] == made[-1].reason
    assert len(as_table(made).splitlines()) == len(made) + 1


@pytest.mark.parametrize(
    ("law", "count", "why"),
    [
        ("isoflop", 36, "Option --law: isoflop is not a surface over N and D. Use chinchilla."),
        ("chinchilla", 6, "Grid: all its cells have the same N. Give it cells of different N."),
        ("chinchilla", 8, "Grid: it has 8 cells, but chinchilla needs 10 (its 5 parameters and 5 more). Give it more"),
    ],
)
def test_a_grid_that_cannot_answer_is_refused(law: str, count: int, why: str) -> None:
    few = replace(GRID, names=NAMES[:count], seeds=(0,) * count, candidates=GRID.candidates.take(range(count)))
    spec = Specification(family="simulated", cells=few.names, law=law, budget=BUDGET)
    with pytest.raises(PlannerError) as error:
        check_task(Task(spec, few))
    assert why in str(error.value)
