"""The documentation ``docs/json.md`` contains every key that a command prints as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isoplan.engine.fitting import to_json
from tests.app.terminal.asking import Run, object_in
from tests.engine.planning.next_values.test_next_values import swept

ROOT = Path(__file__).parents[3]
SWEEP = ROOT / "data" / "demo" / "recommender_isoflop.csv"
CARDS = ROOT / "data" / "cards"
REPEAT = (CARDS / "jets_table1.json", CARDS / "jets_table2_21x128.json", "--target-loss", 0.5, "--kappa", 10)
PRICES = ("--device", "H100", "--hour-price", 3)
ASKED: dict[str, tuple[object, ...]] = {
    "plan": ("FIT", "--budget", 1e21, "--max-unique", 1e13, "--second-rule", "6*N*D + 1e9*D", *PRICES),
    "smaller": ("FIT", "--budget", 1e21, "--queries", 1e9),
    "next": ("FIT", "--budget", 1e21, "--max-cells", 3),
    "next-values": ("SWEEP", "--max-cells", 2),
    "columns": (SWEEP,),
    "agreement": (SWEEP,),
    "compare": (SWEEP,),
    "repeat": (*REPEAT, "--flop-price", 1e-18, "--sample-price", 1e-4),
    "recipe": ("--budget", 1e17, "--metric", "recall@10"),
    "amplitude": ("--particles", 4, "--target-mse", 1e-5, "--anchor", "D=1e4,loss=1e-3,N=1e5,epochs=1e3,doubled=0.03"),
}


def keys(raw: dict[str, Any], of_plan: bool) -> set[str]:
    """Return the keys of a JSON object and of its columns. For a plan, also return the keys of its nested objects."""
    found = set(raw) | set(raw.get("columns", [{}])[0])
    if of_plan:
        found |= set(raw["allocation"]["N"]) | set(raw["worth"][0]) | set(raw["bill"][0]) | set(raw["restated"])
        found |= {"unreachable"}
    return found


@pytest.mark.parametrize("command", ASKED)
def test_every_key_is_documented(run: Run, fitted: Path, command: str, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps(to_json(swept(0.1))))
    files = {"FIT": fitted, "SWEEP": sweep}
    answer = run(command, *(files.get(x, x) if isinstance(x, str) else x for x in ASKED[command]), "--json")
    assert answer.code == 0, answer.err
    named = set(re.findall(r"`([^`]+)`", (ROOT / "docs" / "json.md").read_text()))
    assert keys(object_in(answer.out), command == "plan") <= named
