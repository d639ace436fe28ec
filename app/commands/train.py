"""`isoplan train`: train the cells of a grid on this machine or on a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.autopilot.typed import read_share
from isoplan.app.commands.shared.following import outcome, run_sweep
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.app.commands.shared.target import read_question
from isoplan.app.sweep_costs import read_cap
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import duration, si
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.cluster.settings import Local, at_address, read_settings
from isoplan.trainers.backend.estimate.forecast import Estimate, estimate
from isoplan.trainers.backend.queue.sweep import Cap, Sweep, launch
from isoplan.trainers.backend.runner.runner_process import need_cluster
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import Grid, cells, open_grid, rename, with_typed, with_value

ELSEWHERE = "The cells run on other machines, so their time can differ from this estimate."


def train(
    grid: Annotated[
        Path,
        typer.Argument(
            metavar="GRID.toml",
            help="Grid file with a family and the values or ranges of its fields; - for standard input; or the name of "
            "a preset, such as behavior/share-sweep.",
        ),
    ],
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the sweep, instead of the name in the file.")] = "",
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUES", help="Values of a field, instead of the values in the grid: width=8,16."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of every cell, instead of the seeds in the file.")
    ] = None,
    cap: Annotated[
        str,
        typer.Option(help="Maximum cost or device time, such as 50 EUR or 20 h; the cells wait when it is reached."),
    ] = "",
    hour_price: Annotated[str, typer.Option(help="Price of one device hour (a GPU or one core).")] = "",
    scheduler: Annotated[
        str,
        typer.Option(
            help="Where cells run: local, or a Dask scheduler such as tls://host:8786; by default the setting in "
            "cluster.toml."
        ),
    ] = "",
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow a scheduler on another machine without TLS.")
    ] = False,
    stop_early: Annotated[
        str,
        typer.Option(
            help="Stop cells that would move the answer by less than this share of its interval, such as 5 %. Requires "
            "--budget or --target-loss."
        ),
    ] = "",
    budget: Annotated[str, typer.Option(help="For --stop-early: the answer is the loss at this budget.")] = "",
    target_loss: Annotated[
        str, typer.Option(help="For --stop-early: the answer is the compute for this target loss.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate time and cost of the grid.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Queue the cells without confirmation.")] = False,
    wait: Annotated[bool, typer.Option(help="Show progress until the cells have ended.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train the cells of a grid."""
    from isoplan.engine.store.folders import default_folder

    need_cluster()
    root = workspace or default_folder()
    asked = open_grid(grid, root)
    root.mkdir(parents=True, exist_ok=True)
    family, spend = find_family(asked.family, root), read_cap(cap, hour_price)
    for text in given or ():
        asked = with_typed(asked, family, text)
    asked = rename(asked, name) if name else asked
    asked = asked if seed is None else with_value(asked, "seed", seed)
    watch = _watch(root, asked, family, stop_early, budget, target_loss, wait)
    found = _estimated(root, family, cells(asked, family), scheduler, insecure)
    if not as_json:
        say(as_text(found, spend))
    if dry_run:
        if as_json:
            say_json({"schema": 1, "family": family.name, "estimate": as_object(found, spend)})
        return
    if not (yes or as_json) and sys.stdin.isatty() and not typer.confirm("Train them?", default=True):
        note(["Nothing was queued."])
        return
    with writing(root):
        sweep = launch(root, asked, family, cap=spend if cap or hour_price else None)
    note([_queued(sweep, root)])
    run_sweep(root, sweep, scheduler, insecure, wait, watch)
    ended = outcome(root, sweep)
    if as_json:
        say_json({"schema": 1, **ended.document, "estimate": as_object(found, spend)})
    elif wait:
        say(ended.text)
    if wait and not ended.all_done:
        raise typer.Exit(1)


def _watch(
    root: Path, grid: Grid, family: Family[Any], share: str, budget: str, target_loss: str, wait: bool
) -> Callable[[], list[str]]:
    """Return the function that stops cells early. If ``share`` is empty, the function stops no cell.

    Raises PlannerError if options are incompatible, or if the cells of ``grid`` cannot answer the question.
    """
    if not share:
        if budget or target_loss:
            raise PlannerError(
                "`--budget` and `--target-loss` require `--stop-early`. Add it, for example `--stop-early 5%`."
            )
        return list
    if not wait:
        raise PlannerError("`--stop-early` works only while the command waits. Leave out `--no-wait`.")
    from isoplan.app.autopilot.specification import Specification, Task, check_task, read_grid_cells
    from isoplan.app.early_stop import stop_early

    most = read_share(share, "Option --stop-early")
    asked_budget, asked_target = read_question(budget, target_loss)
    made, _ = read_grid_cells(grid, family)
    spec = Specification(family=family.name, cells=made.names, budget=asked_budget, target_loss=asked_target)
    task = Task(spec, made)
    check_task(task)
    return stop_early(root, task, family, most)


def _estimated(root: Path, family: Family[Any], made: Sequence[Cell], scheduler: str, insecure: bool) -> Estimate:
    """Return the estimated time, compute and disk space of the cells.

    Training times are measured on this machine. If the cells run on a cluster, the estimate states this. Raises
    PlannerError if the scheduler is invalid.
    """
    from isoplan.app.sweep_costs import bundled_cells

    known = read_settings(root)
    where = Local() if scheduler == "local" else at_address(scheduler, insecure, known) if scheduler else known
    earlier = bundled_cells(family.name)
    if isinstance(where, Local):
        return estimate(root, family, made, this_machine(where.cores), earlier=earlier)
    found = estimate(root, family, made, earlier=earlier)
    return replace(found, basis=f"{found.basis} {ELSEWHERE}")


def as_text(found: Estimate, spend: Cap) -> str:
    """Return the estimated resources of a grid as text."""
    done = f", {found.done:,} of them done" if found.done else ""
    parts = [f"{found.cells:,} cell{'s' * (found.cells != 1)}{done}"]
    if found.flops is not None:
        parts.append(f"{si(found.flops)}FLOPs")
    if found.seconds is not None and found.hours is not None:
        parts += [f"about {duration(found.seconds)} on this machine", f"{duration(3600 * found.hours)} of device time"]
    if (money := found.money(spend.price)) is not None:
        parts.append(f"{money:.3g} {spend.currency}")
    if found.disk:
        parts.append(f"{si(found.disk, 2)}B of disk")
    limit = f" The cells may use at most {spend.text}." if spend.text else ""
    return f"{', '.join(parts)}.\n{found.basis}{limit}"


def as_object(found: Estimate, spend: Cap) -> dict[str, Any]:
    """Return the estimated resources of a grid for JSON: times in seconds and device hours, disk space in bytes."""
    return {**asdict(found), "money": found.money(spend.price), "currency": spend.currency or None}


def _queued(sweep: Sweep, root: Path) -> str:
    called = f" {sweep.name}" if sweep.name else ""
    return f"Sweep {sweep.key[:8]}{called}: {len(sweep.cells):,} cells in {root}."
