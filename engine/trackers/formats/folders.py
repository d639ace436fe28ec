"""Search for the files of runs in folders, and reading of text files, within limits of number and size."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers.formats.times import from_seconds
from isoplan.engine.trackers.source import MAX_DEPTH, MAX_FILES

MAX_SETTINGS_BYTES = 4 * 1024**2
"""Largest size of a file with settings."""
MAX_LOG_BYTES = 200 * 1024**2
"""Largest size of a file with logged values."""
MAX_LINE_BYTES = 1024**2
"""Largest length of a line of a log. A longer line is read as several lines."""
MAX_ALIASES = 20
"""Largest number of aliases in a YAML file."""


def walk(place: str) -> Iterator[tuple[Path, frozenset[str]]]:
    """Yield ``place`` and each folder in it, with the names of its files.

    Symbolic links are not followed, and files that are not regular, such as pipes, are left out. Folders are sorted by
    name, with ``version_2`` before ``version_10``. Raises PlannerError if there are more than ``MAX_FILES`` files, or
    more than ``MAX_DEPTH`` levels of folders.
    """
    root, count = Path(place), 0
    for folder, inner, files in os.walk(root, followlinks=False):
        path = Path(folder)
        if len(path.relative_to(root).parts) > MAX_DEPTH:
            raise PlannerError(f"{place} has more than {MAX_DEPTH} folders inside one another: import a folder in it.")
        inner.sort(key=natural)
        plain = [name for name in files if is_regular(path / name)]
        count += len(plain)
        if count > MAX_FILES:
            raise PlannerError(f"{place} contains more than {MAX_FILES:,} files: import a part of it.")
        yield path, frozenset(plain)


def is_regular(file: Path) -> bool:
    """Return whether a file is a regular file, not a link, pipe or device. Reading a pipe or device may never end."""
    with suppress(OSError):
        return stat.S_ISREG(file.lstat().st_mode)
    return False


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
    """Return a dictionary from run id to folder, for all folders in ``place`` whose file names satisfy ``holds``.

    ``run_id`` describes the ids.
    """
    return {run_id(place, path): path for path, files in walk(place) if holds(files)}


def run_id(place: str, path: Path) -> str:
    """Return the id of the run at ``path``.

    The id is ``path`` relative to ``place``, or the name of ``place`` if both are equal.
    """
    root = Path(place)
    return path.relative_to(root).as_posix() if path != root else root.resolve().name


def contains(place: str, holds: Callable[[frozenset[str]], bool], most: int = 2000) -> bool:
    """Return whether one of the first ``most`` folders in ``place`` has file names that satisfy ``holds``."""
    return any(holds(files) for _, files in first_folders(place, most))


def first_folders(place: str, most: int = 2000) -> Iterator[tuple[Path, frozenset[str]]]:
    """Yield the first ``most`` folders of ``walk``. If the search fails, the iteration ends without an error."""
    if Path(place).is_dir():
        with suppress(PlannerError, OSError):
            yield from (found for found, _ in zip(walk(place), range(most), strict=False))


def mark(files: Iterable[Path]) -> str:
    """Return a hash of the names, sizes and times of ``files``. It changes when one of the files is written."""
    states = []
    for file in sorted(files):
        try:
            state = file.stat()
        except OSError:
            continue
        states.append((file.name, state.st_size, state.st_mtime_ns))
    return digest(states)


def digest(content: object) -> str:
    """Return a short hash of plain values, for use as a mark."""
    return hashlib.sha256(repr(content).encode(errors="replace")).hexdigest()[:16]


def written(file: Path) -> datetime | None:
    """Return the time (UTC, without a zone) at which ``file`` was last written."""
    return from_seconds(file.stat().st_mtime)


def read_text(file: Path, most: int = MAX_SETTINGS_BYTES) -> str:
    """Return the text of a file. Raises PlannerError if it has more than ``most`` bytes or cannot be read."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as error:
        raise PlannerError(f"{file} cannot be read ({error.strerror}): check its permissions.") from None
    if len(content) > most:
        raise PlannerError(
            f"{file} has more than {most / 1024**2:g} MB: make it smaller, or import a folder without it."
        )
    return content.decode("utf-8-sig", errors="replace")


def read_lines(file: Path, most: int = MAX_LOG_BYTES) -> Iterator[str]:
    """Yield the lines of a file, with their line ends.

    Raises PlannerError if the file has more than ``most`` bytes or cannot be read.
    """
    try:
        with file.open("rb") as opened:
            while line := opened.readline(MAX_LINE_BYTES):
                if opened.tell() > most:
                    raise PlannerError(f"{file} has more than {most / 1024**2:g} MB: log fewer values.")
                yield line.decode("utf-8", errors="replace").removeprefix("\ufeff")
    except OSError as error:
        raise PlannerError(f"{file} cannot be read ({error.strerror}): check its permissions.") from None


def read_yaml(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, or an empty dictionary if the file contains another value.

    Raises PlannerError for the same reasons as ``yaml_value``.
    """
    found = yaml_value(file)
    return found if isinstance(found, dict) else {}


def yaml_value(file: Path) -> Any:
    """Return the value in a YAML file. Tags are not executed: a value with an unknown tag becomes plain data.

    Raises PlannerError if the file is not valid YAML, or if the package PyYAML is missing.
    """
    try:
        import yaml
    except ModuleNotFoundError:
        raise PlannerError(
            "Reading YAML needs the package PyYAML. Install it with: pip install 'isoplan[trackers]'."
        ) from None
    try:
        return yaml.load(read_text(file), Loader=_plain_loader())
    except (
        yaml.YAMLError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        reason = " ".join(str(error).split())[:160]
        raise PlannerError(f"{file} is not valid YAML ({reason}): correct it.") from None


def _plain_loader() -> type:
    """Return a safe YAML loader that reads a value with a tag, such as ``!!python/tuple``, as plain data.

    The loader refuses files with more than ``MAX_ALIASES`` aliases, because nested aliases can make a small file very
    large. It also refuses an alias inside the value to which the alias refers, because such a value is infinite.
    """
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        aliases = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            is_alias = self.check_event(yaml.AliasEvent)
            self.aliases += is_alias
            if self.aliases > MAX_ALIASES:
                raise yaml.YAMLError(f"more than {MAX_ALIASES} aliases")
            node = super().compose_node(parent, index)
            if is_alias and node.end_mark is None:
                raise yaml.YAMLError("an alias inside the value that it repeats")
            return node

    def plain(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("", plain)
    return Loader


def read_json(file: Path, most: int = MAX_SETTINGS_BYTES) -> Mapping[str, Any]:
    """Return the JSON object in a file, or an empty dictionary if the file contains another value.

    Raises PlannerError for the same reasons as ``json_value``.
    """
    found = json_value(file, most)
    return found if isinstance(found, dict) else {}


def json_value(file: Path, most: int = MAX_SETTINGS_BYTES) -> Any:
    """Return the value in a JSON file. Raises PlannerError if the file is not valid JSON."""
    try:
        return json.loads(read_text(file, most))
    except (ValueError, RecursionError):
        raise PlannerError(f"{file} is not valid JSON: correct it, or import a folder without it.") from None
