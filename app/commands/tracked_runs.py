"""`isoplan import`: read the runs of an experiment tracker into a table of runs and a table of training curves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from isoplan.app.commands.shared.output import note, progress, say, say_json
from isoplan.engine.errors import PlannerError

SHOWN = 40
"""Largest number of columns that the command prints."""


def import_(
    place: Annotated[str, typer.Argument(help="Folder, file, archive (zip or tar) or address of a tracker.")],
    source: Annotated[
        str, typer.Option("--as", help="Tracker, such as mlflow; by default recognised from the files.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File for the runs: .parquet or .csv.", dir_okay=False)
    ] = None,
    curves: Annotated[
        Path | None, typer.Option("--curves", help="File for the training curves: .parquet or .csv.", dir_okay=False)
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Add new and changed runs to a table of this workspace.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read the runs of an experiment tracker into a table.

    Without -o or --workspace, the command shows the runs and writes nothing.
    """
    from isoplan.engine.trackers.export import check_target, write_table
    from isoplan.engine.trackers.reading import import_runs
    from isoplan.engine.trackers.tables import count_states

    for option, file in (("-o", output), ("--curves", curves)):
        if file is not None:
            check_target(file, option)
    if workspace is not None:
        if output is not None or curves is not None:
            raise PlannerError("--workspace: the runs and curves are stored there. Leave out -o and --curves.")
        _renew(workspace, place, source)
        return
    with progress(f"Reading {place}", 1) as tell:
        found = import_runs(place, source, follow=lambda done, whole: tell(done / max(whole, 1)))
    rows, points = found.tables.rows, found.tables.points
    if curves is not None and not len(points):
        raise PlannerError(f"--curves: {place} contains no training curves. Leave out --curves.")
    if output is not None:
        write_table(rows, output)
    if curves is not None:
        write_table(points, curves)
    if as_json:
        say_json(_json(place, found.title, rows, points))
        return
    many = f"{len(rows):,} run{'s' * (len(rows) != 1)}"
    lines = [f"{found.title}: {many} ({count_states(rows)})." if len(rows) else f"{found.title}: no runs."]
    lines.append(f"Columns: {_listed(rows.column_names)}.")
    if len(points):
        lines.append(f"Training curves: {len(points):,} points of {_listed(points.column_names[2:])}.")
    say("\n".join(lines))
    written = [f"{what} in {file}" for what, file in (("Runs", output), ("Curves", curves)) if file is not None]
    if written:
        note([f"{' and '.join(written).replace(' and Curves', ' and curves')}."])
    elif len(rows):
        note(["Nothing is written. Write the runs with -o runs.parquet, and the curves with --curves curves.parquet."])


def _renew(root: Path, place: str, source: str) -> None:
    """Add the new and changed runs at ``place`` to their table in the workspace ``root``."""
    from isoplan.engine.store.database.database import open_workspace
    from isoplan.engine.store.tables.imported_tables import renew

    with open_workspace(root) as db, progress(f"Reading {place}", 1) as tell:
        table, many = renew(db, place, source, lambda done, whole: tell(done / max(whole, 1)))
    changed = f"{many:,} new or changed run{'s' * (many != 1)}" if many else "no new or changed run"
    say(f"Table {table.name} in {root}: {changed}.")


def _listed(names: list[str]) -> str:
    """Return the first names on one line, without control characters, which the store can contain."""
    more = len(names) - SHOWN
    text = ", ".join(names[:SHOWN])
    return "".join(c if c.isprintable() else " " for c in text) + (f" and {more} more" if more > 0 else "")


def _json(place: str, title: str, rows: Any, points: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "place": place,
        "source": title,
        "runs": len(rows),
        "states": dict(Counter(rows["status"].to_pylist())),
        "columns": rows.column_names,
        "points": len(points),
        "metrics": points.column_names[2:],
    }
