"""Answers of terminal commands, compared digit by digit, to show that a change of the code changes no number.

    python -m benchmarks.digits write FOLDER --command CHECKOUT/.venv/bin/isoplan --root CHECKOUT
    python -m benchmarks.digits compare BEFORE AFTER [--numbers]

``write`` runs a fixed list of commands and stores each answer as FOLDER/NAME.json. It does not import the package, so
it works for every checkout. ``compare`` prints each value that differs. The last digits depend on the processor.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JOBS, FAMILIES = 2, ("jets", "behavior", "amplitudes", "teacher-student")
REFITS, MACHINE = "--bootstrap 40", "--device CPU --utilisation 1% --hour-price 3"
MEASURED = {"seconds", "hours", "longest", "basis", "disk", "version"}
"""Keys in the answers of ``train`` and ``cells`` that are not compared: measured values and the installed version."""
PLANNED = {"chinchilla", "kaplan", "data-constrained", "isoflop", "envelope", "power"}
"""Laws that can be used to plan for a budget or for a target loss."""
TABLES = r"""
data/demo/jets_grid.csv --rule 6npND --n-p 40 | chinchilla | kaplan | isoflop | power --axis C
data/demo/jets_repetition.csv --map D=unique_jets | power --axis D | repetition --axis D --group inputs --each
data/demo/recommender_isoflop.csv | isoflop | chinchilla | envelope | power --axis C
data/grids/jets_one_pass.csv --rule 6npND --n-p 42 | chinchilla | kaplan | power --axis D
| envelope --curves data/grids/jets_curves.csv | chinchilla --objective lad --bootstrap 4
| chinchilla --fix E=0.3 --prior beta=0.2+-0.1 --card values | chinchilla --interval percentile --card covariance
| metric-map --axis loss --metric R_top:max | formula --formula 'E + A/N^alpha + B/D^beta'
data/grids/jets_repeated.csv | chinchilla | repetition --axis U --where 'N > 3000' | threshold --y overfits:min
data/grids/jets_inputs.csv | repetition --axis U | repetition --axis U --group inputs --each
data/grids/jets_rejection.csv | power --axis D | metric-map --axis loss --y R_top:max --relative-error R_top_error
data/grids/jets_rates.csv --where 'width=16 and D=30000' | log-parabola --axis rate_used | starvation --axis rate_used
data/grids/jets_paper_rate.csv | power --axis D | chinchilla
data/grids/teacher_student.csv | chinchilla | kaplan | power --axis C
data/grids/teacher_student_seconds.csv | formula --formula 'a + b*N*D' --metric seconds:min
data/grids/amplitudes_data.csv | dimension-bound --axis D --where "process = 'Zgg'"
| power --axis D --group process --each | power --axis D --group process --share K
data/grids/amplitudes_data_raw.csv | power --axis D --interval profile | broken --axis D
data/grids/amplitudes_pulls.csv | power --axis D --group process --share K
data/grids/amplitudes_dimension.csv | power --axis D --group process --share K
data/grids/amplitudes_rates_*.csv | log-parabola --axis rate_used
data/grids/**/behavior_allocation.csv | isoflop | chinchilla | power --axis C | envelope
data/grids/**/behavior_share.csv --where 'budget = 1e11' | log-parabola --axis s | starvation --axis s
data/grids/**/*_negatives.csv --where 'budget > 2e11' | log-parabola --axis negatives --y NDCG@10:max --objective ols
data/grids/behavior_batch.csv | critical-batch --axis batch --curves data/grids/behavior_curves.csv
data/grids/games/behavior_batch.csv | critical-batch --axis batch --curves data/grids/games/behavior_curves.csv
data/papers/behavior/table03_updates*.csv | critical-batch --axis batch_size --y updates:min --group metric --each
data/papers/behavior/table04*.csv --map C=budget_flops,loss=val_loss | power --axis C | chinchilla
data/papers/behavior/table13*.csv --map C=budget_flops,loss=L_star | power --axis C | chinchilla
../shared/runs/chinchilla_epoch.csv --where 'epoch_kept_240 = 1' | chinchilla
../shared/runs/llama3_isoflop.csv --where "condition = 'raw_loss'" --pool outlier | isoflop | chinchilla --objective ols
../shared/runs/scalebench_data_constrained.csv --where "split = 'train'" | data-constrained
../shared/runs/scalebench_farseer.csv --where "split = 'train'" | chinchilla
../shared/runs/teacher_student_sweep.csv | chinchilla
"""
"""Lines 'TABLE OPTIONS | LAW OPTIONS | ...': a run table with its options, then each law to fit with its options.

