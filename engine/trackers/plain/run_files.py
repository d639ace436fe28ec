"""Assignment of the plain files in a folder to runs, and reading of these files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.folders import (
    first_folders,
    json_value,
    mark,
    natural,
    read_json,
    read_lines,
    read_text,
    read_yaml,
    run_id,
    walk,
    written,
)
from isoplan.engine.trackers.formats.nested import flat, number
from isoplan.engine.trackers.formats.objects import Described, describe
from isoplan.engine.trackers.formats.records import (
    CONFIGS,
    csv_records,
    histories,
    is_loss,
    is_metric,
    json_objects,
    merged,
    numbers,
    plain_step,
    step_name,
)
from isoplan.engine.trackers.run import History, Scalar, TrackedRun
from isoplan.engine.trackers.source import Source

LOGS = frozenset({".jsonl", ".ndjson", ".log"})
METRICS = LOGS | {".csv", ".json"}
"""Endings of files with metrics."""
MAX_JSON_BYTES = 64 * 1024**2
"""Largest size of a JSON file with metrics."""
MAX_TRIED, MAX_LINES = 50, 1000
"""Limits of the search for a loss: number of runs, and number of lines of a log."""
MAX_HEADS = 20
"""Largest number of objects that are read as settings before the first step of a log."""
_SETTINGS_ENDINGS = frozenset({".json", ".yaml", ".yml", ".txt"})
_SETTINGS = CONFIGS | {"training", "model"}
_GENERAL = CONFIGS | frozenset(
    {"metric", "metrics", "result", "results", "summary", "eval", "evals", "evaluation", "final", "stats", "scores"}
    | {"history", "log", "logs", "out", "output", "train", "training", "trainer", "val", "valid", "validation", "test"}
    | {"progress", "events", "loss", "losses", "run", "experiment"}
)
_LOG_FIELDS = frozenset({"time", "timestamp", "ts", "date", "asctime", "level", "levelname", "name", "logger"})
_LOG_FIELDS |= {"message", "msg", "event", "type"}
_SINGULAR = frozenset({"step", "global_step", "iteration", "iter", "update", "epoch"})
_OWN_SETTINGS = re.compile(rf"(.+)[._-](?:{'|'.join(sorted(CONFIGS))})", re.IGNORECASE)


@dataclass(frozen=True)
class RunFiles:
    """The files with metrics and the files with settings of the run ``name``."""

    name: str
    metrics: tuple[Path, ...]
    settings: tuple[Path, ...]


def file_source(name: str, title: str, endings: frozenset[str]) -> Source:
    """Return the source of runs whose metrics are in files with one of ``endings``.

    A place is recognised if a run contains a loss. The states of runs are unknown, because such files do not record
    them.
    """

    def marks(place: str) -> Mapping[str, str]:
        return {key: mark((*run.settings, *run.metrics)) for key, run in find_runs(place, endings).items()}

    def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
        runs = find_runs(place, endings)
        for key in ids:
            if (run := runs.get(key)) is None:
                continue
            found = read_run(run)
            if found.histories or found.summary:
                made = written(run.metrics[0])
                yield TrackedRun(key, run.name, "unknown", made, found.config, found.summary, histories=found.histories)

    return Source(name, title, lambda place: contains_losses(place, endings), marks, read)


def find_runs(place: str, endings: frozenset[str]) -> dict[str, RunFiles]:
    """Return the runs in ``place`` whose files with metrics have one of ``endings``, by run id.

    If all files with metrics in a folder have general names, such as ``metrics.jsonl`` and ``train_log.jsonl``, the
    folder is one run. Otherwise each file with metrics is a run. The settings of ``a.jsonl`` are in files such as
    ``a.json`` and ``a_config.yaml``. If ``a.jsonl`` is the only file with metrics, ``config.json`` also belongs to it.
    """
    return {key: run for path, files in walk(place) for key, run in _runs_in(place, path, files, endings)}


def contains_losses(place: str, endings: frozenset[str]) -> bool:
    """Return whether one of the first ``MAX_TRIED`` runs in ``place`` has a loss in a file with one of ``endings``."""
    runs = (run for path, files in first_folders(place) for _, run in _runs_in(place, path, files, endings))
    return any(_has_loss(file) for run, _ in zip(runs, range(MAX_TRIED), strict=False) for file in run.metrics)


def _runs_in(place: str, path: Path, files: frozenset[str], endings: frozenset[str]) -> Iterator[tuple[str, RunFiles]]:
    """Yield the runs in the folder ``path`` with their ids."""
    settings = sorted(name for name in files if is_settings(name))
    named = {name for name in files if _ending(name) in endings} - set(settings)
    own = _companions(named, files)
    metrics = sorted(named - {name for names in own.values() for name in names}, key=natural)
    if metrics and all(map(_is_general, metrics)):
        others = sorted(
            name for name in files if _ending(name) == ".json" and _is_general(name) and name not in settings
        )
        key = run_id(place, path)
        yield key, RunFiles(key, _in(path, dict.fromkeys((*metrics, *others))), _in(path, settings))
        return
    for name in metrics:
        key = run_id(place, path / name)
        used = [*(settings if len(metrics) == 1 else ()), *own.get(Path(name).stem, ())]
        yield key, RunFiles(key.removesuffix(Path(name).suffix), _in(path, [name]), _in(path, used))


def _has_loss(file: Path) -> bool:
    """Return whether a small JSON file or the first lines of a log contain a loss. A damaged file contains none."""
    try:
        if _ending(file.name) in LOGS:
            found = (numbers(one) for one in json_objects(islice(read_lines(file), MAX_LINES)))
            return any(step_name(tuple(one)) and any(map(is_loss, one)) for one in found)
        described = describe(read_json(file))
    except (PlannerError, RecursionError):
        return False
    losses = [value for name, value in described.summary.items() if is_loss(name)]
    return any(isinstance(value, float) for value in losses) or any(map(is_loss, described.histories))


def read_run(files: RunFiles) -> Described:
    """Return the settings, metrics and curves in all files of a run. Raises PlannerError if a file is damaged."""
    config: dict[str, Scalar] = {}
    summary: dict[str, Scalar] = {}
    for file in files.settings:
        described = _settings(file)
        config |= described.config
        summary |= described.summary
    curves: dict[str, Mapping[str, History]] = {}
    for file in files.metrics:
        described = read_metrics(file)
        config |= described.config
        summary |= described.summary
        curves[file.stem if file.stem not in curves else file.name] = described.histories
    return Described(config, summary, merged(curves))


def read_metrics(file: Path) -> Described:
    """Return the contents of a CSV file, a log or a JSON file. Raises PlannerError if a JSON file is damaged."""
    ending = _ending(file.name)
    if ending == ".csv":
        return Described(histories=histories(csv_records(file)))
    if ending in LOGS:
        return _read_log(file)
    found = json_value(file, MAX_JSON_BYTES)
    return describe(found if isinstance(found, dict) else {"history": found})


def _read_log(file: Path) -> Described:
    """Return the settings before the first step of a log, and its metrics.

    After the first step, the metrics of an object without a step belong to the previous step.
    """
    heads: list[Mapping[str, Any]] = []
    logged = histories(_records(json_objects(read_lines(file)), heads))
    config: dict[str, Scalar] = {}
    summary: dict[str, Scalar] = {}
    for head in heads:
        described = describe({name: value for name, value in head.items() if name.lower() not in _LOG_FIELDS})
        config |= described.config
        summary |= described.summary
    return Described(config, summary, logged)


def _records(objects: Iterable[Mapping[str, Any]], heads: list[Mapping[str, Any]]) -> Iterator[dict[str, float]]:
    """Yield the numbers of each object of a log. Objects before the first step are added to ``heads`` instead."""
    started = False
    for found in objects:
        values = numbers(found)
        started = started or _is_record(values)
        if started and step_name(tuple(values)):
            yield values
        elif started:
            yield {name: value for name, value in describe(found).summary.items() if isinstance(value, float)}
        elif len(heads) < MAX_HEADS:
            heads.append(found)


def _is_record(values: Mapping[str, float]) -> bool:
    """Return whether an object is a record of a step, not settings.

    Settings may also contain a total number of steps or tokens, so a name such as ``steps`` or ``tokens``
    is not sufficient without a metric.
    """
    step = step_name(tuple(values))
    return bool(step) and (any(map(is_metric, values)) or plain_step(step) in _SINGULAR)


def is_metrics_file(name: str) -> bool:
    """Return whether a file of a job may contain metrics: a CSV file, a ``.log`` file or a file with a general name."""
    words = {word for word in _words(name) if not word.isdigit()}
    return _ending(name) in {".csv", ".log"} or (_ending(name) in METRICS and words <= _GENERAL - CONFIGS)


def _settings(file: Path) -> Described:
    """Return the settings in a file. A JSON file without a name of settings can also contain metrics."""
    ending = _ending(file.name)
    if ending == ".txt":
        lines = (line.partition(":") for line in read_text(file).splitlines())
        return Described(
            {name.strip(): number(value.strip()) for name, colon, value in lines if colon and value.strip()}
        )
    found = read_json(file) if ending == ".json" else read_yaml(file)
    return describe(found) if ending == ".json" and not _words(file.name) & CONFIGS else Described(flat(found))


def is_settings(name: str) -> bool:
    """Return whether a file name denotes settings, such as ``config.json``, ``hparams.yaml`` or ``params.txt``."""
    return _ending(name) in _SETTINGS_ENDINGS and bool(_words(name) & CONFIGS) and _words(name) <= _SETTINGS


def _is_general(name: str) -> bool:
    return _words(name) <= _GENERAL or name.startswith("stats")


def _companions(named: Iterable[str], files: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of files with settings, by the stem of the file with metrics to which they belong.

    ``named`` contains the files with metrics. For example, ``a.json`` and ``a_config.yaml`` belong to ``a.jsonl``.
    """
    stems = {Path(name).stem for name in named}
    found: dict[str, list[str]] = {}
    for name in sorted(files):
        stem, ending = Path(name).stem, _ending(name)
        stated = _OWN_SETTINGS.fullmatch(stem)
        if ending in _SETTINGS_ENDINGS and stated and stated[1] in stems:
            found.setdefault(stated[1], []).append(name)
        elif ending in _SETTINGS_ENDINGS and stem in stems and name not in named:
            found.setdefault(stem, []).append(name)
    return found


def _words(name: str) -> frozenset[str]:
    """Return the words of a file name without its ending."""
    return frozenset(re.findall(r"[0-9a-z]+", Path(name).stem.lower()))


def _ending(name: str) -> str:
    return Path(name).suffix.lower()


def _in(path: Path, names: Iterable[str]) -> tuple[Path, ...]:
    return tuple(path / name for name in names)
