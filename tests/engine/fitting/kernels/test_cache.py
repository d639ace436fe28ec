"""Tests of the cache of compiled kernels: its folder, and fits that run in numpy during a compilation."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from isoplan.engine.fitting.solver.kernels import storage
from tests import progress

ROOT = Path(__file__).parents[4]
EIGHT = """
import os, signal, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
sys.path.insert(0, sys.argv[1])
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.fitting.solver import kernels
from isoplan.engine.fitting.solver.kernels import storage
sys.path.append(sys.argv[2])
from tests.engine.fitting.tables import make_runs, surface
popen, compilers = subprocess.Popen, []
def paused(*given, **how):  # the compiler waits until the fits on the cold cache are done
    compilers.append(popen(*given, **how))
    os.kill(compilers[0].pid, signal.SIGSTOP)
    return compilers[0]
subprocess.Popen = paused
warming = kernels.warm_up()
while not compilers:
    time.sleep(0.01)
runs, spec = make_runs(surface(40, 0.01)), FitSpec(bootstrap=30)
with ThreadPoolExecutor(8) as pool:
    cold = [f.theta for f in pool.map(lambda _: fit(spec, runs), range(8))]
    assert warming.is_alive() and "numba" not in sys.modules, "a fit waited"
    os.kill(compilers[0].pid, signal.SIGCONT)
    warming.join()
    assert kernels.compiled(0) is not None
    warm = [f.resamples for f in pool.map(lambda _: fit(spec, runs), range(8))]
assert all(np.array_equal(warm[0], w) for w in warm)
assert all(np.allclose(cold[0], c, rtol=1e-9) for c in cold)
print(storage.folder())
"""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove the home folder from the environment, and return the temporary folder that is used instead."""
    for name in ("HOME", "USERPROFILE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    return tmp_path


def found() -> Path | None:
    return storage.folder.__wrapped__()


def test_the_users_cache_folder_comes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "home").mkdir()
    monkeypatch.setenv("HOME", str(bare / "home"))
    home = found()
    assert home is not None
    assert home.is_relative_to(bare / "home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(bare / "cache"))
    assert found() == bare / "cache" / "isoplan" / home.name


def test_without_a_home_the_temporary_folder_is_the_users_alone(bare: Path) -> None:
    folder = found()
    assert folder is not None
    assert folder.parent.parent == bare
    assert folder.parent.stat().st_mode & 0o077 == 0
    # A folder that other users can write to is refused, because they could replace the compiled code.
    folder.parent.chmod(0o777)
    assert found() is None


def test_where_nothing_can_be_written_there_is_no_folder(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(bare / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(bare / "file"))
    assert found() is None


def test_eight_threads_fit_at_once_on_a_cold_cache_without_home_and_with_a_readonly_package(tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(ROOT / "isoplan", package / "isoplan", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "engine", package / "isoplan" / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (package, *package.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(package.rglob("*"))
    (tmp_path / "tmp").mkdir()
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "PYTHONPATH")}
    done = progress.run(
        [sys.executable, "-P", "-c", EIGHT, str(package), str(ROOT)],
        env={**kept, "TMPDIR": str(tmp_path / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "tmp")
    assert (Path(done.stdout.strip()) / "complete").exists()
    assert sorted(package.rglob("*")) == before
