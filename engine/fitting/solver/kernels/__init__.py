"""The slow steps of a fit, in numpy or as compiled kernels that are about twenty times as fast.

Both give the same optima. Kernels are compiled for terms, not for laws. They support any number of amplitudes and
exponents and every objective of ``objectives``. No fit waits for the compiler. The server calls ``warm_up``, which
compiles the kernels into the cache in a separate process and then loads them. Until then, or if ``warm_up`` is not
called, fits run the same algorithm in numpy.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from isoplan.engine.arrays import Floats, Ints
from isoplan.engine.fitting.solver.descent import Known
from isoplan.engine.fitting.solver.exponent_grid import Grid, starts
from isoplan.engine.fitting.solver.kernels import storage
from isoplan.engine.fitting.solver.newton import refine
from isoplan.engine.fitting.solver.objectives import Loss
from isoplan.engine.fitting.solver.philox import draw
from isoplan.engine.fitting.solver.problem import Problem

READING_PAYS = 150_000
"""Runs x resamples above which loading the kernels from the cache (half a second) is faster than numpy."""


class Refine(Protocol):
    """Signature of ``newton.refine``."""

    def __call__(
        self, p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss, known: Known | None = None
    ) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Engine:
    """Implementations of ``philox.draw``, ``exponent_grid.starts`` and ``newton.refine`` with the same signatures."""

    at_once: int  # resamples in a block; independent of the number of threads, on which no digit may depend
    draw: Callable[[int, int, int, Ints, Ints, Ints], Floats]
    starts: Callable[[Grid, Floats, int], Floats]
    refine: Refine


NUMPY = Engine(4096, draw, starts, refine)


log = logging.getLogger("isoplan.kernels")
_lock = threading.Lock()
_engine: Engine | None = None


def compiled(work: int) -> Engine | None:
    """Return the kernels if they are loaded, or if ``work`` (runs x resamples) justifies loading them from a warm
    cache.
    """
    if _engine is None and work >= READING_PAYS and storage.is_complete():
        load()
    return _engine


def load() -> None:
    """Load the kernels: from the cache in half a second, or else by compiling for 10 to 20 s."""
    global _engine
    with _lock:
        if _engine is None:
            from isoplan.engine.fitting.solver.kernels import bindings

            bindings.compile_kernels(storage.folder())
            _engine = Engine(64, bindings.draw, bindings.starts, bindings.refine)


@cache
def warm_up() -> threading.Thread:
    """Start, once, a thread that prepares the kernels."""
    thread = threading.Thread(target=_warm_up, name="isoplan-kernels", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    folder = storage.folder()
    if folder and not storage.is_complete():
        _compile_elsewhere()
    load()
    log.info("kernels are loaded%s", f" from {folder}" if folder else ", compiled in memory: no folder can be written")


def _compile_elsewhere() -> None:
    """Fill the cache from a child process: a compiler in this process would hold the interpreter lock and freeze all
    pages.
    """
    spec = find_spec("isoplan")
    root = str(Path(spec.origin).parents[1]) if spec and spec.origin else ""
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "isoplan.engine.fitting.solver.kernels"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(child.kill)
    child.wait()
    atexit.unregister(child.kill)
