"""Fits with the compiled kernels, as in a server after its warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from isoplan.engine.fitting.solver import kernels


@contextmanager
def compiled_kernels() -> Iterator[None]:
    """Load the compiled kernels for the ``with`` block. At the end of the block, restore the previous state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_engine", None)
        kernels.load()
        yield


@pytest.fixture(scope="package", autouse=True)
def compiled() -> Iterator[None]:
    """Fit with the compiled kernels in all tests of a package. A conftest imports this fixture to use it.

    A fit with 1,000 refits then takes a tenth of a second instead of several seconds. The tests of the solver in
    ``tests/engine/fitting`` use numpy and the kernels.
    """
    with compiled_kernels():
        yield
