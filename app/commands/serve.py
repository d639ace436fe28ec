"""`isoplan app`: start the server and open the pages in the browser."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from isoplan.engine.errors import PlannerError


def app(
    host: Annotated[
        str, typer.Option(help="Address to listen on; addresses other than localhost require --shared.")
    ] = "localhost",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; by default 8501 or the next free port.")
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder of the workspace; by default one in your data folder.")
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Let others open the pages by a link with a token; training is disabled.")
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open the pages in a browser.")] = True,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Open the pages in the browser."""
    if version:
        from isoplan.app.cli import print_version

        print_version()
        return
    from isoplan.app.serving.server import Start, serve

    token = {"token": own_token()} if shared and os.environ.get("ISOPLAN_TOKEN") else {}
    serve(Start(host, port, workspace, shared, browser, **token))


def own_token() -> str:
    """Return the token in the environment variable ``ISOPLAN_TOKEN``. A fixed token keeps links valid after a restart.

    Raises PlannerError if the token is weak.
    """
    token = os.environ.get("ISOPLAN_TOKEN", "")
    if not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", token):
        raise PlannerError("ISOPLAN_TOKEN needs at least 16 characters, each a letter, digit, hyphen or underscore.")
    return token
