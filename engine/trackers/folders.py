"""Search of folders for the files of runs, and reading of small text files in them, within limits."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.source import MAX_DEPTH, MAX_FILES

MAX_SETTINGS_BYTES = 4 * 1024**2
"""Largest size of a file with settings."""
MAX_ALIASES = 20
"""Largest number of aliases in a YAML file."""


def walk(place: str) -> Iterator[tuple[Path, frozenset[str]]]:
    """Yield each folder in ``place``, itself included, with the names of its files. Symbolic links are not followed.

    Folders are sorted by name, and numbers in names by value. Raises PlannerError if there are more than ``MAX_FILES``
    files, or more than ``MAX_DEPTH`` folders inside one another.
    """
    root, count = Path(place), 0
    for folder, inner, files in os.walk(root, followlinks=False):
        path = Path(folder)
        if len(path.relative_to(root).parts) > MAX_DEPTH:
            raise PlannerError(f"{place} has more than {MAX_DEPTH} folders inside one another: import a folder in it.")
        inner.sort(key=natural)
        plain = [name for name in files if not (path / name).is_symlink()]
        count += len(plain)
        if count > MAX_FILES:
            raise PlannerError(f"{place} contains more than {MAX_FILES:,} files: import a part of it.")
        yield path, frozenset(plain)


def natural(name: str) -> tuple[tuple[bool, float, str], ...]:
    """Return a sort key by which ``version_2`` comes before ``version_10``."""
    parts, digits = list[tuple[bool, float, str]](), ""
    for letter in f"{name}\0":
        if letter.isascii() and letter.isdigit() and len(digits) < 15:
            digits += letter
            continue
        if digits:
            parts.append((False, float(digits), ""))
            digits = ""
        parts.append((True, 0.0, letter))
    return tuple(parts)


def run_folders(place: str, holds: Callable[[frozenset[str]], bool]) -> dict[str, Path]:
    """Return the folders of runs by run id: those whose file names satisfy ``holds``.

    The id is the path of the folder relative to ``place``, or the name of ``place`` for the folder itself.
    """
    root = Path(place)
    found = (path for path, files in walk(place) if holds(files))
    return {path.relative_to(root).as_posix() if path != root else root.resolve().name: path for path in found}


def contains(place: str, holds: Callable[[frozenset[str]], bool], most: int = 2000) -> bool:
    """Return whether one of the first ``most`` folders in ``place`` has file names that satisfy ``holds``."""
    if not Path(place).is_dir():
        return False
    try:
        return any(holds(files) for (_, files), _ in zip(walk(place), range(most), strict=False))
    except (PlannerError, OSError):
        return False


def mark(files: Iterable[Path]) -> str:
    """Return a text that changes when one of ``files`` is written: a hash of their names, sizes and times."""
    states = []
    for file in sorted(files):
        try:
            state = file.stat()
        except OSError:
            continue
        states.append((file.name, state.st_size, state.st_mtime_ns))
    return hashlib.sha256(repr(states).encode()).hexdigest()[:16]


def read_text(file: Path, most: int = MAX_SETTINGS_BYTES) -> str:
    """Return the text of a file. Raises PlannerError if it has more than ``most`` bytes or cannot be read."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as error:
        raise PlannerError(f"{file} cannot be read ({error.strerror}): check its permissions.") from None
    if len(content) > most:
        raise PlannerError(f"{file} has more than {most / 1024**2:g} MB: it is not a file of this tracker.")
    return content.decode("utf-8-sig", errors="replace")


def read_yaml(file: Path) -> dict[str, Any]:
    """Return the settings in a YAML file. Tags are not executed: a value with an unknown tag becomes plain data.

    Raises PlannerError if the file is not a mapping in YAML, or if the package PyYAML is missing.
    """
    try:
        import yaml
    except ModuleNotFoundError:
        raise PlannerError(
            "Reading YAML needs the package PyYAML. Install it with: pip install 'isoplan[trackers]'."
        ) from None
    try:
        found = yaml.load(read_text(file), Loader=_plain_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:160]
        raise PlannerError(f"{file} is not valid YAML ({reason}): correct it.") from None
    return found if isinstance(found, dict) else {}


def _plain_loader() -> type:
    """Return a safe YAML loader that reads a value with a tag, such as ``!!python/tuple``, as plain data.

    It refuses files with more than ``MAX_ALIASES`` aliases, because few aliases can repeat a value very often.
    """
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        aliases = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.aliases += self.check_event(yaml.AliasEvent)
            if self.aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases")
            return super().compose_node(parent, index)

    def plain(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("", plain)
    return Loader


def read_json(file: Path, most: int = MAX_SETTINGS_BYTES) -> Mapping[str, Any]:
    """Return the JSON object in a file. Raises PlannerError if the file contains none."""
    try:
        found = json.loads(read_text(file, most))
    except (ValueError, RecursionError):
        raise PlannerError(f"{file} is not valid JSON: write it again.") from None
    return found if isinstance(found, dict) else {}
