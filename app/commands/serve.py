"""`isoplan app`: open the browser front end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.errors import PlannerError


def app(
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than localhost needs --shared.")
    ] = "localhost",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; without it 8501 or the next free one.")
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; without it one in your data folder.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let others in by a link with a token; training is off then.")
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open the pages in a browser.")] = True,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Open the browser front end."""
    if version:
        from app.cli import print_version

        print_version()
        return
    from app.server import Start, serve

    serve(Start(host, port, workspace, shared, browser, **_token(shared)))


def _token(shared: bool) -> dict[str, str]:
    """A token of the user's own, where ``ISOPLAN_TOKEN`` holds one: links then outlive a restart."""
    import os

    token = os.environ.get("ISOPLAN_TOKEN", "") if shared else ""
    if token and (len(token) < 16 or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum()):
        raise PlannerError("ISOPLAN_TOKEN needs at least 16 characters, each a letter, digit, hyphen or underscore.")
    return {"token": token} if token else {}
