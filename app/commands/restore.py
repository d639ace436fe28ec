"""`isoplan restore`: restore a workspace from a file written by `isoplan backup`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from isoplan.app.commands.backup import document, progress, text
from isoplan.app.commands.shared.output import say, say_json


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The archive that `isoplan backup` wrote, - for standard input.")
    ],
    workspace: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="New or empty folder; by default the one in your data folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a workspace from a backup."""
    from isoplan.app.backups.restoring import restore as make
    from isoplan.app.workspace import usual_folder

    root = (workspace or usual_folder()).expanduser().resolve()
    with progress("Nothing was restored.") as tell, _on_disk(file.expanduser()) as (place, origin):
        made = make(place, root, tell, origin)
    if as_json:
        say_json({"schema": 1, "file": str(made.file), "workspace": str(root), **document(made)})
    else:
        moment = f"{made.manifest.created:%Y-%m-%d %H:%M} UTC"
        say(f"The workspace {root} has its content of {moment}: {text(made)}.")


@contextmanager
def _on_disk(file: Path) -> Iterator[tuple[Path, Path | None]]:
    """Yield the archive as a file on disk, and its permanent path or None. Data from a pipe go to a temporary file."""
    standard = str(file) == "-"
    if not (standard or file.is_fifo() or file.is_char_device()):
        yield file, file.resolve()
        return
    with TemporaryDirectory(prefix="isoplan-") as folder:
        copy = Path(folder) / "standard-input.zip"
        with sys.stdin.buffer if standard else file.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy, None
