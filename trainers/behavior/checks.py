"""Checks of a cell of the behavior family against its log, before and during the preparation of the training."""

from __future__ import annotations

from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.trainers.behavior.cell import SYNTHETIC, BehaviorCell, facts_of
from isoplan.trainers.behavior.logs.log import FOLDER, Facts


def check(root: Path, cell: BehaviorCell) -> None:
    """Check that the fields of a cell are compatible and that its log exists. Raises PlannerError otherwise."""
    if not cell.budget and not cell.width:
        raise PlannerError(
            "Width d is 0, so it is computed from the budget, but there is no budget: give a budget or a width."
        )
    if cell.split == "last-one" and cell.judge == "validation":
        raise PlannerError("The split last-one has no validation set: judge on test, or use the split last or time.")
    if cell.negatives and cell.stage == 1 and cell.budget:
        raise PlannerError(
            f"With K = {cell.negatives:,} extra negatives, the budget of stage 1 cannot be converted to steps: give "
            "steps and no budget, or use stage 2."
        )
    if cell.data != SYNTHETIC and not (root / FOLDER / cell.data).is_dir():
        raise PlannerError(
            f"There is no log {cell.data!r}: put its events into {FOLDER}/{cell.data} of the workspace, or set data to "
            f"{SYNTHETIC}."
        )
    facts = facts_of(root, cell)
    if facts is not None:
        check_negatives(cell, facts)
        check_batch(cell, facts.windows)
        _ = cell.sized(facts) if cell.stage == 1 else cell.more_steps(facts)


def check_batch(cell: BehaviorCell, windows: int) -> None:
    """Check that the log has at least one batch of training sequences (``windows``). Raises PlannerError otherwise."""
    if not windows:
        raise PlannerError(
            f"{cell.data} has no training events: the split {cell.split} leaves fewer than two events of each user for "
            "training. Add users with more events, or use another split."
        )
    if windows < cell.batch:
        raise PlannerError(
            f"{cell.data} has {windows:,} sequences to train on, but the batch has {cell.batch:,}: make the "
            "batch smaller, or add users with more events."
        )


def check_negatives(cell: BehaviorCell, facts: Facts) -> None:
    """Check that the number of negatives is at most the number of items. Raises PlannerError otherwise."""
    if cell.negatives > facts.items:
        raise PlannerError(
            f"K = {cell.negatives:,} extra negatives are more than the {facts.items:,} items of the catalogue: request "
            "fewer."
        )
