"""The source of runs of W&B: the folder ``wandb``, folders of downloaded files, or a project on a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isoplan.engine.trackers.formats.folders import contains, mark, run_id, walk
from isoplan.engine.trackers.run import TrackedRun
from isoplan.engine.trackers.source import Source
from isoplan.engine.trackers.wandb import downloads, runs, service


def recognises(place: str) -> bool:
    """Return whether ``place`` is a file of a run, contains a run, or is the address of a project."""
    return service.recognises(place) or (_is_log(place) and Path(place).is_file()) or contains(place, _holds)


def marks(place: str) -> Mapping[str, str]:
    """Return a mark for each run, by run id, sorted by time. Names of run folders contain the time."""
    if service.recognises(place):
        return service.marks(place)
    return {key: mark(files) for key, files in _files(place).items()}


def read(place: str, ids: Sequence[str]) -> Iterator[TrackedRun]:
    """Yield the runs whose ids are in ``ids``."""
    if service.recognises(place):
        yield from service.read(place, ids)
        return
    found = _files(place)
    for key in ids:
        if files := found.get(key):
            read_run = runs.read_run if _is_log(files[0].name) else downloads.read_run
            yield read_run(key, files)


def _is_log(name: str) -> bool:
    return name.endswith(runs.ENDING)


def _holds(names: frozenset[str]) -> bool:
    return any(map(_is_log, names)) or downloads.is_run(names)


def _files(place: str) -> dict[str, list[Path]]:
    """Return the files of each run by run id: files ``run-ID.wandb``, or downloaded files.

    A resumed run has several files ``run-ID.wandb``. Downloaded files next to such a file, or in the folder ``files``
    next to it, are left out, because they contain the same data.
    """
    root = Path(place)
    if root.is_file():
        return {runs.run_id(root): [root]}
    folders = list(walk(place))
    logs = [folder / name for folder, names in folders for name in names if _is_log(name)]
    found = dict[str, list[Path]]()
    for file in sorted(logs, key=_time):
        above = file.parent.parent.relative_to(root) if file.parent != root else Path()
        found.setdefault((above / runs.run_id(file)).as_posix(), []).append(file)
    downloaded = dict[Path, list[Path]]()
    for folder, names in folders:
        owner = folder.parent if folder.name == downloads.FILES and folder != root else folder
        downloaded.setdefault(owner, []).extend(folder / name for name in sorted(names) if downloads.is_part(name))
    logged = {file.parent for file in logs}
    for owner, files in downloaded.items():
        if owner not in logged and downloads.is_run(frozenset(file.name for file in files)):
            found.setdefault(run_id(place, owner), files)
    return found


def _time(file: Path) -> tuple[str, str]:
    """Return a key that sorts folders ``run-TIME-ID`` and ``offline-run-TIME-ID`` by time."""
    return file.parent.name.partition("run-")[2], file.name


SOURCE = Source("wandb", "W&B", recognises, marks, read)
"""The source of runs of W&B."""
