"""`isoplan autopilot`: train cells of a grid in rounds until an answer is known well enough."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoplan.app.commands.shared.following import outcome, run_sweep
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.app.sweep_costs import read_cap
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import cut, parse_flops, parse_number, parse_share
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.runner.runner_process import need_cluster
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Family
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import open_grid, rename

if TYPE_CHECKING:
    from isoplan.app.autopilot.decisions import Decision
    from isoplan.app.autopilot.specification import GridCells, Specification
    from isoplan.app.candidate_cells import FamilyCells


def autopilot(
    grid: Annotated[
        Path,
        typer.Argument(
            metavar="GRID.toml",
            help="Grid of the cells to choose from, as for `isoplan train`; or the name of a preset.",
        ),
    ],
    budget: Annotated[str, typer.Option(help="Budget, such as 1e20 or 3 ZFLOP. The loss at it is narrowed.")] = "",
    target_loss: Annotated[
        str, typer.Option(help="Target loss, instead of a budget. The compute for this loss is narrowed.")
    ] = "",
    until: Annotated[
        str, typer.Option(help="Half width of the 68 % interval of the answer that is small enough.")
    ] = "5 %",
    cap: Annotated[str, typer.Option(help="Maximum cost or device time of all its cells, 50 EUR or 20 h.")] = "",
    hour_price: Annotated[str, typer.Option(help="Price of one device hour (a GPU or one core).")] = "",
    law: Annotated[str, typer.Option(help="Law over N and D.")] = "chinchilla",
    max_cells: Annotated[int, typer.Option(min=1, help="Maximum number of cells per round.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fits.")] = 0,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the decisions so far and train nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Train without confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train cells of a grid until an answer is known well enough."""
    from isoplan.app.autopilot import decisions as texts
    from isoplan.app.autopilot.queue_cells import look_at_cells
    from isoplan.app.autopilot.rounds import run_rounds
    from isoplan.app.autopilot.specification import Specification, Task, check_task, read_grid_cells
    from isoplan.app.autopilot.stored_decisions import keep_decisions, only_here, read_decisions
    from isoplan.app.workspace import default_folder

    limit = read_cap(cap, hour_price)
    root = workspace or default_folder()
    asked = open_grid(grid, root)
    family = find_family(asked.family, root)
    found, of_family = read_grid_cells(asked, family)
    asked_budget, asked_target = _read_question(budget, target_loss)
    spec = Specification(
        family=family.name, cells=found.names, law=law, budget=asked_budget, target_loss=asked_target,
        until=_read_until(until), seed=seed,
    )  # fmt: skip
    task = Task(spec, found, max_cells, limit.hours)
    check_task(task)
    made = read_decisions(root, spec)
    if show:
        say_json(texts.to_json(spec, made)) if as_json else say(texts.as_text(spec, made))
        return
    need_cluster()
    note([_about(found, made, limit, spec)])
    if not (yes or as_json) and sys.stdin.isatty() and not typer.confirm("Train cells?", default=True):
        note(["Nothing was queued."])
        return
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)

    def keep(decisions: tuple[Decision, ...]) -> None:
        with writing(root):
            keep_decisions(root, spec, decisions)
        note([f"{decisions[-1].number}. {decisions[-1].sentence}"])

    def train(decision: Decision) -> None:
        _train(root, family, of_family, found, decision, limit)

    with only_here(root, spec):
        made = read_decisions(root, spec)
        done = run_rounds(task, made, lambda: look_at_cells(root, found.names), train, keep)
    say_json(texts.to_json(spec, done)) if as_json else say(texts.as_text(spec, done))
    if done[-1].reason != "known":
        raise typer.Exit(1)


def _read_question(budget: str, target_loss: str) -> tuple[float | None, float | None]:
    """Return the budget in FLOPs and the target loss; one of them is None."""
    if bool(budget) == bool(target_loss):
        raise PlannerError("Ask for one loss: give either --budget or --target-loss.")
    if budget:
        reading = parse_flops(budget, "option --budget")
        note(reading.notes(budget))
        return _positive(reading.value, "--budget"), None
    return None, _positive(parse_number(target_loss, "option --target-loss"), "--target-loss")


def _positive(value: float, option: str) -> float:
    if value <= 0:
        raise PlannerError(f"Option {option}: {value:g} is not positive. Give a positive number.")
    return value


def _read_until(text: str) -> float:
    until = parse_share(text, "option --until")
    if not 0 < until < 1:
        raise PlannerError(f"Option --until: {cut(text)!r} is not between 0 and 100 %. Give a share such as 5 %.")
    return until


def _about(found: GridCells, made: tuple[Decision, ...], limit: Cap, spec: Specification) -> str:
    count = len(found.names)
    text = f"Autopilot {spec.key[:8]}: {spec.quantity} until ± {100 * spec.until:g} %, from {count:,} cells"
    text += f", at most {limit.text}." if limit.text else ", without a cap."
    return f"{text} It continues after {len(made)} decision{'s' * (len(made) > 1)}." if made else text


def _train(
    root: Path, family: Family[Any], of_family: FamilyCells, found: GridCells, decision: Decision, limit: Cap
) -> None:
    """Train the cells of ``decision`` as a sweep with the rest of the cap, and wait until they have ended.

    A pause by the cap is a normal return. The command ends if a user has paused, cancelled or deleted cells.
    """
    grid = rename(of_family.chosen(found.rows(decision.cells)), f"Autopilot, round {decision.number}")
    rest = None if limit.hours is None else limit.hours - decision.hours
    with writing(root):
        sweep = launch(root, grid, family, cap=replace(limit, hours=rest))
    run_sweep(root, sweep)
    ended = outcome(root, sweep)
    states = ended.document["progress"]["states"]
    if not ended.document["why"] and states.get("done", 0) + states.get("failed", 0) < len(decision.cells):
        note([ended.text, "Start the same command again to continue the autopilot."])
        raise typer.Exit(1)
