"""Tests of the Makefile and of the lock files. The Makefile prints a message if a program or version is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-train.lock", "requirements-dev.lock")
PINNED = re.compile(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)")


def make(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make in ``folder`` with a copy of the Makefile. Nothing is created in this checkout."""
    if shutil.which("make") is None:
        pytest.skip("no make on this machine")
    for name in ("Makefile", "pyproject.toml", *LOCKS):
        shutil.copy(ROOT / name, folder)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | ({"PATH": path} if path else {})
    return subprocess.run(
        [str(shutil.which("make")), *arguments], cwd=folder, capture_output=True, text=True, env=env, check=False
    )


def fake_python(folder: Path, script: str) -> str:
    """Write a fake Python that runs ``script`` (for example, a Python that lacks a module), and return its path."""
    path = folder / "fake-python"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


def environment(folder: Path, script: str) -> None:
    """Create a ``.venv`` whose Python is a shell script."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n" + script)
    python.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            'case "$*" in *ensurepip*) exit 1;; esac\n',
            "has no venv module: install it (Debian, Ubuntu: apt-get install",
        ),
        ('case "$*" in *version_info*) exit 1;; esac\n', "Isoplan needs Python 3.11 or newer, and"),
    ],
)
def test_a_python_that_lacks_something_gets_one_sentence(script: str, sentence: str, tmp_path: Path) -> None:
    done = make(tmp_path, "run", f"PYTHON={fake_python(tmp_path, script)}")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode != 0
    assert len(said) == 1
    assert sentence in said[0]
    assert not (tmp_path / ".venv").exists()


def test_no_python_gets_one_sentence(tmp_path: Path) -> None:
    done = make(tmp_path, "run", "PYTHON=")
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert said == [
        "Isoplan needs Python 3.11 or newer: install it, or say where it is with make PYTHON=/path/to/python3."
    ]


@pytest.mark.parametrize("half_made", [True, False])
def test_an_environment_without_pip_is_made_again(half_made: bool, tmp_path: Path) -> None:
    made = 'rm -rf .venv; mkdir -p .venv/bin; printf "#!/bin/sh\\n" > .venv/bin/python; chmod +x .venv/bin/python'
    python = fake_python(tmp_path, f'case "$*" in *"-m venv --clear"*) {made}; echo made again;; esac\n')
    if half_made:
        environment(tmp_path, "exit 1")
    done = make(tmp_path, ".venv/run.stamp", f"PYTHON={python}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("made again") == 1
    assert (tmp_path / ".venv" / "run.stamp").exists()


def test_without_a_browser_and_without_apt_one_line_says_what_to_install(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "id"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = make(tmp_path, "browser", path=str(tools))
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "install chromium" in done.stderr


def pins(name: str) -> dict[str, str]:
    """Return the versions in a lock file, by package. Each line must have the form ``name==version``."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        match = PINNED.fullmatch(line)
        assert match, f"{name}: {line}"
        found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


@pytest.mark.parametrize(
    ("lock", "group"),
    [(LOCKS[0], ""), (LOCKS[0], "cluster"), (LOCKS[1], "train"), (LOCKS[1], "jets"), (LOCKS[2], "dev")],
)
def test_a_lock_holds_every_dependency_in_a_version_that_is_allowed(lock: str, group: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][group] if group else project["dependencies"]
    held = pins(lock)
    for text in wanted:
        requirement = Requirement(text)
        version = held[re.sub(r"[-_.]+", "-", requirement.name).lower()]
        assert Version(version) in requirement.specifier, text


def test_the_locks_agree_and_hold_no_test_tools_at_run_time() -> None:
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")
    assert run.items() <= dev.items()
    assert not {"pytest", "playwright", "hypothesis", "mypy", "torch"} & run.keys()


def test_what_families_train_with_is_apart_and_missing_wheels_leave_the_rest(tmp_path: Path) -> None:
    assert not pins(LOCKS[1]).keys() & pins(LOCKS[2]).keys()
    refuse = 'case "$*" in *only-binary*train.lock|*only-binary*pythia8mc*) echo No wheel >&2; exit 1;; esac; exit 0'
    made = f"mkdir -p .venv/bin; printf '#!/bin/sh\\n{refuse}\\n' > .venv/bin/python; chmod +x .venv/bin/python"
    made = made.replace('"', '\\"').replace("$", "\\$")
    python = fake_python(tmp_path, f'case "$*" in *"-m venv --clear"*) sh -c "{made}";; esac\n')
    done = make(tmp_path, ".venv/run.stamp", f"PYTHON={python}")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if "is not installed" in line] == [
        "pythia8mc==8.317.2 is not installed (No wheel). Cells and commands that need it say so."
    ]


def test_torch_is_installed_with_its_dependencies_and_all_else_as_locked(tmp_path: Path) -> None:
    """The lock files do not list the libraries of torch's CUDA build, so ``--no-deps`` would omit these libraries."""
    environment(tmp_path, 'echo "$*" >> calls; exit 0')
    done = make(tmp_path, ".venv/run.stamp", f"PYTHON={fake_python(tmp_path, 'exit 0')}")
    assert done.returncode == 0, done.stderr
    calls = [line for line in (tmp_path / "calls").read_text().splitlines() if "-r requirements-train.lock" in line]
    assert len(calls) == 1
    assert "--no-deps" not in calls[0]
    assert "-c requirements.lock -c requirements-train.lock" in calls[0]


def test_the_locks_hold_what_torch_needs_on_every_platform_and_no_cuda_library() -> None:
    locked = pins(LOCKS[0]) | pins(LOCKS[1])
    assert not [name for name in locked | pins(LOCKS[2]) if re.match(r"cuda|nvidia|triton", name)]
    try:
        needed = [Requirement(text) for text in requires("torch") or ()]
    except PackageNotFoundError:
        pytest.skip("no torch on this machine")
    for requirement in needed:
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if re.match(r"cuda|nvidia|triton", name) or (requirement.marker and not requirement.marker.evaluate()):
            continue
        assert Version(locked[name]) in requirement.specifier, str(requirement)


def test_make_run_says_what_cells_train_on_and_serves(tmp_path: Path) -> None:
    environment(tmp_path, 'case "$*" in *isoplan.trainers.pytorch*) echo "Training: on a GPU";; esac')
    serve = tmp_path / ".venv" / "bin" / "isoplan"
    serve.write_text('#!/bin/sh\necho "served: $*"; sleep 0.5\n')
    serve.chmod(0o755)
    (tmp_path / ".venv" / "run.stamp").touch()
    done = make(tmp_path, "run", f"PYTHON={fake_python(tmp_path, 'exit 0')}", "ARGS=--no-browser")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()[-2:]) == ["Training: on a GPU", "served: app --no-browser"]


def test_continuous_integration_runs_both_parts() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    assert text.splitlines()[-2:] == ["make test", "exec make test-rest"]
    assert "ISOPLAN_STRICT" in text
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
