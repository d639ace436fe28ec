"""Fields, arguments and environment variables of a training program.

Special characters reach the program unchanged. The program sees only a few environment variables.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.reliability.commands import REFUSED, SECRETS, VALUES, as_argument, as_field, once, variables, workspace
from isoplan.engine.errors import PlannerError
from isoplan.trainers.command.process import environment_of
from isoplan.trainers.families import families

OWN = str(Path(__file__).parents[3])
THREADS = {f"{name}_NUM_THREADS": "3" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace whose programs print their input.

    There is one program for each value that is passed as an argument.
    """
    arguments = {f"argument-{k}": value for k, value in enumerate(VALUES)}
    return workspace(tmp_path_factory.mktemp("escapes") / "space", arguments)


@pytest.mark.parametrize("value", [*VALUES, REFUSED[0]], ids=lambda value: ascii(value)[:30])
def test_a_value_of_a_field_arrives_and_nothing_of_it_runs(root: Path, value: str) -> None:
    assert as_field(root, value) == "arrived"


@pytest.mark.parametrize("k", range(len(VALUES)))
def test_an_argument_of_a_command_stays_one_argument(root: Path, k: int) -> None:
    python = f"failed: The program '{sys.executable}' cannot be started: Argument list too long."
    assert as_argument(root, f"argument-{k}", VALUES[k]) == (python if len(VALUES[k]) > 100_000 else "arrived")


def test_what_is_no_text_is_refused(root: Path) -> None:
    sentence = r"^The field text of the family echo cannot be '\\ud800': .* an invalid character: type it again"
    with pytest.raises(PlannerError, match=sentence):
        once(root, "echo", REFUSED[1])


def test_an_argument_that_no_program_can_get_is_one_sentence(tmp_path: Path) -> None:
    record, _ = once(workspace(tmp_path, {"nul": REFUSED[0]}), "nul", "")
    assert record.result["why"] == (  # type: ignore[index]
        f"The program '{sys.executable}' cannot be started: embedded null byte. Correct programs.toml."
    )


def test_keys_of_the_server_stay_with_it_but_for_those_that_are_named(tmp_path: Path) -> None:
    root = workspace(tmp_path, {}, 'environment = ["WANDB_API_KEY", "NOT_SET"]')
    with variables(**SECRETS, LC_ALL="C.UTF-8", SLURM_JOB_ID="7"):
        seen = once(root, "echo", "")[1]["environment"]
    assert {name: seen[name] for name in (*SECRETS, "NOT_SET") if name in seen} == {"WANDB_API_KEY": "k1"}
    assert (seen["LC_ALL"], seen["SLURM_JOB_ID"]) == ("C.UTF-8", "7")


@pytest.mark.parametrize(
    ("command", "source", "found"),
    [
        ("sh", {"PATH": "/bin", "SECRET": "x", "PYTHONSAFEPATH": "1"}, {"PATH": "/bin"}),
        ("sh", {"OMP_NUM_THREADS": "99", "OMP_PLACES": "cores"}, {"OMP_PLACES": "cores"}),
        ("sh", {"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "1"}),
        ("sh", {"NAMED": "x"}, {"NAMED": "x"}),
        ("python3", {"PYTHONPATH": f"{OWN}:/theirs"}, {"PYTHONPATH": "/theirs"}),
        ("python3", {"PYTHONPATH": OWN}, {}),
        (sys.executable, {"PYTHONPATH": f"{OWN}:/theirs"}, {"PYTHONPATH": f"/theirs:{OWN}"}),
    ],
)
def test_the_environment_of_a_program(command: str, source: dict[str, str], found: dict[str, str]) -> None:
    given = {"CUDA_VISIBLE_DEVICES": "1"} if "CUDA_VISIBLE_DEVICES" in source else {}
    expected = {**THREADS, "PYTHONUNBUFFERED": "1", **found}
    assert environment_of([command], ["NAMED"], 3, given, source) == expected


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"echo.environment is wrong: .*'KEY=1' is not a name of a variable"):
        families(workspace(tmp_path, {}, 'environment = ["KEY=1"]'))


def test_a_program_finds_modules_beside_itself(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import data\nprint('{\"loss\": %s}' % data.LOSS)\n")
    (tmp_path / "data.py").write_text("LOSS = 2.5\n")
    root = workspace(tmp_path / "space", {})
    (root / "programs.toml").write_text(
        f'[own]\ncommand = ["{{python}}", "{program}"]\n[own.fields.text]\nkind = "text"\ndefault = ""\n'
    )
    with variables(PYTHONSAFEPATH="1", PYTHONPATH=OWN):
        record, _ = once(root, "own", "")
    assert record.result["metrics"] == {"loss": 2.5}  # type: ignore[index]