The options of a table are passed to ``fit`` and ``compare``. Tables in ``../shared`` are skipped if they are absent.
"""
FIRST = r"""
laws: laws
agreement-papers: agreement
agreement-isoflop: agreement data/demo/recommender_isoflop.csv --by budget
agreement-negatives: agreement data/grids/games/behavior_negatives.csv
amplitude: amplitude --particles 5 --target-error 3% --sigma 1.5 --anchor D=1e4,loss=2e-3,N=1e5,epochs=1e3,doubled=3%
amplitude-anchors: amplitude --particles 3 --target-mse 1e-6 --anchor D=3e3,loss=9e-4 --anchor D=3e4,loss=4e-5,doubled=0
amplitude-process: amplitude --particles 3 --target-mse 1e-5 --process Zgg
amplitude-trained: amplitude --particles 3 --target-error 2% --trained Zgg
recipe: recipe --budget 1e18 --metric recall@10 --device H100 --devices 8 --width 188 {refits}
recipe-runs: recipe --budget 1e12 --metric val_loss --runs data/grids/behavior_allocation.csv {refits}
recipe-share: recipe --budget 1e12 --metric recall@10 --share data/grids/behavior_share.csv {refits}
recipe-negatives: recipe --budget 3e11 --metric recall@10 --negatives data/grids/games/behavior_negatives.csv {refits}
train-jets: {jets} --set data=toy --set width=8 --set jets=500 --set epochs=1 --set validation=100
train-behavior: {behavior} --set stage=1,2 --set negatives=9 --set width=8 --set share=0.1 --set steps=20 --set users=99
train-amplitudes: {amplitudes} --set points=200 --set iterations=200 --set tests=500 --set dimension_points=100
train-teacher-student: {teacher-student} --set width=8 --set samples=16384
estimate-jets: train data/grids/jets_one_pass.toml --workspace {work}/estimate-jets --dry-run
estimate-behavior: train data/grids/behavior_negatives.toml --workspace {work}/estimate-behavior --dry-run
"""
"""Commands that do not depend on answers of other commands.

A line contains a name and the arguments of ``isoplan``, with placeholders that ``Place`` replaces.
"""
LAST = r"""
plan-metric: plan {one} --target-metric R_top=400 --metric-map {map}
plan-limits: plan {one} --budget 1e13 --max-unique 2e5 --max-hours 100 {machine}
plan-rule: plan {one} --budget 1e13 --second-rule 6ND --sample-price 1e-3 --queries 1e9 --query-tokens 40 {machine}
plan-latex: plan {one} --budget 1e13 --format latex
smaller-queries: smaller {one} --budget 1e13 --queries 1e9 --query-tokens 40
repeat: repeat {one} {repeated} --target-loss 0.7 --sample-price 1e-3 --kappa 10 {machine}
plans: plans {budget} {target} --fit {one} {machine}
actual: actual {budget} --fit {one} --loss 0.7
"""
"""Commands that read answers of other commands, in the format of ``FIRST``."""


@dataclass(frozen=True)
class Place:
    """Paths of a comparison.

    ``command`` is the executable, ``root`` the checkout with the bundled data, and ``work`` the folder for raw answers.
    """

    command: Path
    root: Path
    work: Path

    def words(self, text: str) -> list[str]:
        """Return the words of a command, with the placeholders replaced by paths."""
        table, repeated = "grids-jets_one_pass", "grids-jets_repeated-repetition-axis-U-where-N-3000"
        files = {"one": f"{table}-chinchilla", "map": f"{table}-metric-map-axis-loss-metric-R_top-max"}
        files |= {"budget": f"budget-{files['one']}", "target": f"target-{files['one']}", "repeated": repeated}
        cells = {x: f"train {x}/example --workspace {self.work}/{x} --name digits --seed 1" for x in FAMILIES}
        values = {k: f"{self.work}/{v}.json" for k, v in files.items()} | cells | {"work": str(self.work)}
        return shlex.split(text.format_map(values | {"refits": REFITS, "machine": MACHINE}))

    def hidden(self, text: str) -> str:
        """Return ``text`` with the names WORK and ROOT instead of the folders, which differ between two checkouts."""
        return text.replace(str(self.work), "WORK").replace(str(self.root), "ROOT")


def listed(text: str) -> dict[str, str]:
    """Return the words of each command in ``text`` (``FIRST`` or ``LAST``), by the name of the command."""
    return dict(line.split(": ", 1) for line in text.strip().splitlines())


def table_commands(root: Path) -> dict[str, str]:
    """Return the commands for the tables of ``TABLES`` in ``root``, by name: ``fit`` for each law, and ``compare``.

    ``compare`` is used only for tables with N, D or C.
    """
    commands = {}
    for line in TABLES.strip().replace("\n|", " |").splitlines():
        shared, *laws = line.split(" | ")
        pattern, _, options = shared.partition(" ")
        for file in sorted(glob.glob(pattern, root_dir=root, recursive=True)):
            name = slug(file.removeprefix("data/").removeprefix("../").removesuffix(".csv"))
            if laws[0].split()[0] in PLANNED - {"data-constrained"}:
                commands[f"compare-{name}"] = f"compare {file} {options}"
            commands |= {f"{name}-{slug(law)}": f"fit {file} {options} {REFITS} --law {law}" for law in laws}
    return commands


def slug(text: str) -> str:
    """Return ``text`` with all special characters replaced by '-', as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def plan_commands(work: Path, fits: Iterable[str]) -> dict[str, str]:
    """Return the commands that use fits, by name: ``plan`` for a budget, ``plan`` for a target loss, and ``smaller``.

    A fit is skipped if its law does not support plans.
    """
    commands = {}
    for name in fits:
        file = work / f"{name}.json"
        fit = json.loads(file.read_text()) if file.exists() else {}
        if fit.get("law") in PLANNED and "groups" not in fit:
            ranges = fit["data"]["ranges"]
            budget = f"--budget {3 * ranges['C'][1]:.6g}" if "C" in ranges else "--budget 1e12"
            commands[f"budget-{name}"] = f"plan {file} {budget}"
            commands[f"target-{name}"] = f"plan {file} --target-loss {1.02 * ranges['loss'][0]:.6g}"
            commands |= {f"smaller-{name}": f"smaller {file} {budget}"} if fit["law"] == "chinchilla" else {}
    return commands


