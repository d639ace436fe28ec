"""The two parts of the test suite: ``make test``, run before each commit, and ``make test-rest``, which takes longer.

The options ``--part first`` and ``--part rest`` select a part. Without an option, all tests run. ``REST`` lists
folders, files and test functions below ``tests`` that are in the second part. ``FIRST`` lists exceptions from ``REST``.
All other tests are in the first part.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal

Part = Literal["all", "first", "rest"]

# fmt: off
REST: tuple[str, ...] = (
    # Tests of whole programs: browsers, servers, installed packages, batch systems, and killed child processes.
    "browser", "test_docker_commands.py", "test_other_processor.py", "test_parts.py::test_each_test_is_in_one_part",
    "test_wheel.py", "app/test_backups.py", "app/test_moments.py", "app/test_pdf.py", "app/test_places.py",
    "app/test_server.py", "app/test_training.py", "app/test_workspace.py",
    "app/terminal/test_backup.py", "app/terminal/test_backup_failures.py",
    "app/terminal/test_readme.py", "app/terminal/test_simulate.py", "app/terminal/test_streams.py",
    "app/autopilot/test_command.py::test_it_trains_rounds_until_it_stops_and_continues_from_its_files",
    "app/autopilot/test_kills.py::test_a_real_process_is_killed_three_times",
    "app/terminal/test_train.py", "app/terminal/test_tutorial.py", "engine/fitting/kernels/test_cache.py",
    "engine/fitting/kernels/test_seeds.py",
    # Stores that experiment trackers write, and files that they read.
    "engine/test_cell_files.py::test_optuna_asks_for_each_cell_once",
    "engine/test_cell_files.py::test_wandb_reads_the_sweep_with_each_cell_once",
    "engine/trackers",
    "engine/store/test_cells.py", "engine/store/test_wal.py", "trainers/backend", "trainers/command/test_process.py",
    # Tests that train or simulate.
    "trainers/behavior/test_baselines.py", "trainers/behavior/test_judge.py", "trainers/behavior/test_rates.py",
    "trainers/behavior/test_training.py", "trainers/jets/simulate/test_chain.py", "trainers/jets/test_evaluate.py",
    "trainers/jets/test_model.py", "trainers/jets/test_read.py", "trainers/jets/test_training.py",
    "trainers/test_pytorch.py",
    # Tests of every bundled table and every published figure.
    "app/test_evidence.py", "data/test_amplitudes_laws.py", "data/test_behavior_laws.py", "data/test_directions.py",
    "data/test_grids.py", "data/test_jets_laws.py", "data/test_possible.py", "data/test_trained.py",
    # Tests that simulate many tables, and tests of pages with many runs.
    "app/terminal/test_compare.py::test_the_questions_of_a_fit_are_asked_and_each_answer_acts",
    "app/views/test_actual.py", "app/views/test_data.py::test_a_wide_table_stays_usable",
    "app/views/test_recommender.py::test_the_page_opens_with_the_recipe_that_python_gives",
    "engine/fitting/test_nonlinear.py::test_larger_is_better_is_the_mirror_image_of_a_loss",
    "engine/fitting/test_nonlinear.py::test_laws_that_are_formulas_recover_their_truth",
    "engine/fitting/test_nonlinear.py::test_order_and_unit_leave_repeated_data_and_two_breaks_alone",
    "engine/fitting/test_optimum_location.py::test_the_right_verdict_comes_for_simulated_sweeps",
    "engine/planning/export/test_documents.py::test_the_python_of_an_answer_makes_the_same_numbers",
    "engine/planning/repeat/test_one_floor.py",
    "engine/planning/test_least_money.py::test_a_looser_limit_is_never_a_dearer_plan",
    "engine/planning/test_simulated.py::test_a_looser_limit_is_never_dearer_nor_worse",
    "engine/planning/test_simulated.py::test_every_resample_simulates_its_own_number",
    "engine/store/test_strange_files.py",
)
FIRST: tuple[str, ...] = (
    "browser/test_whole_way.py", "trainers/backend/test_earlier.py", "trainers/backend/test_estimate.py",
    "trainers/backend/test_attempt.py", "trainers/backend/test_events.py", "trainers/backend/test_heap.py",
    "trainers/backend/test_local.py", "trainers/backend/test_polls.py", "trainers/backend/test_settings.py",
    "trainers/backend/test_sweep.py", "trainers/backend/test_workers.py",
    "engine/trackers/test_archives.py", "engine/trackers/test_mlflow_damage.py",
    "engine/trackers/test_optuna_damage.py", "engine/trackers/test_reading.py",
    "engine/trackers/test_tensorboard_damage.py",
)
# fmt: on


def in_rest(file: Path | PurePosixPath, test: str = "") -> bool:
    """Return whether a file below ``tests``, or one of its test functions, is in the part ``rest``."""
    names = {*map(str, (file, *file.parents)), f"{file}::{test.partition('[')[0]}"}
    return not names.isdisjoint(REST) and names.isdisjoint(FIRST)


def ignored(file: Path | PurePosixPath, part: Part) -> bool:
    """Return whether ``file`` has no test in ``part``. Such a file is not imported."""
    if part == "rest":
        return not in_rest(file) and not any(name.startswith(f"{file}::") for name in REST)
    return part == "first" and in_rest(file) and not any(name.startswith(f"{file}::") for name in FIRST)


def selected(file: Path | PurePosixPath, test: str, part: Part) -> bool:
    """Return whether ``test`` of ``file`` is in ``part``."""
    return part == "all" or in_rest(file, test) == (part == "rest")
