"""Stores that the trackers themselves write: scripts in ``stores`` run in an environment with the trackers."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.engine.trackers.known import KNOWN

PYTHON = Path(__file__).parents[3] / ".venv/trackers/bin/python"
STORES = Path(__file__).with_name("stores")

MakeStore = Callable[..., Path]


@pytest.fixture(scope="session")
def make_store(tmp_path_factory: pytest.TempPathFactory) -> MakeStore:
    """Return a function that runs a script of ``stores`` and returns the folder in which it has made a store.

    The script is called as ``SCRIPT FOLDER SITE_PACKAGES [WORD]...`` and gets the known runs as JSON on standard input.
    SITE_PACKAGES contains torch, for trackers that need it.
    """
    if not PYTHON.exists():
        skip_or_fail("trackers", "there is no environment with the trackers: run make test-rest")

    def make(script: str, *words: str) -> Path:
        folder = tmp_path_factory.mktemp(Path(script).stem)
        command = [str(PYTHON), "-P", str(STORES / script), str(folder), sysconfig.get_paths()["purelib"], *words]
        done = subprocess.run(
            command, input=json.dumps(KNOWN), capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return folder

    return make
