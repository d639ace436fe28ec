"""The event files of each run in a folder of TensorBoard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from isoplan.engine.trackers.formats.folders import natural, run_id, walk
from isoplan.engine.trackers.tensorboard.events import events
from isoplan.engine.trackers.tensorboard.hparams import Session, session

SETTINGS = "hparams.yaml"
"""Name of the file with settings that Lightning writes next to event files."""
PARTS = frozenset({"train", "validation", "val", "eval", "test"})
"""Names of folders that contain only a part of the metrics of a run. Keras, for example, makes such folders."""
HEAD = 8
"""Number of events at the beginning of a file that may contain settings."""


@dataclass(frozen=True)
class RunFiles:
    """The files of a run: its ``own`` event files, and the event files of its ``parts`` by the name of the part.

    ``sessions`` are event files with settings and final metrics. torch's ``add_hparams`` writes them to subfolders of
    the run folder. ``settings`` are YAML files.
    """

    own: tuple[Path, ...] = ()
    parts: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    sessions: tuple[Path, ...] = ()
    settings: tuple[Path, ...] = ()

    def files(self) -> tuple[Path, ...]:
        """Return all files."""
        return (*self.own, *(file for files in self.parts.values() for file in files), *self.sessions, *self.settings)


def is_event_file(name: str) -> bool:
    """Return whether a file with this name is an event file."""
    return name.startswith("events.out.tfevents.")


def run_files(place: str) -> dict[str, RunFiles]:
    """Return the files of each run, by run id. A run is a folder with event files, or the event file ``place``.

    A folder belongs to the run in its parent folder if its name is in ``PARTS``, or if ``add_hparams`` made it. If
    ``add_hparams`` made several folders with different settings in a folder, each of them is a run.
    """
    root = Path(place)
    if root.is_file():
        return {root.resolve().parent.name: RunFiles((root,))}
    folders, settings = dict[Path, tuple[Path, ...]](), dict[Path, tuple[Path, ...]]()
    for path, names in walk(place):
        if files := list(filter(is_event_file, names)):
            folders[path] = tuple(path / name for name in (sorted(files, key=natural) if files[1:] else files))
            settings[path] = (path / SETTINGS,) if SETTINGS in names else ()
    parts = {path for path in folders if path != root and path.name in PARTS}
    sessions, empty = _sessions({path: files for path, files in folders.items() if path not in parts})
    parts_of, sessions_of = _by_parent(sorted(parts)), _by_parent(sessions)
    inside = {*parts, *sessions}
    runs = dict.fromkeys(path.parent if path in inside else path for path in folders if path not in empty)
    return {
        run_id(place, run): RunFiles(
            folders.get(run, ()),
            {path.name: folders[path] for path in parts_of.get(run, ())},
            tuple(file for path in sessions_of.get(run, ()) for file in folders[path]),
            settings.get(run, ()),
        )
        for run in runs
    }


def _by_parent(folders: Iterable[Path]) -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for path in folders:
        found.setdefault(path.parent, []).append(path)
    return found


def _sessions(folders: Mapping[Path, tuple[Path, ...]]) -> tuple[list[Path], set[Path]]:
    """Return the folders that ``add_hparams`` made for the run in their parent folder, and the folders to leave out.

    A folder is left out if it contains folders of several runs, and its own event files contain no scalars.
    """
    sessions, empty = list[Path](), set[Path]()
    for run, children in _by_parent(path for path in folders if path.parent in folders).items():
        configs = {path: config for path in children if (config := _head(folders[path][0]).config)}
        first = next(iter(configs.values()), {})
        if all(config == first for config in configs.values()):
            sessions += configs
        elif not any(event.values for file in folders[run] for event in events(file)):
            empty.add(run)
    return sessions, empty


def _head(file: Path) -> Session:
    """Return the settings in the first ``HEAD`` events of a file."""
    return session(value for event, _ in zip(events(file), range(HEAD), strict=False) for value in event.values)