def answer(place: Place, name: str, text: str) -> dict[str, Any]:
    """Run one command and return its words, its exit status, its answer, and the last line of an error.

    The raw answer is also written to the folder ``work``, because other commands read it.
    """
    words = place.words(text)
    words += [] if "--format" in words else ["--json"]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"XDG_DATA_HOME": str(place.work)}
    run = subprocess.run([place.command, *words], cwd=place.root, env=env, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        (place.work / f"{name}.json").write_text(run.stdout)
    out, error = place.hidden(run.stdout), place.hidden(run.stderr).strip().splitlines()[-1:]
    out = out if out.startswith("{") else json.dumps(out.splitlines())
    measured = MEASURED if words[0] in {"train", "cells"} else set()
    body = json.loads(out, object_pairs_hook=lambda pairs: {k: v for k, v in pairs if k not in measured})
    reason = "".join(error) if run.returncode else ""
    return {"words": place.hidden(text), "exit": run.returncode, "error": reason, "answer": body}


def write(folder: Path, place: Place) -> str:
    """Run all commands, write each answer to ``folder``, and return a summary as text."""
    begin, exits = time.monotonic(), list[int]()

    def keep(command: tuple[str, str]) -> None:
        start, record = time.monotonic(), answer(place, *command)
        exits.append(record["exit"])
        (folder / f"{command[0]}.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{time.monotonic() - start:6.1f} s  {command[0]}  {record['error']}", flush=True)

    tables = table_commands(place.root)
    cells = {f"cells-{name}": f"cells list digits --workspace {place.work}/{name}" for name in FAMILIES}
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(keep, (listed(FIRST) | tables).items()))
        list(pool.map(keep, (plan_commands(place.work, tables) | cells).items()))
        list(pool.map(keep, listed(LAST).items()))
    return f"{len(exits)} answers, {sum(map(bool, exits))} of them errors, {time.monotonic() - begin:.0f} s"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each leaf of a JSON value.

    A leaf is a number, a text, a truth value, null, or an empty list or object.
    """
    if isinstance(value, dict | list) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, f"{path}.{key}" if isinstance(value, dict) else f"{path}[{key}]")
    else:
        yield path, value


def compare(before: Path, after: Path, texts: bool = True) -> tuple[list[str], str]:
    """Return one line for each value that differs between the two folders, and a summary as text.

    If ``texts`` is false, differences between two texts are not reported.
    """
    lines, numbers = list[str](), 0
    files = sorted({file.name for folder in (before, after) for file in folder.glob("*.json")})
    for name in files:
        if alone := [folder for folder in (before, after) if not (folder / name).exists()]:
            lines.append(f"{name}: absent in {alone[0]}")
            continue
        old, new = (dict(leaves(json.loads((folder / name).read_text()))) for folder in (before, after))
        for path in old | new:
            pair = (old.get(path, "(absent)"), new.get(path, "(absent)"))
            numbers += all(type(value) in {int, float} for value in pair)
            if repr(pair[0]) != repr(pair[1]) and (texts or not all(isinstance(value, str) for value in pair)):
                lines.append(f"{name}: {path[1:]}: {pair[0]!r} -> {pair[1]!r}")
    return lines, f"{len(files)} files, {numbers:,} numbers compared, {len(lines)} differences"


def main() -> None:
    """Write the answers of one checkout, or compare the answers of two checkouts. Exit with status 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digits")
    actions = parser.add_subparsers(dest="action", required=True)
    writer, other = actions.add_parser("write"), actions.add_parser("compare")
    writer.add_argument("folder", type=Path, help="folder of the answers, empty or new")
    writer.add_argument("--command", type=Path, required=True, help="executable of the checkout")
    writer.add_argument("--root", type=Path, default=Path(), help="the checkout, whose data/ is read")
    other.add_argument("folders", type=Path, nargs=2, help="answers before and after")
    other.add_argument("--numbers", action="store_true", help="ignore texts")
    given = parser.parse_args()
    if given.action == "compare":
        lines, summary = compare(given.folders[0], given.folders[1], texts=not given.numbers)
        print(*lines, summary, sep="\n")
        sys.exit(bool(lines))
    given.folder.mkdir(parents=True, exist_ok=True)
    if any(given.folder.iterdir()):
        parser.error(f"{given.folder}: the folder is not empty. Choose another one.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        print(write(given.folder, Place(given.command.absolute(), given.root.resolve(), Path(work))))


if __name__ == "__main__":
    main()
