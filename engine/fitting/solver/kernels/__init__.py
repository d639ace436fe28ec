"""Slow steps of a fit, in two implementations: numpy, and compiled kernels that are about twenty times faster.

Both implementations find the same optima. The kernels do not depend on the law. They support any number of amplitudes
and exponents, and every objective in ``objectives``. No fit waits for the compiler. The server calls ``warm_up``, which
compiles the kernels in a separate process, stores them in the cache, and then loads them. Until the kernels are loaded,
fits use numpy.
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
"""Size of a fit (runs x resamples) above which the kernels are faster than numpy, including 0.5 s to load them."""


class Refine(Protocol):
    """Signature of ``newton.refine``."""

    def __call__(
        self, p: Problem, theta: Floats, weight: Floats, owner: Ints, loss: Loss, known: Known | None = None
    ) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Engine:
    """One implementation (numpy or compiled) of ``philox.draw``, ``exponent_grid.starts`` and ``newton.refine``."""

    at_once: int  # resamples in a block; a constant, so that results do not depend on the number of threads
    draw: Callable[[int, int, int, Ints, Ints, Ints], Floats]
    starts: Callable[[Grid, Floats, int], Floats]
    refine: Refine


NUMPY = Engine(4096, draw, starts, refine)


log = logging.getLogger("isoplan.kernels")
_lock = threading.Lock()
_engine: Engine | None = None


def compiled(work: int) -> Engine | None:
    """Return the compiled kernels, or None if a fit of size ``work`` (runs x resamples) should use numpy.

    If the fit is large enough and the cache contains the kernels, they are loaded first.
    """
    if _engine is None and work >= READING_PAYS and storage.is_complete():
        load()
    return _engine


def load() -> None:
    """Load the kernels from the cache (0.5 s), or compile them if the cache does not contain them (10 to 20 s)."""
    global _engine
    with _lock:
        if _engine is None:
            from isoplan.engine.fitting.solver.kernels import bindings

            bindings.compile_kernels(storage.folder())
            _engine = Engine(64, bindings.draw, bindings.starts, bindings.refine)


@cache
def warm_up() -> threading.Thread:
    """Start a thread that compiles and loads the kernels, and return the thread. Later calls return the same thread."""
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
    """Compile the kernels in a child process, which stores them in the cache, and wait for the end of the process.

    A compiler in this process would hold Python's global interpreter lock and thus block all pages.
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
