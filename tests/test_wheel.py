"""The installed wheel: what it holds, and that it runs in an empty folder whose files are named like ours."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.server import running

ROOT = Path(__file__).parents[1]
DECOYS = ("app.py", "engine.py", "trainers.py", "streamlit.py", "duckdb.py", "data/__init__.py")
PACKAGES = ("app", "engine", "trainers", "data")


@pytest.fixture
def elsewhere(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder but for decoys that would break anything that imports them; it is the working directory."""
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


def isoplan(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the console script of the installed copy."""
    command = [sys.executable, str(installed / "bin" / "isoplan"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    assert not [name for name in names if "test" in Path(name).name.lower() or name.endswith(".pyc")]
    for tracked in _tracked():
        assert tracked in names


def _tracked() -> list[str]:
    """The files of our packages in this checkout that a copy cannot do without."""
    kinds = ("*.py", "*.csv", "*.json", "*.md", "*.toml", "*.svg", "*.js")
    found = {p for name in PACKAGES for kind in kinds for p in (ROOT / name).rglob(kind)}
    return sorted(p.relative_to(ROOT).as_posix() for p in found)


def test_the_terminal_of_the_installed_copy(installed: Path, elsewhere: Path) -> None:
    where = isoplan_path(elsewhere)
    assert where == installed / "app" / "cli.py"
    assert isoplan(installed, "--version").stdout.startswith("isoplan ")
    laws = isoplan(installed, "laws")
    assert laws.returncode == 0, laws.stderr
    assert "chinchilla" in laws.stdout


def isoplan_path(elsewhere: Path) -> Path:
    """The file that ``app.cli`` is read from, asked as the console script would."""
    code = "import app.cli; print(app.cli.__file__)"
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
