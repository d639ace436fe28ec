"""`isoplan autopilot`: train cells of a grid in rounds until an answer is known well enough."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isoplan.app.autopilot.typed import LAW, UNTIL, read_share
from isoplan.app.commands.shared.following import run_sweep
from isoplan.app.commands.shared.output import note, say, say_json
from isoplan.app.commands.shared.target import read_question
from isoplan.app.sweep_costs import read_cap
from isoplan.engine.errors import PlannerError
from isoplan.trainers.backend.queue.sweep import Cap
from isoplan.trainers.backend.runner.runner_process import need_cluster
from isoplan.trainers.families import find_family
from isoplan.trainers.grid import open_grid

if TYPE_CHECKING:
    from isoplan.app.autopilot.decisions import Decision
    from isoplan.app.autopilot.orders import Orders
    from isoplan.app.autopilot.work import Work


def autopilot(
    grid: Annotated[
        Path,
        typer.Argument(
            metavar="GRID.toml",
            help="Grid of the cells to choose from, as for `isoplan train`; the name of a preset; or the key of an "
            "autopilot of the workspace.",
        ),
    ],
    budget: Annotated[
        str,
        typer.Option(help="Budget, such as 1e20 or 3 ZFLOP. The cells narrow the interval of the loss at this budget."),
    ] = "",
    target_loss: Annotated[
        str,
        typer.Option(
            help="Target loss, instead of a budget. The cells narrow the interval of the compute for this loss."
        ),
    ] = "",
    until: Annotated[
        str,
        typer.Option(
            help="Train until the half width of the 68 % interval of the answer is at most this; by default 5 %."
        ),
    ] = "",
    cap: Annotated[
        str, typer.Option(help="Maximum cost or device time of all cells together, such as 50 EUR or 20 h.")
    ] = "",
    hour_price: Annotated[str, typer.Option(help="Price of one device hour (a GPU or one core).")] = "",
    law: Annotated[str, typer.Option(help="Law over N and D; by default chinchilla.")] = "",
    max_cells: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of cells per round; 4 for a new autopilot.")
    ] = None,
    stop_early: Annotated[
        str,
        typer.Option(
            help="Stop a running cell if it would move the answer by less than this share of its interval, such as "
            "5 %. By default, no cell is stopped; `no` restores this default."
        ),
    ] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the fits; by default 0.")] = None,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the decisions so far and train nothing.")] = False,
    pause: Annotated[
        bool, typer.Option("--pause", help="Finish the cells of this round, but start no new round.")
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="Cancel the unfinished cells of the autopilot and stop it.")
    ] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Allow the larger cells that the autopilot has asked for, and continue.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Train without confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train cells of a grid until an answer is known well enough."""
    from isoplan.app.autopilot import decisions as texts
    from isoplan.app.autopilot import work as works
    from isoplan.app.autopilot.stored_decisions import is_working, read_decisions, read_orders
    from isoplan.engine.store.folders import default_folder

    limit = read_cap(cap, hour_price) if cap or hour_price else None
    early = None if not stop_early else 0.0 if stop_early == "no" else read_share(stop_early, "Option --stop-early")
    root = workspace or default_folder()
    work = _open(root, grid, (budget, target_loss, until), law, seed)
    made = read_decisions(root, work.key)
    if show:
        say_json(texts.to_json(work.spec, made)) if as_json else say(texts.as_text(work.spec, made))
        return
    if pause or stop:
        works.order(work, "stop" if stop else "pause", limit, max_cells, early)
        note([f"Autopilot {work.key[:8]}: it {'stops' if stop else 'pauses after the cells of this round'}."])
        return
    need_cluster()
    if extend:
        work = works.extend(work)
    if is_working(root, work.key):
        works.order(work, "run", limit, max_cells, early)
        raise PlannerError(
            f"Autopilot {work.key[:8]} runs in another process, which uses these limits from its next round. Use "
            "--show, --pause or --stop."
        )
    note([_about(work, made, limit or read_orders(root, work.key).cap)])
    if not (yes or as_json) and sys.stdin.isatty() and not typer.confirm("Train cells?", default=True):
        note(["Nothing was queued."])
        return
    works.order(work, "run", limit, max_cells, early)
    done = works.run(
        work,
        lambda sweep, watch: run_sweep(root, sweep, watch=watch),
        lambda one: note([f"{one.number}. {one.sentence}"]),
    )
    say_json(texts.to_json(work.spec, done)) if as_json else say(texts.as_text(work.spec, done))
    if done and done[-1].ranges:
        note([f"Allow these cells: isoplan autopilot {work.key[:8]} --extend"])
    elif done and done[-1].kind != "stop":
        note([_pause_text(work, read_orders(root, work.key))])
    if not done or done[-1].reason != "known":
        raise typer.Exit(1)


def _open(root: Path, grid: Path, question: tuple[str, str, str], law: str, seed: int | None) -> Work:
    """Return the autopilot with the key ``grid``, or the autopilot for the grid file ``grid`` and the ``question``.

    ``question`` contains the texts of --budget, --target-loss and --until.
    """
    from isoplan.app.autopilot.work import find_key, new_work, open_work

    if not grid.exists() and (key := find_key(root, str(grid))):
        if any(question) or law or seed is not None:
            raise PlannerError(
                f"Autopilot {key[:8]} already has a question, a law and a seed: leave out these options."
            )
        return open_work(root, key)
    asked = open_grid(grid, root)
    budget, target = read_question(*question[:2])
    work = new_work(
        root, asked, find_family(asked.family, root), law=law or LAW, budget=budget, target_loss=target,
        until=read_share(question[2], "Option --until") if question[2] else UNTIL, seed=seed or 0,
    )  # fmt: skip
    return open_work(root, work.key) if find_key(root, work.key) else work


def _about(work: Work, made: tuple[Decision, ...], cap: Cap) -> str:
    spec, cells = work.spec, len(work.cells.names)
    text = (
        f"Autopilot {spec.key[:8]} trains cells until {spec.quantity} is known to ± {100 * spec.until:g} %. It chooses "
        f"from {cells:,} cells"
    )
    text += f" and uses at most {cap.text}." if cap.text else " and has no cap."
    return f"{text} It has made {len(made)} decision{'s' * (len(made) > 1)} and continues." if made else text


def _pause_text(work: Work, orders: Orders) -> str:
    why = f" {orders.why}" if orders.why else ""
    return f"Autopilot {work.key[:8]} is paused.{why} Start the same command again to continue the autopilot."
