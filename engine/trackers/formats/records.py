"""Conversion of logged values to histories, from CSV files, JSON-lines logs and lists of JSON objects."""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from isoplan.engine.store.columns.names import LARGER, SMALLER, loss_words
from isoplan.engine.trackers.formats.folders import read_lines
from isoplan.engine.trackers.formats.nested import as_float, flat
from isoplan.engine.trackers.run import History, by_step

COUNTERS = ("step", "steps", "global_step", "iteration", "iterations", "iter", "iters", "update", "updates")
STEPS = (*COUNTERS, "tokens", "num_tokens", "tokens_seen", "samples_seen", "epoch", "epochs")
"""Names of the step of a record, in order of preference. Case and prefixes such as "_" or "train/" are ignored.

A step whose name is not in ``COUNTERS``, such as "tokens", is also a metric.
"""
MAX_METRICS = 500
"""Largest number of metrics of a run. Further metrics are left out."""
RESULTS = frozenset({"metrics", "results", "result", "summary", "scalars", "final"})
"""Names of objects that contain metrics. Stored names of metrics do not include the name of the object."""
CONFIGS = frozenset({"config", "configs", "configuration", "cfg", "args", "arguments", "hparams", "hyperparameters"})
CONFIGS |= {"hyperparams", "params", "parameters", "settings", "options", "flags"}
"""Names of objects that contain settings. Stored names of settings do not include the name of the object."""
_SPLITS = frozenset({"split", "phase", "mode", "stage", "subset"})
_SPLIT_NAMES = frozenset({"train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "dev"})
_SETTINGS = frozenset(
    {"weight", "weights", "coef", "coefficient", "coeff", "factor", "scale", "lambda", "target", "init"}
)
_NOT_A_LOSS = frozenset({"error", "excess", "entropy"})


@lru_cache(10_000)
def is_metric(name: str) -> bool:
    """Return whether a name denotes a metric, such as a loss or an accuracy.

    >>> is_metric("val/loss"), is_metric("acc"), is_metric("train_losses"), is_metric("z_loss_weight"), is_metric("lr")
    (True, True, True, False, False)
    """
    return bool(_metric_words(name) & (SMALLER | LARGER))


@lru_cache(10_000)
def is_loss(name: str) -> bool:
    """Return whether a name denotes a loss, or another metric of predictions whose smaller values are better."""
    return bool(_metric_words(name) & (SMALLER - _NOT_A_LOSS))


def histories(records: Iterable[Mapping[str, float]]) -> dict[str, History]:
    """Return the histories of the metrics in ``records``, which are in the order of logging.

    The steps are the values of the first name in ``STEPS`` that occurs in the records. A record without this name gets
    the step of the previous record. Values before the first step are left out.
    """
    at: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    values: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
    count = 0
    for row, record in enumerate(records):
        count = row + 1
        for name, value in record.items():
            if name in values or len(values) < MAX_METRICS:
                at[name].append(row)
                values[name].append(value)
    name = step_name(tuple(values))
    if not name:
        return {}
    steps = np.full(count, np.nan)
    steps[np.array(at[name])] = np.array(values[name])
    steps = steps[np.maximum.accumulate(np.where(np.isfinite(steps), np.arange(count), 0))]
    metrics = [metric for metric in values if metric != name or plain_step(name) not in COUNTERS]
    found = {metric: by_step(steps[np.array(at[metric])], np.array(values[metric])) for metric in metrics}
    return {metric: history for metric, history in found.items() if len(history.steps)}


@lru_cache(1000)
def step_name(names: tuple[str, ...]) -> str:
    """Return the name in ``names`` that denotes the step, or an empty text if there is none."""
    plain = {plain_step(name): name for name in reversed(names)}
    return next((plain[step] for step in STEPS if step in plain), "")


def plain_step(name: str) -> str:
    """Return a name in lower case and without a prefix, for comparison with ``STEPS``."""
    return re.split(r"[/.]", name)[-1].lower().lstrip("_")


def numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a record by name.

    Settings inside the record are left out. If the record names a data split, as in ``{"split": "val"}``, the name of
    the split becomes a prefix of the names of metrics, as in ``val_loss``.
    """
    nested = any(isinstance(value, dict) for value in record.values())
    values = flat(record) if nested else record
    found = {
        name: as_float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if nested:
        found = {_without_container(name): value for name, value in found.items() if not _is_setting(name)}
    if _SPLITS.isdisjoint(record):
        return found
    texts = (record[key] for key in sorted(_SPLITS & record.keys()) if isinstance(record[key], str))
    part = next((text for text in texts if text.lower() in _SPLIT_NAMES), "")
    return {f"{part}_{name}" if is_metric(name) else name: value for name, value in found.items()} if part else found


def merged(files: Mapping[str, Mapping[str, History]]) -> dict[str, History]:
    """Return the histories in several files of one run, by metric. The keys of ``files`` are the names of the files.

    If several files contain the same metric, the name of the file becomes a prefix of the name of the metric.
    """
    often = Counter(name for histories in files.values() for name in histories)
    return {
        name if often[name] == 1 else f"{file}_{name}": history
        for file, histories in files.items()
        for name, history in histories.items()
    }


def csv_records(file: Path) -> Iterator[dict[str, float]]:
    """Yield the numbers in each row of a CSV file, by column. An empty cell means that nothing was logged.

    If the first row does not contain the name of a step, the file has no records. A row is left out if it has more or
    fewer cells than the header. The last row is left out if it has no line end, because it is still being written. A
    row without numbers that contains the name of a step is a new header: a resumed run may write the header again.
    """
    header: list[str] = []
    for line in read_lines(file):
        if not line.endswith("\n") or "\0" in line:
            continue
        cells = _cells(line)
        if not header and not step_name(tuple(cells)):
            return
        found = {name: value for name, cell in zip(header, cells, strict=False) if (value := _number(cell)) is not None}
        if not found and step_name(tuple(cells)):
            header = cells
        elif len(cells) == len(header):
            yield found


def _cells(line: str) -> list[str]:
    """Return the cells of one line. If a quotation mark is not closed, only this line is affected."""
    try:
        return next(csv.reader([line]), []) if '"' in line else line.rstrip("\r\n").split(",")
    except csv.Error:
        return []


def json_objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON object at the end of each line. Text before the object, and lines without one, are left out."""
    for line in lines:
        text = line.strip()
        if not text.endswith("}"):
            continue
        start = text.find("{")
        starts = (start,) if text.startswith('{"', start) else (start, text.find('{"'))
        found = next((one for at in starts if (one := _parsed(text[at:])) is not None), None)
        if found is not None:
            yield found


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _metric_words(name: str) -> frozenset[str]:
    """Return the words of a name in the singular, or no words if the name is a setting such as ``loss_weight``."""
    own = loss_words(name.rsplit(".", 1)[-1])
    own |= {word.removesuffix("es") for word in own if word == "losses"} | {
        "acc" for word in own if word == "accuracies"
    }
    return frozenset() if own & _SETTINGS else own


def _without_container(name: str) -> str:
    """Return a name without its first part if that part is in ``RESULTS``: ``metrics.loss`` becomes ``loss``."""
    first, _, rest = name.partition(".")
    return rest if rest and first.lower() in RESULTS else name


def _is_setting(name: str) -> bool:
    first, _, rest = name.partition(".")
    return bool(rest) and first.lower() in CONFIGS


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
