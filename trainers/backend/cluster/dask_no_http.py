"""Dask's scheduler and worker without the web servers that both start whatever their options say."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler, Worker


class QuietScheduler(Scheduler):
    """A scheduler that listens for its workers and clients, and for nobody else."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: it would show everybody on the machine what runs, on port 8787."""


class QuietWorker(Worker):
    """A worker that listens for its scheduler, and for nobody else."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none."""
