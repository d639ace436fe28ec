"""Jobs of Hydra.

The folder of a job contains ``.hydra/config.yaml`` and ``.hydra/overrides.yaml``. Its metrics are in other files.
References between settings, such as ``${model.width}``, are replaced by values. Resolvers, such as ``${oc.env:HOME}``,
are not executed and remain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isoplan.engine.trackers.formats.folders import (
    digest,
    first_folders,
    mark,
    read_yaml,
    run_id,
    walk,
    written,
    yaml_value,
)
from isoplan.engine.trackers.formats.nested import MAX_LENGTH, as_text, flat
from isoplan.engine.trackers.plain.run_files import RunFiles, is_metrics_file, is_settings, read_run
from isoplan.engine.trackers.run import Scalar, TrackedRun
from isoplan.engine.trackers.source import Source
from isoplan.engine.trackers.tensorboard import source as tensorboard
from isoplan.engine.trackers.wandb import source as wandb

CONFIG, OVERRIDES = "config.yaml", "overrides.yaml"
_FILES = frozenset({CONFIG, OVERRIDES, "hydra.yaml"})
MAX_REFERENCES = 10
"""Largest length of a chain of references. Longer chains are not replaced."""
MAX_NAME = 200
"""Largest length of the name of a run, in characters."""
_REFERENCE = re.compile(r"(?<!\\)\$\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)\}")


INNER = (tensorboard.SOURCE, wandb.SOURCE)
"""Other trackers that can contain the metrics of a job.

They are read if the job has no files of metrics and its folder contains exactly one run of the tracker.
"""


@dataclass(frozen=True)
class _Job:
    """A job: its folder ``.hydra``, and its files with metrics and other settings."""

    hydra: Path
    files: RunFiles

    @property
    def logged(self) -> dict[Source, Mapping[str, str]]:
        """Marks of the runs of other trackers in the job folder, by source. Empty if the job has files of metrics."""
        place = str(self.hydra.parent)
        found = [source for source in INNER if not self.files.metrics and source.recognises(place)]
        return {source: source.marks(place) for source in found}


def recognises(place: str) -> bool:
    """Return whether a folder in ``place`` contains the settings of a job."""
    return any(files >= _FILES and path != Path(place) for path, files in first_folders(place))


def marks(place: str) -> Mapping[str, str]:
    """Return the marks of the jobs in ``place``, by run id."""
    return {key: _mark(job) for key, job in _jobs(place).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the jobs with these ids. The name of a job consists of its overrides.

    The state of a job is unknown, because Hydra does not record it.
    """
    jobs = _jobs(place)
    for key in ids:
        if (job := jobs.get(key)) is None:
            continue
        overrides = yaml_value(job.hydra / OVERRIDES)
        words = (
            [re.sub(r"\\(.)", r"\1", str(one)).lstrip("+") for one in overrides] if isinstance(overrides, list) else []
        )
        config = {name: value for name, value in flat(read_yaml(job.hydra / CONFIG)).items() if value != "???"}
        found = _read_logged(job) or read_run(job.files)
        yield TrackedRun(
            key,
            ", ".join(words)[:MAX_NAME] or key,
            created=written(job.hydra / OVERRIDES),
            config={**found.config, **resolved(config)},
            summary=found.summary,
            histories=found.histories,
        )


def _mark(job: _Job) -> str:
    files = mark((job.hydra / CONFIG, job.hydra / OVERRIDES, *job.files.settings, *job.files.metrics))
    return digest([files, *map(sorted, (marks.items() for marks in job.logged.values()))])


def _read_logged(job: _Job) -> TrackedRun | None:
    """Return the run of the first tracker in ``INNER`` with exactly one run in the job folder, or None."""
    logged = {source: marks for source, marks in job.logged.items() if len(marks) == 1}
    return next((run for source, ids in logged.items() for run in source.read(str(job.hydra.parent), list(ids))), None)


def resolved(config: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return settings with references replaced by values. A reference to itself is not replaced.

    >>> resolved({"width": 8.0, "name": "w${width}", "inner": "${width}", "home": "${oc.env:HOME}", "loop": "${loop}"})
    {'width': 8.0, 'name': 'w8', 'inner': 8.0, 'home': '${oc.env:HOME}', 'loop': '${loop}'}
    """
    done = {name: value for name, value in config.items() if not _references(value, config)}
    for _ in range(MAX_REFERENCES):
        waiting = {name: value for name, value in config.items() if name not in done}
        ready = {name: value for name, value in waiting.items() if _references(value, config) <= done.keys()}
        if not ready:
            break
        done |= {name: _replaced(value, done) for name, value in ready.items()}
    return {name: done.get(name, value) for name, value in config.items()}


def _replaced(value: Scalar, config: Mapping[str, Scalar]) -> Scalar:
    """Return a value with references replaced.

    If the whole value is one reference, the result has the type of the value to which it refers. Otherwise it is text.
    """
    if not isinstance(value, str):
        return value
    if whole := _REFERENCE.fullmatch(value):
        return config.get(whole[1], value)
    return _REFERENCE.sub(lambda one: as_text(config.get(one[1], one[0])), value)[:MAX_LENGTH]


def _references(value: Scalar, config: Mapping[str, Scalar]) -> set[str]:
    """Return the names of the settings to which a value refers."""
    return set(_REFERENCE.findall(value)) & config.keys() if isinstance(value, str) else set()


def _jobs(place: str) -> dict[str, _Job]:
    """Return the jobs in ``place`` by run id. The files of a job can be in subfolders of its folder."""
    folders = list(walk(place))
    hydra = {path.parent: path for path, files in folders if files >= _FILES and path != Path(place)}
    metrics: dict[Path, list[Path]] = {path: [] for path in hydra}
    settings: dict[Path, list[Path]] = {path: [] for path in hydra}
    for path, files in folders:
        job = next((one for one in (path, *path.parents) if one in hydra), None)
        if job is not None and path != hydra[job]:
            settings[job] += [path / name for name in sorted(files) if is_settings(name)]
            metrics[job] += [path / name for name in sorted(files) if is_metrics_file(name)]
    ids = {path: run_id(place, path) for path in hydra}
    return {ids[path]: _Job(hydra[path], RunFiles(ids[path], (*metrics[path],), (*settings[path],))) for path in hydra}


SOURCE = Source("hydra", "Hydra", recognises, marks, read)
"""The source of runs of Hydra."""
