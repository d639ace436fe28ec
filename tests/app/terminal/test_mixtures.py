"""For a table with several datasets, a command prints a warning that names the options, and each option works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.fitting.mixtures import DATASETS, three_datasets

POOLED = "One law is fitted to all runs"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixtures") / "three.csv"
    path.write_text(three_datasets().replace("config.dataset", "dataset"))
    return path


def test_the_warning_names_options_and_each_of_them_acts(run: Run, three: Path) -> None:
    ask = ("fit", three, "--law", "chinchilla", "--bootstrap", 0)
    answer = run(*ask)
    assert POOLED in answer.out
    assert "--group dataset --each, --where \"dataset = 'nemotron'\" or --pool dataset" in answer.out
    assert "88 runs of" in run(*ask, "--where", "dataset = 'nemotron'").out
    for options in (("--pool", "dataset"), ("--where", "dataset = 'comma'"), ("--group", "dataset", "--each")):
        assert POOLED not in run(*ask, *options).out
    for name, (n, _) in DATASETS.items():
        assert (
            f"{name}: Loss over size and data (Chinchilla): {n} runs" in run(*ask, "--group", "dataset", "--each").out
        )


def test_a_plan_is_made_with_the_law_of_one_group(run: Run, three: Path, tmp_path: Path) -> None:
    made = run("fit", three, "--law", "chinchilla", "--bootstrap", 40, "--group", "dataset", "--each", "--json")
    card = tmp_path / "fit.json"
    card.write_text(made.out)
    assert set(object_in(made.out)["groups"]) == set(DATASETS)
    floors = [
        object_in(run("plan", card, "--target-loss", 2.9, "--group", name, "--json").out)["allocation"]["C"]["value"]
        for name in DATASETS
    ]
    assert floors == sorted(floors)
    one_sentence(run("plan", card, "--target-loss", 2.9), "choose one of comma, dclm, nemotron")


def test_copies_count_once_where_that_is_asked_for(run: Run, three: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied.csv"
    text = three.read_text()
    copied.write_text(text + "\n".join(text.splitlines()[1:11]) + "\n")
    ask = ("fit", copied, "--law", "chinchilla", "--bootstrap", 0, "--pool", "dataset")
    assert "(--repeats once in the terminal)" in run(*ask).err
    once = run(*ask, "--repeats", "once")
    assert "10 rows that repeat another row exactly were left out." in once.err
    assert "258 runs of" in once.out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--each",), "Option --each fits one law for each value of a column: add --group COLUMN."),
        (("--each", "--group", "dataset", "--share", "E"), "Option --each cannot be used with --share"),
        (("--pool", "nowhere"), "Column 'nowhere' with values to fit as one law is not in the table"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(run: Run, three: Path, options: tuple[str, ...], why: str) -> None:
    one_sentence(run("fit", three, "--law", "chinchilla", *options), why)
