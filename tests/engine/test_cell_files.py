"""Files of planned cells: each is read or run by the tool that it is for."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from isoplan.engine.cell_files import PlannedCells, format_of, plain_value, write_cells
from isoplan.engine.errors import PlannerError
from tests.conftest import skip_or_fail

PYTHON = Path(__file__).parents[2] / ".venv/trackers/bin/python"
HOSTILE = """'; touch hacked; $(touch hacked) `touch hacked` "\\\n# : {é\U0001f600"""
ODD = PlannedCells(
    HOSTILE, ({HOSTILE: HOSTILE, "N": 1e20, "D": 0.5, "ok": True}, {HOSTILE: "-x", "N": 1e-5, "D": 3.0, "ok": False})
)
GRID = PlannedCells("g", tuple({"N": n, "lr": lr} for n in (1e6, 2e6) for lr in (1e-5, 3e-4)))
READ_SWEEP = """
import itertools, json, sys
from wandb.sdk.launch.sweeps.utils import create_sweep_command_args, load_sweep_config
config = load_sweep_config(sys.argv[1])
names = list(config["parameters"])
args = [create_sweep_command_args({"args": {k: {"value": v} for k, v in zip(names, values)}})["args_dict"]
        for values in itertools.product(*(config["parameters"][name]["values"] for name in names))]
print(json.dumps([config["name"], config["method"], config["program"], args]))
"""
READ_STUDY = """
import json, optuna, sys
study = optuna.load_study(study_name=sys.argv[2], storage=sys.argv[1])
fields = json.loads(sys.argv[3])
print(json.dumps([{name: trial.suggest_categorical(name, values) for name, values in fields.items()}
                  for trial in (study.ask() for _ in range(len(study.trials)))]))
"""


@pytest.fixture
def trackers() -> str:
    """Return the Python of the environment with W&B and Optuna."""
    if not PYTHON.exists():
        skip_or_fail("trackers", "there is no environment with the trackers: run make test-rest")
    return str(PYTHON)


def output(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, cwd=cwd, env={**os.environ, **(env or {})}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("planned", [GRID, ODD])
def test_wandb_reads_the_sweep_with_each_cell_once(trackers: str, tmp_path: Path, planned: PlannedCells) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text(write_cells(planned, "wandb"), encoding="utf-8")
    name, method, program, found = json.loads(output(trackers, "-c", READ_SWEEP, file, cwd=tmp_path))
    assert (name, method, program) == (planned.name, "grid", "train.py")
    cells = [json.loads(one["cell"]) for one in found] if planned is ODD else found
    assert cells == [dict(cell) for cell in planned.cells]


@pytest.mark.parametrize("planned", [GRID, ODD])
def test_optuna_asks_for_each_cell_once(trackers: str, tmp_path: Path, planned: PlannedCells) -> None:
    file, storage = tmp_path / "enqueue.py", f"sqlite:///{tmp_path / 'o.db'}"
    file.write_text(write_cells(planned, "optuna"), encoding="utf-8")
    for _ in range(2):
        output(trackers, "-P", file, storage, cwd=tmp_path)
    fields = {field: [plain_value(cell[field]) for cell in planned.cells] for field in planned.fields}
    distinct = json.dumps({field: list(dict.fromkeys(values)) for field, values in fields.items()})
    found = json.loads(output(trackers, "-P", "-c", READ_STUDY, storage, planned.name, distinct, cwd=tmp_path))
    assert found == [dict(cell) for cell in planned.cells]
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("planned", [GRID, ODD])
def test_each_task_of_the_slurm_array_gets_the_options_of_its_cell(tmp_path: Path, planned: PlannedCells) -> None:
    file, program = tmp_path / "array.sh", tmp_path / "train.py"
    file.write_text(write_cells(planned, "slurm"), encoding="utf-8")
    program.write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
    lines = file.read_text().splitlines()
    assert lines[2] == f"#SBATCH --array=0-{len(planned.cells) - 1}"
    assert lines[1].removeprefix("#SBATCH --job-name=").replace("-", "").isalnum()
    for i, cell in enumerate(planned.cells):
        env = {"SLURM_ARRAY_TASK_ID": str(i), "PROGRAM": f"python3 {program.name}"}
        shown = {field: plain_value(x) for field, x in cell.items()}
        assert json.loads(output("bash", file, cwd=tmp_path, env=env)) == [f"--{f}={x}" for f, x in shown.items()]
    assert not (tmp_path / "hacked").exists()
    done = subprocess.run(["bash", file], env={**os.environ, "SLURM_ARRAY_TASK_ID": "99"}, cwd=tmp_path, check=False)
    assert done.returncode == 2


def test_csv_has_one_row_for_each_cell_and_no_formula() -> None:
    cells = PlannedCells("c", ({"N": 1e6, "=x": "=HYPERLINK(1)"}, {"N": 0.5}))
    assert list(csv.reader(io.StringIO(write_cells(cells, "csv")))) == [
        ["N", "'=x"], ["1000000", "'=HYPERLINK(1)"], ["0.5", ""],
    ]  # fmt: skip


def test_the_format_follows_from_the_ending() -> None:
    files = {"a.yaml": "wandb", "a.YML": "wandb", "a.py": "optuna", "a.sbatch": "slurm", "a.csv": "csv"}
    assert {name: format_of(Path(name), "") for name in files} == files
    assert format_of(Path("a.txt"), "slurm") == "slurm"
    with pytest.raises(PlannerError, match=r"a\.txt: the ending names no format\. Use \.yaml"):
        format_of(Path("a.txt"), "")
    with pytest.raises(PlannerError, match=r"Option --as: 'ray' is unknown\. Use one of wandb, optuna, slurm, csv\."):
        format_of(Path("a.txt"), "ray")


def test_no_cell_and_infinite_values_are_refused() -> None:
    with pytest.raises(PlannerError, match="there is no cell to write"):
        write_cells(PlannedCells("c", ()), "csv")
    with pytest.raises(PlannerError, match="a value of 'N' is not finite"):
        write_cells(PlannedCells("c", ({"N": float("inf")},)), "optuna")
