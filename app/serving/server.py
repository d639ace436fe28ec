"""The web server: Streamlit's ASGI app, and the services that run in the same process."""

from __future__ import annotations

import errno
import gc
import logging
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import streamlit
import uvicorn
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from streamlit import config
from streamlit.web import bootstrap

from isoplan.app import cell_service, workspace
from isoplan.app.autopilot.service import autopilots
from isoplan.app.backups.requests import answering
from isoplan.app.bundled import load_bundled
from isoplan.app.errors import show_error
from isoplan.app.serving import logs, pdf, shell
from isoplan.app.serving.guard import LOCAL_HOSTS, Guard
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.store.database.database import open_workspace
from isoplan.engine.store.files.uploads import MAX_UPLOAD_BYTES
from isoplan.engine.store.folders import default_folder

MAIN = Path(__file__).parents[1] / "main.py"
FIRST_PORT, PORTS_TRIED = 8501, 50
WILDCARDS = frozenset({"0.0.0.0", "::"})
UPLOAD_MB = MAX_UPLOAD_BYTES // 2**20
OPTIONS = {
    "browser.gatherUsageStats": False,
    "global.disableWidgetStateDuplicationWarning": True,
    "client.showErrorDetails": "none",
    "logger.enableRich": False,
    "client.toolbarMode": "viewer",
    "runner.magicEnabled": False,
    "runner.postScriptGC": False,  # if True, a garbage collection of 0.2 s follows every run of a page
    "server.baseUrlPath": "",
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.fileWatcherType": "none",
    "server.headless": True,
    "server.maxUploadSize": UPLOAD_MB,
    "server.runOnSave": False,
}

log = logging.getLogger("isoplan.server")


@dataclass(frozen=True)
class Start:
    """Options of ``isoplan app``. If ``port`` is None, the server uses the first free port that is at least 8501."""

    host: str = "localhost"
    port: int | None = None
    folder: Path | None = None
    shared: bool = False
    browser: bool = True
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def __post_init__(self) -> None:
        if not self.shared and self.host not in LOCAL_HOSTS:
            raise PlannerError(
                f"--host {self.host} accepts connections from other machines: add --shared, which requires a token "
                "and switches training off."
            )


def serve(start: Start) -> None:
    """Serve the pages until a signal, such as Ctrl+C, stops the server.

    Raises PlannerError if the port or the workspace is in use, or if the workspace cannot be read.
    """
    listener = listen(start.host, start.port)
    settings = workspace.Settings(url=_url(start.host, listener.getsockname()[1]), shared=start.shared)
    failure: list[Exception] = []
    server = uvicorn.Server(
        uvicorn.Config(
            build(start, settings, failure),
            log_config=None,
            access_log=False,
            ws="websockets-sansio",
            ws_max_size=(UPLOAD_MB + 1) * 2**20,
            timeout_graceful_shutdown=3,
        )
    )
    logs.to_console()
    try:
        with listener, suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    except SystemExit:  # uvicorn raises SystemExit if the server cannot start
        raise failure[0] if failure else PlannerError("The server did not start.") from None


def build(start: Start, settings: workspace.Settings, failure: list[Exception]) -> streamlit.App:
    """Return the ASGI app.

    If the workspace cannot be opened, the error is appended to ``failure`` and the server does not start.
    """
    port = settings.url.rsplit(":", 1)[1]
    config.get_config_files = _our_files
    bootstrap.load_config_options({**OPTIONS, "server.port": int(port)})
    return streamlit.App(
        MAIN,
        lifespan=_lifespan(start, settings, failure),
        routes=[Route("/healthz", _health), *shell.routes(), *pdf.routes()],
        middleware=[Middleware(Guard, token=start.token if start.shared else "", cookie=f"isoplan-{port}")],
        on_script_error=show_error,
    )


def _our_files(file_name: str) -> list[str]:
    """Return the path of Isoplan's own Streamlit configuration file.

    This function replaces a function of Streamlit. Configuration files of the user and of the working directory are
    therefore ignored.
    """
    return [str(MAIN.parent / ".streamlit" / file_name)]


def _lifespan(
    start: Start, settings: workspace.Settings, failure: list[Exception]
) -> Callable[[streamlit.App], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: streamlit.App) -> AsyncIterator[None]:
        with ExitStack() as stack:
            try:
                folder = start.folder or default_folder()
                database = stack.enter_context(open_workspace(folder, url=settings.url))
                logs.to_file(folder)
                load_bundled(database)
                stack.enter_context(workspace.registered(database, settings))
                stack.enter_context(answering(database, database.folder or folder))
                looking = cell_service.looking_after(database, database.folder or folder, settings.training, autopilots)
                stack.enter_context(looking)
            except Exception as error:
                failure.append(error)
                raise
            log.info("workspace %s opened at %s", folder, settings.url)
            kernels.warm_up()
            gc.freeze()  # objects that exist now are permanent: garbage collections skip them
            stack.callback(gc.unfreeze)
            _announce(start, settings.url, folder)
            yield
        log.info("workspace %s closed", folder)

    return lifespan


def _announce(start: Start, url: str, folder: Path) -> None:
    """Print the address of the pages and open it in the browser.

    The socket is listening already, so a request of the browser waits until the server is ready.
    """
    address = f"{url}/?token={start.token}" if start.shared else url
    lines = [f"Isoplan is at {address}", f"Workspace: {folder}", "Press Ctrl+C to stop."]
    if start.host in WILDCARDS:  # the host name of a container is unknown outside it: print localhost too
        lines.insert(1, f"and on this machine at {address.replace(url, _url('localhost', int(url.rsplit(':', 1)[1])))}")
    print("\n".join(lines), flush=True)
    if start.browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok") if workspace.is_open() else PlainTextResponse("no workspace is open", 503)


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on ``port``; if ``port`` is None, on the first free port that is at least 8501.

    Raises PlannerError if the port is in use or reserved for the system, if all tried ports are in use, or if ``host``
    is not an address of this machine.
    """
    for candidate in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else [port]:
        try:
            return _bind(host, candidate)
        except OSError as error:
            if port is None and error.errno == errno.EADDRINUSE:
                continue
            raise PlannerError(_why(error, host, candidate)) from error
    raise PlannerError(
        f"Ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are all in use: free one of them, or choose "
        "another port with --port."
    )


def _bind(host: str, port: int) -> socket.socket:
    # "localhost" can resolve to the IPv6 address ::1 on a machine without IPv6 routes. 127.0.0.1 always works, and
    # browsers try both addresses.
    name = "127.0.0.1" if host == "localhost" else host
    family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use by another program: choose a free port with --port, or omit --port."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for the system: choose a port above 1023 with --port."
    return f"--host {host} is not an address of this machine ({error.strerror or error})."


def _url(host: str, port: int) -> str:
    name = socket.gethostname() if host in WILDCARDS else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
