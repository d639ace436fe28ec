"""Fits by the compiled kernels, as in a server that has warmed up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from isoplan.engine.fitting.solver import kernels


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """Load the kernels for the time of the context; afterwards fits are made as before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_engine", None)
        kernels.load()
        yield
