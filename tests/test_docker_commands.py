"""The Dockerfile without a Docker daemon: its instructions, and its command run by an unprivileged user.

These tests do not build the image. They start the server of the image as the user ``nobody``, with a read-only package
and without HOME.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from tests.server import Server, free_port, stop, wait_healthy

ROOT = Path(__file__).parents[1]
NOBODY = 65534
DROP = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments. Continued lines are joined; comments are omitted."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def arguments(word: str) -> list[str]:
    """Return the arguments of each instruction ``word``, in order."""
    return [rest for name, rest in instructions() if name == word]


def exec_form(text: str) -> list[str]:
    """Return the words of a Dockerfile command in exec form, which starts no shell."""
    found = json.loads(text[text.index("[") :])
    assert isinstance(found, list)
    return [str(word) for word in found]


def test_the_image_is_slim_locked_and_without_root() -> None:
    words = [word for word, _ in instructions()]
    assert arguments("FROM") == ["python:3.11-slim"]
    assert "pip install -r requirements.lock" in arguments("RUN")
    assert arguments("USER") == ["isoplan"]
    assert words.index("USER") < words.index("CMD")
    assert arguments("VOLUME") == ["/data"]
    command = exec_form(arguments("CMD")[0])
    assert command[:2] == ["isoplan", "app"]
    assert "--shared" in command
    assert command[command.index("--workspace") + 1] == "/data"
    assert "/healthz" in arguments("HEALTHCHECK")[0]


def test_extras_come_only_by_a_build_argument() -> None:
    assert arguments("ARG") == ['EXTRAS=""']
    extras = [run for run in arguments("RUN") if "[$EXTRAS]" in run]
    assert len(extras) == 1
    assert 'if [ -n "$EXTRAS" ]' in extras[0]


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    rules = (ROOT / ".dockerignore").read_text().split()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    for copy in arguments("COPY"):
        for source in copy.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(fnmatch(source, rule) for rule in kept), source


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Create a folder that belongs to ``nobody``."""
    if os.name != "posix" or os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root may start a server as another user (with setpriv)")
    with tempfile.TemporaryDirectory(prefix="isoplan-data-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def as_nobody(installed: Path, command: list[str], tmp: Path) -> list[str]:
    """Return a command line that runs ``command`` of the installed copy as the user ``nobody``, without HOME."""
    python = python_for_all()
    if python is None:
        pytest.skip(f"another user cannot read this Python ({sys.executable}) or its packages")
    packages = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    programs = {"isoplan": [python, str(installed / "bin" / "isoplan")], "python": [python]}
    return [*DROP, "env", "-i", f"PYTHONPATH={packages}", f"TMPDIR={tmp}", *programs[command[0]], *command[1:]]


@cache
def python_for_all() -> str | None:
    """Return the path of a Python that all users can run: this Python, or the system's Python of the same version.

    Returns None if other users can run neither of the two.
    """
    packages = f"PYTHONPATH={sysconfig.get_path('purelib')}"
    for python in (sys.executable, "/usr/bin/python{}.{}".format(*sys.version_info)):
        if _runs([*DROP, "env", "-i", packages, python, "-c", "import duckdb, uvicorn"]):
            return python
    return None


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("named", [True, False])
def test_the_command_runs_as_nobody_with_a_readonly_package_and_no_home(
    named: bool, installed: Path, public_folder: Path, tmp_path: Path
) -> None:
    port = free_port()
    workspace = public_folder / "data"
    swapped = {"8501": str(port), "/data": str(workspace), "0.0.0.0": "127.0.0.1"}
    command = [swapped.get(word, word) for word in exec_form(arguments("CMD")[0])]
    if not named:
        at = command.index("--workspace")
        command = command[:at] + command[at + 2 :]
    for path in (installed, *installed.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    output = tmp_path / "out"
    with output.open("wb") as sink:
        process = subprocess.Popen(
            as_nobody(installed, command, public_folder), stdout=sink, stderr=subprocess.STDOUT, cwd="/"
        )
    try:
        wait_healthy(Server(f"http://127.0.0.1:{port}", process, workspace, output))
        health = [w.replace("8501", str(port)) for w in exec_form(arguments("HEALTHCHECK")[0])]
        assert subprocess.run(as_nobody(installed, health, public_folder), check=False).returncode == 0
        assert "?token=" in output.read_text()
        files = list(public_folder.rglob("isoplan.duckdb"))
        assert len(files) == 1
        assert files[0].stat().st_uid == NOBODY
    finally:
        stop(process)
