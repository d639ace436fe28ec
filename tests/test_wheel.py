"""Tests of the installed wheel: its contents, and its use in a folder with files that have the names of packages."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.server import running

ROOT = Path(__file__).parents[1]
DECOYS = (
    "isoplan.py",
    "app.py",
    "engine.py",
    "trainers.py",
    "streamlit.py",
    "duckdb.py",
    "numpy.py",
    "data/__init__.py",
)
PARTS = ("app", "engine", "trainers", "data")


@pytest.fixture
def elsewhere(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a working directory with decoys (fake modules and configuration). A program that reads a decoy fails."""
    folder = tmp_path / "elsewhere"
    for name in DECOYS:
        decoy = folder / name
        decoy.parent.mkdir(parents=True, exist_ok=True)
        decoy.write_text("raise SystemExit('a decoy was imported')\n")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text("this is no TOML [")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(installed))
    return folder


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of another project with packages ``app`` and ``data``, and return its path."""
    file = tmp_path_factory.mktemp("neighbour") / "toy-1.0-py3-none-any.whl"
    info = "toy-1.0.dist-info"
    files = {
        "app/__init__.py": "NAME = 'the app of another package'\n",
        "data/__init__.py": "NAME = 'the data of another package'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(file, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return file


def test_a_wheel_with_packages_of_the_same_names_lives_beside(wheel: Path, neighbour: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path)]
    subprocess.run([*pip, str(wheel), str(neighbour)], check=True, capture_output=True)
    code = "import app, data; from isoplan.data import files; print(app.NAME, data.NAME, files.is_there('README.md'))"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path.parent, env=env
    )
    assert done.stdout.strip() == "the app of another package the data of another package True"


def isoplan(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the console script of the installed copy."""
    command = [sys.executable, str(installed / "bin" / "isoplan"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"isoplan"}
    assert not [name for name in names if "test" in Path(name).name.lower() or name.endswith(".pyc")]
    for tracked in _tracked():
        assert tracked in names


def _tracked() -> list[str]:
    """Return the files of this checkout that an installed copy must contain."""
    kinds = ("*.py", "*.csv", "*.json", "*.md", "*.toml", "*.svg", "*.js")
    files = {p for name in PARTS for kind in kinds for p in (ROOT / name).rglob(kind)}
    parts = sorted(f"isoplan/{p.relative_to(ROOT).as_posix()}" for p in files)
    return ["isoplan/py.typed", *(f"isoplan/{p.name}" for p in (ROOT / "isoplan").glob("*.py")), *parts]


def test_the_terminal_of_the_installed_copy(installed: Path, elsewhere: Path) -> None:
    where = isoplan_path(elsewhere)
    assert where == installed / "isoplan" / "app" / "cli.py"
    assert isoplan(installed, "--version").stdout.startswith("isoplan ")
    laws = isoplan(installed, "laws")
    assert laws.returncode == 0, laws.stderr
    assert "chinchilla" in laws.stdout


def isoplan_path(elsewhere: Path) -> Path:
    """Return the file of ``isoplan.app.cli``, as imported by the console script."""
    code = "import isoplan.app.cli; print(isoplan.app.cli.__file__)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=elsewhere)
    return Path(done.stdout.strip())


def test_the_server_of_the_installed_copy(installed: Path, elsewhere: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(installed / "bin" / "isoplan")]
    with running(tmp_path / "workspace", command=command, env={"PYTHONPATH": str(installed)}) as server:
        with urlopen(server.url + "/fit") as answer:
            assert b"Isoplan" in answer.read()
        with urlopen(server.url + "/icon.svg") as answer:
            assert answer.status == 200
    assert "decoy" not in server.output.read_text()
    assert sorted(p.name for p in elsewhere.iterdir()) == sorted(
        {name.split("/")[0] for name in DECOYS} | {".streamlit"}
    )
