"""Dask scheduler and worker without HTTP servers. Dask starts these servers regardless of the options."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, Worker


class QuietScheduler(Scheduler):
    """A scheduler that listens only for its workers and clients."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start no HTTP server. Such a server would show the running tasks to every user of the machine (port 8787)."""


class QuietWorker(Worker):
    """A worker that listens only for its scheduler."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start no HTTP server."""
