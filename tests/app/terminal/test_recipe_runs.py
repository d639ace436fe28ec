"""``isoplan recipe --runs``: one table with several sweeps; ``--share`` fits only what is asked for, with progress."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands import own_sweeps
from data import trained
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.planning.recommender.own_runs import K_STAR, N_STAR, mixed_csv

ASKED = ("recipe", "--budget", 1e18, "--metric", "recall@10", "--bootstrap", 20)
GAMES_SHARE = trained.FOLDER / "games" / "behavior_share.csv"


def test_one_table_determines_n_d_and_k(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(mixed_csv())
    answer = run(*ASKED, "--runs", tmp_path / "mine.csv", "--json")
    assert "isoplan: 32 runs: 20 vary N and D, 12 vary K." in answer.err
    assert "isoplan: recall_at_10 is read as recall@10." in answer.err
    choices = object_in(answer.out)["recipes"]["recall@10"]["choices"]
    assert choices["N"]["value"] == pytest.approx(N_STAR, rel=0.05)
    assert choices["K"]["value"] == pytest.approx(K_STAR, rel=0.1)
    assert (choices["N"]["borrowed"], choices["K"]["remarks"][0]) == (None, "Budget 10¹⁸ left out: K has one value.")
    renamed = mixed_csv().replace("neg_samples", "alpha").replace("recall_at_10", "beta")
    (tmp_path / "names.csv").write_text(renamed)
    named = run(*ASKED, "--runs", tmp_path / "names.csv", "--map-runs", "K=alpha,recall@10=beta", "--json")
    assert object_in(named.out)["recipes"]["recall@10"]["choices"]["K"]["value"] == choices["K"]["value"]


def test_only_the_metric_that_is_asked_for_is_fitted_to_a_sweep(run: Run) -> None:
    raw = object_in(run(*ASKED, "--share", GAMES_SHARE, "--no-published", "--json").out)
    assert list(raw["recipes"]) == ["recall@10"]
    assert {one["metric"] for one in raw["evidence"]["share"]} == {"recall@10"}
    assert raw["recipes"]["recall@10"]["choices"]["s"]["value"] == pytest.approx(0.14, abs=0.005)


def test_progress_is_told_on_standard_error_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_sweeps, "FIRST", 0.0)
    answer = run(*ASKED, "--share", GAMES_SHARE, "--json")
    assert "isoplan: Fitting s of behavior_share.csv: 0 %." in answer.err
    assert object_in(answer.out)["schema"] == 1


def test_bad_tables_are_refused_in_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("alpha,beta\n1,2\n3,4\n")
    one_sentence(run(*ASKED, "--runs", tmp_path / "plain.csv"), "no runs of plain.csv vary N, s, B or K")
    one_sentence(run(*ASKED, "--share", tmp_path / "plain.csv"), "--share: no column of plain.csv has a name of s")
    one_sentence(run(*ASKED, "--map-runs", "K=x"), "--map-runs says nothing without --runs")
    one_sentence(run(*ASKED, "--curves", "x.csv"), "--curves says nothing without --runs")
    one_sentence(
        run(*ASKED, "--runs", GAMES_SHARE, "--map-runs", "K=nothing"), "K: the table has no numeric column 'nothing'"
    )
    both = run(*ASKED, "--runs", GAMES_SHARE, "--share", GAMES_SHARE)
    assert both.code == 2
    assert "--runs and --share both determine the same setting" in both.err
