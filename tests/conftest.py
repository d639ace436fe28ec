"""What every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Examples share a busy machine with browsers and workers: how long one takes says nothing about the code.
settings.register_profile("isoplan", deadline=None)
settings.load_profile("isoplan")

SHARED = Path(__file__).parents[2] / "shared"


def skip_or_fail(what: str, reason: str) -> None:
    """Skip, unless ``ISOPLAN_STRICT`` names ``what`` (browser, slurm, shared): there a skip is a failure."""
    if what in os.environ.get("ISOPLAN_STRICT", "").split(","):
        pytest.fail(f"{reason} (ISOPLAN_STRICT asks for {what})")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published run tables that lies beside a checkout; users do not have it."""
    if not (SHARED / "runs").is_dir():
        skip_or_fail("shared", "the folder of published run tables is not beside this checkout")
    return SHARED
