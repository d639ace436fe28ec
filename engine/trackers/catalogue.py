"""The list of all sources of runs, and the choice of the source that reads a place."""

from __future__ import annotations

import re
from pathlib import Path

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.mlflow import source as mlflow
from isoplan.engine.trackers.optuna import source as optuna
from isoplan.engine.trackers.plain import huggingface, hydra, json_lines, json_results, lightning
from isoplan.engine.trackers.source import Source, is_address
from isoplan.engine.trackers.tensorboard import source as tensorboard
from isoplan.engine.trackers.wandb import source as wandb

SOURCES: tuple[Source, ...] = (
    wandb.SOURCE,
    mlflow.SOURCE,
    optuna.SOURCE,
    huggingface.SOURCE,
    hydra.SOURCE,
    lightning.SOURCE,
    tensorboard.SOURCE,
    json_lines.SOURCE,
    json_results.SOURCE,
)
"""All sources, in the order in which they are tried. The first source that recognises a place reads it.

Sources of files that only one tool writes come first. Sources of files that many tools write come last.
"""

TABLES = (".csv", ".tsv", ".xlsx", ".parquet", ".pq", ".json", ".jsonl", ".ndjson")
"""File endings that Isoplan reads as run tables. Users can export such files from the web pages of trackers."""


def find_source(place: str, name: str = "") -> Source:
    """Return the source called ``name``, or the source that recognises ``place`` if ``name`` is empty.

    Raises PlannerError if there is no such source, or if the place does not exist.
    """
    if name:
        found = next((source for source in SOURCES if source.name == name), None)
        if found is None:
            raise PlannerError(f"--as {name}: there is no such source. Use one of {_listed(SOURCES)}.")
    if not is_address(place) and not Path(place).exists():
        raise PlannerError(f"There is no file or folder {place}: check the path.")
    found = found if name else next((source for source in SOURCES if source.recognises(place)), None)
    if found is None and place.lower().endswith(TABLES):
        raise PlannerError(
            f"{place} is a table, not the store of a tracker: fit it with isoplan fit, or upload it on the Data page."
        )
    if found is None:
        raise PlannerError(
            f"{place} contains no runs of a known tracker: name the folder or file in which the tracker stores its "
            f"runs, or name the tracker with --as ({_listed(SOURCES)})."
        )
    return found


def as_path(place: str) -> str:
    """Return the path in the storage address of a file, such as ``sqlite:///runs.db``. Return a path unchanged.

    Raises PlannerError for the address of a database server. The error message does not contain the address, because
    the address can contain a password.
    """
    path = re.sub(r"^(sqlite(\+\w+)?:///|file://(?=/))", "", place)
    if "://" in path:
        raise PlannerError(
            f"{path.partition('://')[0]}://: Isoplan does not read database servers. Name a file or a folder. For "
            "MLflow, name the http address of the server. For Optuna, copy the studies with optuna.copy_study."
        )
    return path


def _listed(sources: tuple[Source, ...]) -> str:
    return ", ".join(dict.fromkeys(source.name for source in sources))
