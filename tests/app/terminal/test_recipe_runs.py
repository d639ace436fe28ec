"""Tests of ``isoplan recipe`` with a table of several sweeps (``--runs``) or of one sweep (``--share``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoplan.app.commands import recipe
from isoplan.data import trained
from tests.app.terminal.asking import Run, object_in, one_sentence
from tests.engine.planning.recommender.own_runs import K_STAR, N_STAR, data_sets_csv, mixed_csv, units_csv

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
    assert (choices["N"]["borrowed"], choices["K"]["remarks"][0]) == (
        None,
        "Budget 10¹⁸ left out: K has only one value.",
    )
    renamed = mixed_csv().replace("neg_samples", "alpha").replace("recall_at_10", "beta")
    (tmp_path / "names.csv").write_text(renamed)
    named = run(*ASKED, "--runs", tmp_path / "names.csv", "--map-runs", "K=alpha,recall@10=beta", "--json")
    assert object_in(named.out)["recipes"]["recall@10"]["choices"]["K"]["value"] == choices["K"]["value"]


def test_only_the_metric_that_is_asked_for_is_fitted_to_a_sweep(run: Run) -> None:
    asked = (*ASKED[:2], 1e12, *ASKED[3:])
    raw = object_in(run(*asked, "--share", GAMES_SHARE, "--no-published", "--json").out)
    assert list(raw["recipes"]) == ["recall@10"]
    assert {one["metric"] for one in raw["evidence"]["share"]} == {"recall@10"}
    assert raw["recipes"]["recall@10"]["choices"]["s"]["value"] == pytest.approx(0.14, abs=0.005)


def test_progress_is_told_on_standard_error_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "FIRST", 0.0)
    answer = run(*ASKED, "--share", GAMES_SHARE, "--json")
    assert "isoplan: Fitting s of behavior_share.csv: 0 %." in answer.err
    assert object_in(answer.out)["schema"] == 1


def test_bad_tables_are_refused_in_one_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("alpha,beta\n1,2\n3,4\n")
    one_sentence(run(*ASKED, "--runs", tmp_path / "plain.csv"), "plain.csv contains no sweep of N, s, B or K")
    one_sentence(run(*ASKED, "--share", tmp_path / "plain.csv"), "--share: no column of plain.csv is named like s")
    one_sentence(run(*ASKED, "--map-runs", "K=x"), "--map-runs requires --runs")
    one_sentence(run(*ASKED, "--curves", "x.csv"), "--curves requires --runs")
    one_sentence(
        run(*ASKED, "--runs", GAMES_SHARE, "--map-runs", "K=nothing"), "K: the table has no numeric column 'nothing'"
    )
    both = run(*ASKED, "--runs", GAMES_SHARE, "--share", GAMES_SHARE)
    assert both.code == 2
    assert "Option --runs: two tables or fits determine the share." in both.err


def test_sizes_in_units_wait_for_an_agreement_and_are_never_sorted_raw(run: Run, tmp_path: Path) -> None:
    (tmp_path / "units.csv").write_text(units_csv())
    (tmp_path / "mine.csv").write_text(mixed_csv())
    refused = run(*ASKED, "--runs", tmp_path / "units.csv")
    one_sentence(refused, "N: column 'Params (M)' looks like N in millions; tick its conversion")
    assert "--convert 'Params (M)' in the terminal" in refused.err
    assert "D: column 'Tokens (B)' looks like D in billions" in refused.err
    units = ("--convert", "Params (M)", "--convert", "Tokens (B)")
    agreed = run(*ASKED, "--runs", tmp_path / "units.csv", *units, "--json")
    assert "32 runs: 20 vary N and D, 12 vary K." in agreed.err
    plain = run(*ASKED, "--runs", tmp_path / "mine.csv", "--json")
    found, expected = (object_in(one.out)["recipes"]["recall@10"]["choices"] for one in (agreed, plain))
    for setting in ("N", "D", "K"):
        assert found[setting]["value"] == pytest.approx(expected[setting]["value"], rel=1e-6)
    part = run(*ASKED, "--runs", tmp_path / "units.csv", *units[:2], "--json")
    assert "D is not read: column 'Tokens (B)' looks like D in billions" in part.err
    assert "20 vary N and D, 12 vary K." in part.err


def test_a_role_is_computed_and_rows_are_chosen_as_for_a_fit(run: Run, tmp_path: Path) -> None:
    head, *rows = mixed_csv().splitlines()
    lines = []
    for row in rows:
        cells = row.split(",")
        lines.append(",".join([*cells[:3], repr(float(cells[3]) / 1024), *cells[4:], "1024"]))
    (tmp_path / "steps.csv").write_text("\n".join([f"{head},seq_len".replace("tokens", "steps_done"), *lines]))
    how = ("--derive", "D = steps_done * seq_len", "--where", "budget < 2e18")
    answer = run(*ASKED, "--runs", tmp_path / "steps.csv", *how, "--json")
    assert "24 runs: 15 vary N and D, 11 vary K." not in answer.err
    assert "isoplan: 26 runs: 15 vary N and D, 11 vary K." in answer.err
    choices = object_in(answer.out)["recipes"]["recall@10"]["choices"]
    assert choices["D"]["value"] == pytest.approx(1e18 / 6 / N_STAR, rel=0.05)
    one_sentence(run(*ASKED, "--where", "budget < 2e18"), "--where requires --runs")
    one_sentence(run(*ASKED, "--convert", "x"), "--convert requires --runs")


def test_a_measured_rule_reads_the_runs_as_their_sweeps_are_read(run: Run, tmp_path: Path) -> None:
    """In the selected rows, C = 7 N D. The table gives N in millions and D in billions. Other rows have a larger C."""
    rows = ["Params (M),Tokens (B),flops,recall_at_10,kind"]
    for i, (N, D) in enumerate([(1, 2), (2, 5), (4, 7), (8, 30), (16, 20), (32, 90)]):
        rows += [f"{N},{D},{7e15 * N * D:g},0.{i + 1},good", f"{N},{D},{9e19 * N * D * (i + 1):g},0.{i + 1},bad"]
    (tmp_path / "cost.csv").write_text("\n".join(rows))
    options = ("--convert", "Params (M)", "--convert", "Tokens (B)", "--where", "kind = 'good'", "--rule", "measured")
    answer = run(*ASKED, "--runs", tmp_path / "cost.csv", *options)
    assert answer.code == 0, answer.err
    assert "--rule measured is C = 7 N D" in answer.err


@pytest.mark.parametrize("spelled", ["recall_at_10", "Recall@10", "recall10"])
def test_every_spelling_of_a_metric_is_one_metric(run: Run, tmp_path: Path, spelled: str) -> None:
    (tmp_path / "mine.csv").write_text(mixed_csv())
    asked = ("recipe", "--budget", 1e18, "--bootstrap", 20, "--runs", tmp_path / "mine.csv", "--metric")
    answer = run(*asked, spelled).out
    assert answer == run(*asked, "recall@10").out
    assert "for recall@10: train 10.0" in answer
    assert "Not known" not in answer


@pytest.mark.parametrize("column", ["corpus", "dataset"])
def test_data_sets_are_never_pooled_and_the_one_that_is_read_is_named(run: Run, tmp_path: Path, column: str) -> None:
    (tmp_path / "sets.csv").write_text(data_sets_csv(column))
    (tmp_path / "mine.csv").write_text(mixed_csv())
    answer = run(*ASKED, "--runs", tmp_path / "sets.csv", "--json")
    assert "63 runs: 20 vary N and D, 12 vary K, 31 are of another dataset." in answer.err
    assert (
        f"Column '{column}' has 2 values: books 31, games 32 runs. Only games is used. Choose another dataset with "
        f"--where \"{column} = 'books'\", or --pool {column} to use all datasets together." in answer.err
    )
    found = object_in(answer.out)["recipes"]["recall@10"]["choices"]
    alone = object_in(run(*ASKED, "--runs", tmp_path / "mine.csv", "--json").out)["recipes"]["recall@10"]["choices"]
    for setting in ("N", "D", "K"):
        assert found[setting]["value"] == alone[setting]["value"]
        assert found[setting]["ci68"] == alone[setting]["ci68"]
    assert found["K"]["remarks"][0] == f"Only runs with {column} = games are used"
    books = run(*ASKED, "--runs", tmp_path / "sets.csv", "--where", f"{column} = 'books'", "--json")
    assert "another dataset" not in books.err
    K = object_in(books.out)["recipes"]["recall@10"]["choices"]["K"]["value"]
    assert K == pytest.approx(100 * K_STAR, rel=0.1)
    assert "63 runs: 40 vary N and D, 23 vary K." in run(*ASKED, "--runs", tmp_path / "sets.csv", "--pool", column).err


def test_long_reasons_stand_below_the_table(run: Run, tmp_path: Path) -> None:
    rows = mixed_csv().splitlines()
    kept = [row for row in rows if not any(f",{K}," in row for K in ("1e+06", "1e+07", "100000"))]
    (tmp_path / "mine.csv").write_text("\n".join(kept))
    answer = run(*ASKED, "--runs", tmp_path / "mine.csv").out
    table, below = answer.split("\n\n")[1:3]
    assert max(map(len, table.splitlines())) < 200
    (said,) = [line for line in below.splitlines() if line.startswith("Extra negatives K: ")]
    assert "Your runs do not determine K. log-parabola has 3 free" in said


def test_n_and_d_that_the_runs_do_not_support_are_in_no_table(run: Run) -> None:
    asked = ("recipe", "--budget", 1e12, "--metric", "recall@10", "--share", GAMES_SHARE, "--bootstrap", 20)
    answer = run(*asked)
    assert "Not known for recall@10: K. This budget lies too far beyond the runs. Supported budgets: " in answer.out
    assert " FLOPs for N and D." in answer.out
    rows = [line for line in answer.out.splitlines() if line.startswith(("Model size N", "Training events D"))]
    assert [line.split()[3:5] for line in rows[-2:]] == [["not", "stated"]] * 2
    assert [line.split()[3] for line in rows[:2]] == ["-", "-"]
    assert all("not stated: too far beyond the runs" in line for line in rows[:2])
    raw = object_in(run(*asked, "--json").out)["recipes"]
    for one in raw.values():
        for setting in ("N", "D"):
            assert [one["choices"][setting][key] for key in ("value", "ci68", "ci95")] == [None, None, None]
