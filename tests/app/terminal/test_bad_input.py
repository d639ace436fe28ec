"""For bad input, each command prints one sentence and ends with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.terminal.asking import LAW, MAP, Run, one_sentence


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("TABLE",), "Missing option '--law'"),
        (("TABLE", "--law", "hoffmann"), "Law 'hoffmann' is unknown: use one of chinchilla, power, isoflop"),
        (
            ("TABLE", "--law", "power"),
            "Law power needs an axis: choose N, D, C, U, epochs or a hyperparameter",
        ),
        (("TABLE", *LAW, "--axis", "N"), "Law chinchilla takes no axis"),
        (("TABLE", *LAW, "--map", "N=nope"), "Column 'nope' for N is not in the table"),
        (("TABLE", *LAW, "--map", "Q=size"), "--map: there is no role 'Q'"),
        (("TABLE", *LAW, "--map", "size"), "--map cannot read 'size': write ROLE=COLUMN"),
        (("TABLE", *LAW, "--map", 'N="size'), "--map has an open quote"),
        (("TABLE", *LAW, *MAP, "--fix", "E"), "--fix cannot read 'E': write NAME=VALUE"),
        (("TABLE", *LAW, *MAP, "--fix", "E=low"), "The value of E in --fix 'low' cannot be read"),
        (("TABLE", *LAW, *MAP, "--fix", "Z=1"), "chinchilla has no parameter 'Z'"),
        (("TABLE", *LAW, *MAP, "--prior", "E=1"), "--prior cannot read 'E=1': write NAME=MEAN+-SD"),
        (("TABLE", *LAW, *MAP, "--prior", "E=1+-low"), "The standard deviation of E in --prior 'low' cannot be read"),
        (("TABLE", *LAW, *MAP, "--prior", "E=1+-2,E=3+-4"), "--prior names E twice: keep one"),
        (("TABLE", *LAW, *MAP, "--prior", "E=1+-0"), "The prior of E has the standard deviation 0"),
        (("TABLE", *LAW, *MAP, "--prior", "Z=1+-2"), "chinchilla has no parameter 'Z'"),
        (("TABLE", *LAW, *MAP, "--share", "beta"), "A fit of groups needs groups: map a column to the role group"),
        (("TABLE", *LAW, *MAP, "--share", "Z", "--group", "step"), "chinchilla has no parameter 'Z'"),
        (("TABLE", *LAW, *MAP, "--group", "nope"), "Column 'nope' for group is not in the table"),
        (("TABLE", *LAW, "--map", "weight=size", "--weight", "acc"), "--map and --weight both name the weight"),
        (("TABLE", *LAW, *MAP, "--weight", "nope"), "Column 'nope' for weight is not in the table"),
        (("TABLE", *LAW, *MAP, "--relative-error", "nope"), "Column 'nope' for hyperparameter is not in the table"),
        (("TABLE", *LAW, *MAP, "--relative-error", "-0.1"), "The relative error is -0.1: give a number above zero"),
        (("TABLE", *LAW, *MAP, "--skew", "0"), "Option --skew: 0.0 is not possible"),
        (("TABLE", *LAW, "--bootstrap", "-5"), "Option --bootstrap: -5 is not possible"),
        (("TABLE", *LAW, "--bootstrap", "many"), "Invalid value for '--bootstrap'"),
        (("TABLE", *LAW, "--delta", "0"), "Option --delta: 0.0 is not possible"),
        (("TABLE", *LAW, "--objective", "mse"), "Invalid value for '--objective'"),
        (("TABLE", *LAW, "--seed", "-1"), "Option --seed: -1 is not possible"),
        (("TABLE", *LAW, "--seed", "9" * 23), "Option --seed: 9999"),
        (("TABLE", *LAW, "--rule", "6*N*"), "The formula '6*N*' cannot be read"),
        (("TABLE", *LAW, "--rule", "6ND", "--n-p", "40"), "Option --n-p: the rule 6ND does not use it"),
        (("TABLE", *LAW, "--where", "1; DROP TABLE x"), "more than one statement"),
        (("TABLE", *LAW, "--metric", "nope"), "Column 'nope' for metric is not in the table"),
        (("TABLE", *LAW, "--unknown"), "No such option: --unknown"),
        (("nowhere.csv", *LAW), "There is no file nowhere.csv"),
        (("FOLDER", *LAW), "is a folder: name a table file"),
    ],
)
def test_a_bad_fit_is_one_sentence(run: Run, table: Path, arguments: tuple[str, ...], why: str) -> None:
    places = {"TABLE": str(table), "FOLDER": str(table.parent)}
    one_sentence(run("fit", *(places.get(a, a) for a in arguments)), why)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("FIT",), "give either --budget or --target-loss"),
        (("FIT", "--budget", "1e20", "--target-loss", "2"), "give either --budget or --target-loss"),
        (("FIT", "--budget", "0"), "The budget of 0 FLOPs is not positive"),
        (("FIT", "--budget", "-1e20"), "The budget of -1e+20 FLOPs is not positive"),
        (("FIT", "--budget", "lots"), "The option --budget 'lots' cannot be read as a number"),
        (("FIT", "--budget", "5 PFLOP/s"), "is a rate, not an amount"),
        (("FIT", "--target-loss", "nan"), "The option --target-loss 'nan' cannot be read"),
        (("FIT", "--target-loss", "1.0"), "A target loss of 1 is out of reach: no resample of this fit reaches it"),
        (("FIT", "--budget", "1e20", "--max-hours", "3 EUR"), "The option --max-hours '3 EUR' is in EUR, not in hours"),
        (("FIT", "--budget", "1e20", "--max-memory", "24 h"), "The option --max-memory '24 h' is in hours, not in GB"),
        (
            ("FIT", "--budget", "1e20", "--device", "H100", "--hour-price", "3 EUR", "--currency", "USD"),
            "The option --hour-price '3 EUR' is in EUR, not in USD: write it like 2.5 or 2.5 USD.",
        ),
        (("FIT", "--budget", "1,000"), "The option --budget '1,000' may mean 1000 or 1: write it without the comma."),
        (("nowhere.json", "--budget", "1e20"), "There is no file nowhere.json"),
        (("FOLDER", "--budget", "1e20"), "is a folder. Name the file"),
        (("TABLE", "--budget", "1e20"), "is not JSON"),
        (("LIST", "--budget", "1e20"), "contains no JSON object"),
        (("OTHER", "--budget", "1e20"), "This is not a fit that Isoplan wrote"),
        (("BINARY", "--budget", "1e20"), "is not JSON"),
        (("DEEP", "--budget", "1e20"), "is not JSON"),
    ],
)
def test_a_bad_plan_is_one_sentence(
    run: Run, table: Path, fitted: Path, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    places = {"FIT": fitted, "TABLE": table, "FOLDER": tmp_path}
    for name, content in (("LIST", b"[1]"), ("OTHER", b"{}"), ("BINARY", bytes(range(256))), ("DEEP", b"[" * 100_000)):
        places[name] = tmp_path / f"{name}.json"
        places[name].write_bytes(content)
    one_sentence(run("plan", *(places.get(a, a) for a in arguments)), why)


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("schema",), 7, "The fit has schema 7, but this version of Isoplan reads schema 1"),
        (("law",), "hoffmann", "Law 'hoffmann' is unknown"),
        (("parameters", "E"), None, "parameters.E"),
        (("parameters", "E", "value"), "low", "parameters.E.value"),
        (("parameters", "E", "value"), float("nan"), "parameters.E.value"),
        (("parameters",), {}, "has no value for E, A, B, alpha, beta"),
        (("resamples", 3), [1.0, 2.0], "Row 3 of 'resamples' has 2 numbers: it needs 5"),
        (("resamples", 3, 0), None, "resamples.3.0"),
        (("data", "ranges", "N"), [1.0], "data.ranges.N"),
        (("data", "roles", "D"), None, "data.roles.D"),
        (("compute", "rule"), "7ND", "Compute rule '7ND' is unknown"),
        (("warnings",), ["careful"], "warnings.0"),
        (("spec", "objective"), "mse", "objective"),
    ],
)
def test_a_fit_that_was_edited_by_hand_is_one_sentence(
    run: Run, fitted: Path, tmp_path: Path, place: tuple[str | int, ...], value: object, why: str
) -> None:
    card: Any = json.loads(fitted.read_text())
    inner = card
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(card))
    one_sentence(run("plan", path, "--budget", "1e20"), why)
